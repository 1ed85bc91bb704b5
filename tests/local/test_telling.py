"""What the surroundings of a change tell: outline and edges."""

import cv2
import numpy as np
import pytest

from bgsub.local.layers import LAYERS, Layers
from bgsub.local.params import DEFAULTS
from bgsub.local.telling import (
    UNKNOWN,
    Place,
    Time,
    _edge_motion,
    _frames,
    _outline_balance,
    _sides,
    frames_showing,
    make_teller,
    place_of,
)

SQUARE = np.zeros((40, 50), bool)

SQUARE[12:28, 15:35] = True


def plain(level):
    return np.full((*SQUARE.shape, 3), level, np.uint8)


class TestOutlineBalance:
    """A step across the outline counts where it is larger by more than twice the noise."""

    @pytest.mark.parametrize(("step", "balance"), [(0, 0), (5, 0), (6, 0), (7, 1), (60, 1)])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_it_takes_more_than_noise(self, step, balance, sign):
        there, empty = plain(100), plain(100)
        there[SQUARE] += np.uint8(step)
        before, after = (there, empty)[::sign]
        assert _outline_balance(before, after, SQUARE, 3.0) == sign * balance

    def test_any_channel_will_do_and_a_step_down_is_a_step(self):
        for channel in range(3):
            there = plain(100)
            there[SQUARE, channel] -= 20
            assert _outline_balance(there, plain(100), SQUARE, 3.0) == 1

    def test_where_half_of_the_outline_has_edges_the_balance_is_a_half(self):
        there = plain(100)
        there[SQUARE] += 60
        there[:, 25:] = 100
        assert _outline_balance(there, plain(100), SQUARE, 3.0) == pytest.approx(0.5, abs=0.1)

    def test_an_outline_at_the_rim_of_the_picture_says_nothing(self):
        everywhere = np.ones_like(SQUARE)
        assert _outline_balance(plain(200), plain(100), everywhere, 3.0) == 0


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (3, 60), (7, 8), (7, 7), (10, 400)])
def test_frames_of_a_stretch_are_spread_over_all_of_it(start, stop):
    frames = _frames(start, stop)
    assert frames[0] == start
    assert frames[-1] == max(start, stop - 1)
    assert frames.size == min(12, max(1, stop - start))
    steps = np.diff(frames)
    assert (steps > 0).all()
    assert np.ptp(steps) <= 1 if steps.size else True


class TestShowing:
    """Frames in which most of a region shows the layers that are asked for."""

    def labels(self, shown):
        labels = np.zeros((len(shown), *SQUARE.shape), np.uint8)
        y, x = np.nonzero(SQUARE)
        for i, share in enumerate(shown):
            part = slice(round(share * len(y)))
            labels[i, y[part], x[part]] = 2
        return labels

    def asked(self, shown):
        return frames_showing(self.labels(shown)[:, SQUARE], np.full(SQUARE.sum(), 2, np.int8))

    def test_more_than_half_of_it_counts(self):
        assert self.asked([0, 0.5, 0.51, 1, 0, 0.2]).tolist() == [2, 3]

    @pytest.mark.parametrize(("seen", "found"), [(3, 0), (4, 4), (5, 5)])
    def test_a_tenth_of_the_film_is_the_least(self, seen, found):
        assert self.asked([1] * seen + [0] * (40 - seen)).size == found

    def test_of_many_some_are_taken_evenly_from_first_to_last(self):
        found = self.asked([0] * 10 + [1] * 300 + [0] * 10)
        assert found.size == 32
        assert (found[0], found[-1]) == (10, 309)
        assert np.ptp(np.diff(found)) <= 1


