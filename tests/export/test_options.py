"""Options of clips: moments, names of files, and what does not go together."""

from datetime import datetime

import pytest

from bgsub.errors import UsageError
from bgsub.export import ClipOptions


@pytest.mark.parametrize(
    "given", ["2026-05-01T22:00", "2026-05-01 22:00:00", datetime(2026, 5, 1, 22)]
)
def test_a_clock_is_kept_as_iso_8601(given):
    assert ClipOptions(caption=True, clock=given).to_json()["clock"] == "2026-05-01T22:00:00"


@pytest.mark.parametrize("given", ["2026-05-01", "22:00", "2026-05-01T22:00Z", "soon", 7])
def test_what_is_no_moment_is_refused(given):
    with pytest.raises(UsageError, match=r"--clock .*: must be a date and a time, such as 2026"):
        ClipOptions(caption=True, clock=given)


def test_what_has_no_effect_is_said():
    assert ClipOptions(mode="copy", overlay="mask", caption=True, clock=None).unused == [
        "--overlay has no effect with --mode copy",
        "--caption has no effect with --mode copy",
    ]
    assert ClipOptions(mode="copy", overlay="mask", sheet="a.png").unused == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reel": "a.avi"}, "--reel a.avi: the name must end with .mp4"),
        ({"sheet": "a.gif"}, "--sheet a.gif: the name must end with .jpeg or .jpg or .png"),
        ({"before": -1}, "--before -1: must be a time of 0 or more"),
        ({"max_events": 0}, "--max-events 0: must be a whole number of 1 or more"),
    ],
)
def test_what_cannot_be_is_named(given, message):
    with pytest.raises(UsageError) as caught:
        ClipOptions(**given)
    assert message in str(caught.value)
