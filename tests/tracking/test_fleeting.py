"""What lasts or moves on stays in the masks; what comes and goes where it is does not."""

from dataclasses import replace

import numpy as np
import pytest

from bgsub.local.blobs import find_blobs
from bgsub.local.drawing import Seen
from bgsub.local.params import DEFAULTS
from bgsub.local.scoring import UNIT
from bgsub.local.specks import Speck
from bgsub.tracking.fleeting import BlobSieve

SIZE = (60, 80)
FRAMES = 40
STRONG, WEAK = 1.45, 1.1
AHEAD = DEFAULTS.lasting_frames


def film(*things, frames=FRAMES, contrast=100.0):
    """Frames with rectangles: first and last frame, x, y and side in the first, step, strength."""
    masks = np.zeros((frames, *SIZE), np.uint8)
    means = np.zeros_like(masks)
    for first, last, x, y, side, step, strength in things:
        for i in range(first, last + 1):
            left = x + step * (i - first)
            part = i, slice(y, y + side), slice(left, left + side)
            masks[part], means[part] = 255, round(strength * UNIT)
    return [
        Seen(mask, None, (), None, find_blobs(mask, mean), contrast)
        for mask, mean in zip(masks, means, strict=True)
    ]


def sifted(frames, *, params=DEFAULTS, inside=None, rate=25.0, jump=None, least_area=0):
    sieve = BlobSieve(params, inside, least_area)
    found = []
    for i, seen in enumerate(frames):
        late = 10.0 if jump is not None and i >= jump else 0.0
        sieve.add(seen, i / rate + late)
        if sieve.waiting > sieve.ahead:
            found.append(sieve.take().mask)
    sieve.end()
    while sieve.waiting:
        found.append(sieve.take().mask)
    return np.array(found)


def marked(*things, frames=FRAMES, contrast=100.0, **settings):
    """Frames in which anything is left."""
    masks = sifted(film(*things, frames=frames, contrast=contrast), **settings)
    return np.flatnonzero(masks.any(axis=(1, 2))).tolist()


@pytest.mark.parametrize("lasts", [1, 2, 5, AHEAD])
def test_what_comes_and_goes_where_it_is_is_left_out(lasts):
    assert marked((12, 11 + lasts, 30, 20, 9, 0, STRONG)) == []


def test_what_lasts_stays_from_its_first_frame_to_its_last():
    assert marked((12, 30, 30, 20, 9, 0, STRONG)) == list(range(12, 31))


def test_what_moves_on_stays_however_short_it_is_seen():
    assert marked((12, 16, 30, 20, 9, 4, STRONG)) == list(range(12, 17))


def test_what_moves_by_more_than_it_covers_is_followed():
    assert marked((12, 15, 20, 20, 9, 10, STRONG)) == list(range(12, 16))


@pytest.mark.parametrize("x", [0, 2, SIZE[1] - 9])
def test_what_meets_the_border_stays(x):
    assert marked((12, 14, x, 20, 9, 0, STRONG)) == [12, 13, 14]


def test_what_meets_pixels_that_do_not_count_stays():
    inside = np.ones(SIZE, np.bool_)
    inside[:, :28] = False
    assert marked((12, 14, 30, 20, 9, 0, STRONG), inside=inside) == [12, 13, 14]
    assert marked((12, 14, 40, 20, 9, 0, STRONG), inside=inside) == []


@pytest.mark.parametrize(("first", "last"), [(0, 3), (FRAMES - 4, FRAMES - 1)])
def test_what_the_film_begins_or_ends_with_stays(first, last):
    assert marked((first, last, 30, 20, 9, 0, STRONG)) == list(range(first, last + 1))


def test_a_gap_in_time_tells_nothing():
    assert marked((12, 14, 30, 20, 9, 0, STRONG), jump=15) == [12, 13, 14]
    assert marked((12, 14, 30, 20, 9, 0, STRONG), jump=12) == [12, 13, 14]
    assert marked((12, 14, 30, 20, 9, 0, STRONG), jump=20) == []