class TestEdgeMotion:
    """The displacement of edges in pixels, whatever the light."""

    def film(self, shifts, light=0.0):
        rng = np.random.default_rng(0)
        texture = cv2.GaussianBlur(rng.normal(0, 1, SQUARE.shape), (0, 0), 2)
        texture = (110 + 40 * texture / texture.std()).astype(np.float32)
        frames = []
        for i, shift in enumerate(shifts):
            move = np.array([[1, 0, shift], [0, 1, 0]], np.float32)
            size = SQUARE.shape[::-1]
            frame = cv2.warpAffine(texture, move, size, borderMode=cv2.BORDER_REFLECT)
            frames.append(np.clip(frame + light * (i % 2), 0, 255)[..., None].repeat(3, 2))
        return np.rint(frames).astype(np.uint8)

    def motion(self, frames):
        return _edge_motion(frames, np.arange(len(frames)), SQUARE)

    def test_it_grows_with_the_displacement(self):
        unit = np.array([-1, 0, 1] * 4)
        small, large = (self.motion(self.film(size * unit)) for size in (0.3, 0.6))
        # Two of three frames are away from the middle by so much, along the edges' normals or not.
        assert 0.08 < small < 0.3
        assert large == pytest.approx(2 * small, rel=0.25)

    def test_what_rests_has_none_in_any_light(self):
        assert self.motion(self.film([0] * 9)) == 0
        assert self.motion(self.film([0] * 9, light=25.0)) < 0.02

    def test_two_frames_or_no_edges_tell_nothing(self):
        assert self.motion(self.film([0, 1])) == UNKNOWN
        assert self.motion(np.stack([plain(90)] * 5)) == UNKNOWN

    def test_only_edges_in_and_beside_the_region_count(self):
        frames = self.film([0] * 9)
        for i in range(9):
            frames[i, :6] = np.random.default_rng(i).integers(0, 256, frames[i, :6].shape)
        assert self.motion(frames) == 0


@pytest.mark.parametrize(
    ("across", "line"), [(0, 9), (0, 13), (0, 25), (0, 29), (1, 12), (1, 16), (1, 32), (1, 36)]
)
def test_a_step_across_the_outline_is_that_of_places_two_pixels_to_either_side(across, line):
    """Of the square's rows 12 to 27 and columns 15 to 34; a side is a fifth or a quarter of it.

    Two pixels from between the outermost pixel and the next, to either pixel there.
    """

    def balance(*at):
        there = plain(100)
        np.moveaxis(there, across, 0)[list(at)] = 200
        return _outline_balance(there, plain(100), SQUARE, 3.0)

    assert 0.15 < balance(line, line + 1) < 0.35
    assert balance(line - 1) < 0.1
    assert balance(line + 2) < 0.1


@pytest.mark.parametrize("axis", [0, 1])
def test_places_beside_an_outline_move_with_it(axis):
    """None lies half a pixel away, which was rounded to even rows and columns."""
    for side, moved in zip(_sides(SQUARE), _sides(np.roll(SQUARE, 1, axis)), strict=True):
        for at, (here, there) in enumerate(zip(side, moved, strict=True)):
            np.testing.assert_array_equal(there, here + (at == axis))


@pytest.mark.parametrize("corner", [(31, 57), (32, 40), (3, 5), (70, 101)])
def test_a_part_tells_what_the_whole_picture_does(corner):
    """Pixels beside an outline are found by rounding, which begins at no place of the picture."""
    rng = np.random.default_rng(4)
    n, shape, (top, left) = 40, (90, 130), corner
    labels = (rng.random((n, *shape)) < 0.03).astype(np.uint8)
    labels[:, top : top + 15, left : left + 22] = (np.arange(n) >= 20)[:, None, None]
    counts = np.stack([(labels == k).sum(axis=0) for k in range(LAYERS)]).astype(np.uint8)
    colors = rng.integers(0, 255, (*counts.shape, 3)).astype(np.uint8)
    layers = Layers(colors, counts, counts, counts, labels)
    pictures = rng.integers(90, 99, (n, *shape, 3)).astype(np.uint8)
    pictures += 60 * labels[..., None]
    region, before = np.zeros(shape, np.bool_), np.zeros(shape, np.int8)
    region[top : top + 15, left : left + 22] = True
    after, time = before + np.int8(1), Time((12, 19), (22, 30), 19, 20)
    part = place_of(pictures, layers, region, region, (before, after), time)
    assert part.region.size < region.size == round(part.region.size / part.share)
    whole = Place(pictures, layers, region, region, (before, after), time, 1.0)
    tell = make_teller(3.0, DEFAULTS)
    assert tell(part) == tell(whole)
