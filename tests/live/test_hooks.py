"""Commands that events start."""

from __future__ import annotations

from bgsub.live.events import EventHook


def test_a_command_that_cannot_be_started_is_counted(tmp_path):
    hook = EventHook(str(tmp_path / "gone"))
    hook.start("{}\n", {"event": "start"})
    assert hook.left_out == 1