@pytest.mark.parametrize("lasts", [1, 3])
def test_what_is_large_and_clear_stays_though_it_cannot_be_followed(lasts):
    """A film of a frame a minute may say that it has 25 a second: animals jump in it."""
    shown = list(range(12, 12 + lasts))
    assert marked((12, 11 + lasts, 30, 20, 16, 0, STRONG), least_area=25) == shown
    assert marked((12, 11 + lasts, 30, 20, 16, 0, 1.35), least_area=25) == []
    assert marked((12, 11 + lasts, 30, 20, 13, 0, STRONG), least_area=25) == []


def test_frames_that_are_far_apart_keep_all_blobs():
    assert marked((12, 12, 30, 20, 9, 0, WEAK), (20, 20, 50, 40, 9, 0, STRONG), rate=5) == [12, 20]


def test_what_never_stands_out_is_left_out_however_long_it_lasts():
    assert marked((8, 33, 30, 20, 9, 0, WEAK)) == []
    assert marked((8, 20, 2, 20, 9, 4, WEAK)) == []


def test_what_stands_out_once_stays_near_that():
    weak, strong = (8, 30, 30, 20, 9, 0, WEAK), (19, 19, 30, 20, 9, 0, STRONG)
    assert marked(weak, strong) == list(range(19 - AHEAD, 20 + AHEAD))


def test_weak_blobs_of_the_shortest_films_stay():
    assert marked((0, 3, 30, 20, 9, 0, WEAK), frames=4) == [0, 1, 2, 3]


def test_where_objects_are_faint_short_tracks_stay():
    thing = (12, 14, 30, 20, 9, 0, STRONG)
    assert marked(thing, contrast=DEFAULTS.lasting_contrast) == [12, 13, 14]
    assert marked(thing, contrast=DEFAULTS.lasting_contrast + 1) == []


def test_what_is_now_and_then_a_speck_is_followed_and_specks_stay_as_they_are():
    frames = film((12, 29, 30, 20, 9, 0, STRONG))
    bare = film()
    for i in range(12, 30):
        if i % 3:
            (blob,) = frames[i].blobs
            speck = Speck(blob.x + 1, blob.y, blob.inside[:6, :6], 4.0)
            frames[i] = bare[i]._replace(specks=(speck,))
    kept = sifted(frames)
    np.testing.assert_array_equal(kept, np.array([seen.mask for seen in frames]))
    alone = [seen._replace(specks=()) for seen in frames]
    assert not sifted(alone).any()


def test_other_blobs_of_the_frame_stay_to_the_pixel():
    lasting = (0, FRAMES - 1, 5, 40, 12, 0, STRONG)
    both = sifted(film(lasting, (12, 14, 30, 20, 9, 0, STRONG)))
    np.testing.assert_array_equal(both, np.array([seen.mask for seen in film(lasting)]))


def test_nothing_that_was_given_is_changed():
    frames = film((12, 14, 30, 20, 9, 0, STRONG))
    sifted(frames)
    assert frames[13].mask.any()


def test_two_that_meet_and_part_last():
    one, two = (10, 20, 20, 20, 9, 1, STRONG), (10, 20, 48, 20, 9, -1, STRONG)
    together = (21, 24, 30, 20, 18, 0, STRONG)
    assert marked(one, two, together) == list(range(10, 25))


def test_without_frames_ahead_nothing_is_asked():
    params = replace(DEFAULTS, lasting_frames=0, lasting_strength=0.0)
    assert marked((12, 12, 30, 20, 9, 0, STRONG), params=params) == [12]


