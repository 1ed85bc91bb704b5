"""Options of watch: times and amounts as they are written, and what does not go together."""

import dataclasses
import json

import pytest

from bgsub.errors import UsageError
from bgsub.live.options import StreamOptions, WatchOptions
from bgsub.options import declared_options


def test_times_are_seconds_however_they_are_given():
    options = WatchOptions(window_s="10m", warm_up_s="1.5", stall_s=3, every_s="0.5s")
    assert (options.window_s, options.warm_up_s, options.stall_s) == (600.0, 1.5, 3.0)
    assert options.every_s == 0.5


def test_units_are_no_part_of_a_flag():
    flags = {one.name: one.flag for one in declared_options(WatchOptions)}
    assert (flags["warm_up_s"], flags["writes_masks"]) == ("--warm-up", "--masks")
    assert not any(name.endswith("-s") for name in flags.values())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"warm_up_s": "11m"}, "--warm-up is longer than --window"),
        ({"writes_masks": True, "clips": False}, "--masks belong to clips"),
        ({"refresh_s": 0}, "--refresh 0: must be a time above 0"),
        ({"scale": 1.5}, "--scale 1.5: must be a factor above 0, up to 1"),
        ({"metrics": 70000}, "--metrics 70000: must be a whole number of 0 to 65535"),
        ({"keep": "all"}, "--keep all: must be an amount such as 10G"),
    ],
)
def test_what_cannot_be_is_named(given, message):
    with pytest.raises(UsageError) as caught:
        WatchOptions(**given)
    assert message in str(caught.value)


def test_all_options_go_to_json_and_back():
    options = WatchOptions(window_s="2m", keep="7d", drop=False, scale=0.5, on_event="say {event}")
    again = WatchOptions.from_json(json.loads(json.dumps(options.to_json())))
    assert again == options
    assert set(options.to_json()) == {one.name for one in dataclasses.fields(WatchOptions)}


def test_a_rate_of_raw_pictures_is_exact():
    assert StreamOptions(rate="29.97").rate == "2997/100"
    with pytest.raises(UsageError, match="--rate often"):
        StreamOptions(rate="often")
