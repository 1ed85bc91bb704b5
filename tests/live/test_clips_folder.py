"""The folder of clips: names, amounts, and which clips are removed."""

from __future__ import annotations

import os
import time

import pytest

from bgsub.errors import UsageError
from bgsub.live.clips import clip_name, remove_oldest
from bgsub.live.options import Keep, KeepRule, parse_keep


def test_amounts():
    assert parse_keep("2.5G") == Keep(size=2_500_000_000)
    assert parse_keep("12 h").age_s == 43200
    assert KeepRule().read("--keep", "7d") == "7d"
    for value in ("", "10", "G", "-1G", "0d", "1e3G", 10):
        with pytest.raises(UsageError, match="--keep"):
            KeepRule().read("--keep", value)


def test_the_oldest_clips_go_first_but_never_the_one_being_written(tmp_path):
    for i in range(5):
        path = tmp_path / clip_name(1000.0 * i, i, "mp4")
        path.write_bytes(b"x" * 100)
        os.utime(path, (time.time() - 1000 + i,) * 2)
    (tmp_path / "mine.mp4").write_bytes(b"x" * 1000)
    writing = tmp_path / clip_name(0.0, 0, "mp4")
    assert remove_oldest(tmp_path, Keep(size=250), writing) == 3
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [writing.name, clip_name(4000.0, 4, "mp4"), "mine.mp4"]
    assert remove_oldest(tmp_path, Keep(age_s=60), None) == 2
    assert remove_oldest(tmp_path, Keep(age_s=60), None) == 0
    assert (tmp_path / "mine.mp4").exists()