def test_a_sieve_keeps_no_more_than_it_needs():
    sieve = BlobSieve(DEFAULTS)
    for i, seen in enumerate(film((0, 199, 30, 20, 9, 0, STRONG), frames=200)):
        sieve.add(seen, i / 25)
        if sieve.waiting > sieve.ahead:
            sieve.take()
        assert len(sieve._looks) <= 2 * sieve.ahead + 1
    track, count = sieve._looks[-1].nodes[0], 0
    while track.before is not None:
        track, count = track.before, count + 1
    assert count <= 2 * sieve.ahead


def test_frames_must_be_added_before_they_are_taken():
    with pytest.raises((RuntimeError, IndexError)):
        BlobSieve(DEFAULTS).take()


@pytest.mark.parametrize(("side", "is_speck"), [(4, True), (5, False)])
def test_a_small_one_that_goes_may_still_be_an_object_by_its_motion(side, is_speck):
    """Leave a faint insect that walks steadily to the specks, which motion tells apart."""
    weak = 1.05
    sieve = BlobSieve(DEFAULTS, least_area=12)
    taken = []
    for i, seen in enumerate(film((0, FRAMES - 1, 10, 20, side, 1, weak))):
        sieve.add(seen, i / 25)
        if sieve.waiting > sieve.ahead:
            taken.append(sieve.take())
    assert not any(seen.mask.any() for seen in taken[1:])
    assert [len(seen.specks) for seen in taken[1:]] == [int(is_speck)] * (len(taken) - 1)
    if is_speck:
        speck = taken[5].specks[0]
        assert (speck.x, speck.y, speck.inside.sum()) == (15, 20, side**2)
        assert speck.strength == pytest.approx(weak, abs=0.05)


LEAST = 36


def fading(step, *, side=5, frames=FRAMES, contrast=DEFAULTS.lasting_contrast):
    """Film of what has the least area in every third frame, and is a speck of 5×5 in others."""
    found = film(
        *((i, i, 5 + round(step * i), 20, 6, 0, STRONG) for i in range(0, frames, 3)),
        frames=frames,
        contrast=contrast,
    )
    for i in set(range(frames)) - set(range(0, frames, 3)):
        speck = Speck(5 + round(step * i), 20, np.ones((side, side), np.uint8), 2.0)
        found[i] = found[i]._replace(specks=(speck,))
    return found


def test_what_is_faint_and_moves_on_is_an_object_though_it_is_small_in_most_frames():
    masks = sifted(fading(1), least_area=LEAST)
    assert masks.any(axis=(1, 2)).all()
    assert (masks[1] > 0).sum() == 25
    assert masks[1, 20:25, 6:11].all()


@pytest.mark.parametrize(
    ("frames", "least"),
    [
        (fading(1, contrast=DEFAULTS.lasting_contrast + 1), LEAST),
        (fading(1), 0),
        (fading(1, side=3), LEAST),
        (fading(0.05), LEAST),
    ],
    ids=["objects are clear", "least area not known", "too small", "stays where it is"],
)
def test_what_is_small_in_most_frames_stays_a_speck(frames, least):
    masks = sifted(frames, least_area=least)
    np.testing.assert_array_equal(masks, np.array([seen.mask for seen in frames]))


def test_what_is_faint_covers_the_least_area_on_average_of_all_frames_that_are_looked_at():
    """A track of few frames covers nothing in the others, unless the film has none."""
    short = fading(1)
    for i in [*range(12), *range(20, FRAMES)]:
        short[i] = film(contrast=DEFAULTS.lasting_contrast)[i]
    masks = sifted(short, least_area=LEAST)
    assert np.flatnonzero(masks.any(axis=(1, 2))).tolist() == [12, 15, 18]
    assert sifted(short[12:20], least_area=LEAST).any(axis=(1, 2)).all()


def test_a_speck_that_is_in_the_mask_is_none_any_more():
    sieve = BlobSieve(DEFAULTS, least_area=LEAST)
    for i, seen in enumerate(fading(1)):
        sieve.add(seen, i / 25)
    sieve.end()
    assert not any(sieve.take().specks for _ in range(FRAMES))
