"""Every source selects, counts bad and doubtful frames, and says why it gives nothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import EmptySelectionError, InputError
from bgsub.video.base import BadFrame, BadPicture, FrameSource, Item, Options
from bgsub.video.geometry import Picture
from bgsub.video.selection import Selection
from bgsub.video.source import open_source

GOOD, BAD, KNOWN_BAD, DOUBTFUL = "good", "bad", "known bad", "doubtful"


class Made(FrameSource):
    """Frames of one grey level each, of the kinds that are listed."""

    def __init__(self, kinds, **options):
        super().__init__("made", "made", Options(**options))
        self.kinds = kinds
        self.input_frames, self.rate = len(kinds), Fraction(10)
        self._plan((4, 3), "gray")
        self.loaded = []

    def _items(self, notes):
        notes.append("a note")
        for number, kind in enumerate(self.kinds, start=1):
            time_s = (number - 1) / 10
            if kind == KNOWN_BAD:
                yield Item(number, time_s, None, "lost")
            else:
                yield Item(number, time_s, lambda n=number, k=kind: self._load_one(n, k),
                           doubtful=kind == DOUBTFUL)  # fmt: skip

    def _load_one(self, number, kind):
        self.loaded.append(number)
        if kind == BAD:
            raise BadPicture("torn")
        return Picture((np.full((3, 4), number, np.uint8),))


def numbers(source):
    return [frame.number for frame in source]


def levels(source):
    return [int(frame.data[0]) for frame in source]


KINDS = [GOOD, BAD, DOUBTFUL, KNOWN_BAD, GOOD]


class TestBadFrames:
    def test_they_are_left_out_and_listed(self):
        source = Made(KINDS)
        assert numbers(source) == [1, 3, 5]
        assert source.bad_frames == [BadFrame(2, 0.1, "torn"), BadFrame(4, 0.3, "lost")]
        assert source.doubtful_frames == [3]
        assert source.decoded == 3
        assert source.warnings == ["a note"]

    def test_the_frame_before_is_repeated_and_then_doubtful(self):
        source = Made(KINDS, on_bad_frame="repeat")
        assert levels(source) == [1, 1, 3, 3, 5]
        assert source.doubtful_frames == [2, 3, 4]

    def test_before_the_first_good_one_there_is_nothing_to_repeat(self):
        assert numbers(Made([BAD, GOOD, BAD], on_bad_frame="repeat")) == [2, 3]

    def test_the_first_one_ends_the_reading_on_request(self):
        message = r"made: frame 2 at 00:00:00\.100 cannot be decoded \(torn\)"
        with pytest.raises(InputError, match=message):
            numbers(Made(KINDS, on_bad_frame="fail"))

    @given(st.lists(st.sampled_from([GOOD, BAD, KNOWN_BAD, DOUBTFUL]), min_size=1, max_size=30))
    def test_no_frame_is_lost_without_a_word(self, kinds):
        source = Made([GOOD, *kinds])
        seen = numbers(source)
        bad = [each.number for each in source.bad_frames]
        assert sorted(seen + bad) == list(range(1, len(kinds) + 2))
        assert source.decoded == len(seen)
        assert set(source.doubtful_frames) <= set(seen)


class TestSelection:
    def test_pixels_that_nobody_wants_are_not_loaded(self):
        source = Made([GOOD] * 9, selection=Selection.parse(3, 8, 2))
        assert numbers(source) == [3, 5, 7]
        assert source.loaded == [3, 5, 7]
        assert source.frames_estimate == 3

    def test_a_bad_frame_that_nobody_wants_is_no_fault(self):
        source = Made(KINDS, selection=Selection.parse(1, 5, 2))
        assert numbers(source) == [1, 3, 5]
        assert source.bad_frames == []

    def test_a_selection_behind_the_end_says_what_there_is(self):
        source = Made([GOOD] * 3, selection=Selection.parse(7, None, None))
        with pytest.raises(EmptySelectionError, match=r"it has 3 frames, the last at 00:00:00\.2"):
            numbers(source)

    def test_nothing_but_bad_frames_is_refused_with_a_reason(self):
        with pytest.raises(InputError, match=r"no frame can be decoded \(torn\)"):
            numbers(Made([BAD, BAD]))


FRAMES = np.random.default_rng(3).integers(0, 255, (30, 8, 10), dtype=np.uint8)


@given(
    start=st.none() | st.integers(1, 15) | st.just("0.2s"),
    end=st.none() | st.integers(15, 40),
    every=st.none() | st.integers(1, 7) | st.just("0.1s"),
)
def test_places_are_those_of_an_iteration(start, end, every):
    source = open_source(FRAMES, start=start, end=end, every=every)
    read = list(source)
    assert len(source) == len(read)
    for place in (0, len(read) // 2, -1):
        assert source[place].number == read[place].number
        assert source[place].time_s == read[place].time_s
        np.testing.assert_array_equal(source[place].data, read[place].data)
    with pytest.raises(IndexError):
        source[len(read)]


def test_images(images, scene, tmp_path):
    source = open_source(images(scene(n=4)), scale=0.5)
    assert len(source) == 4
    np.testing.assert_array_equal(source[2].data, list(source)[2].data)
    broken = sorted((tmp_path / "shots").iterdir())[1]
    broken.write_bytes(b"no picture")
    assert len(source) == 4
    with pytest.raises(InputError, match=r"frame 2 cannot be decoded"):
        source[1]
