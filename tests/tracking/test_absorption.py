"""What has come to rest leaves the mask, and comes back when it moves."""

import numpy as np
import pytest

from bgsub.tracking.absorption import AT_ONCE_S, Absorber, absorbed_after

SIZE = (40, 60)
GROUND, CAR, PERSON = 100, 180, 30
STEP = 0.5
"""Seconds between frames."""


def scene(*things):
    """Mask and picture with (left, level) each, 12 pixels wide and 10 high."""
    picture = np.full((*SIZE, 3), GROUND, np.uint8)
    for left, level in things:
        picture[15:25, left : left + 12] = level
    return np.where(picture[..., 0] != GROUND, 255, 0).astype(np.uint8), picture


def shares(frames, seconds=5.0, noise=0, start=0.0, **more):
    """Foreground pixels of every frame that the absorber leaves."""
    rng = np.random.default_rng(1)
    absorber = Absorber(*SIZE, seconds, **more)
    left = []
    for i, (mask, picture) in enumerate(frames):
        noisy = picture + rng.normal(0, noise, picture.shape)
        shown = np.clip(noisy, 0, 255).astype(np.uint8)
        left.append(np.count_nonzero(absorber.apply(mask, shown, start + i * STEP)))
    return left


CAR_STANDS = scene((20, CAR))


@pytest.mark.parametrize("noise", [0, 4])
@pytest.mark.parametrize("start", [0.0, 600_000.0])
def test_it_is_there_for_so_many_seconds_and_then_not(noise, start):
    left = shares([CAR_STANDS] * 30, noise=noise, start=start)
    assert left[:10] == [120] * 10
    assert not any(left[12:])


def test_what_moves_is_never_absorbed():
    moving = [scene((i % 40, CAR)) for i in range(0, 200, 4)]
    assert min(shares(moving)) == 120


def test_who_passes_a_parked_car_is_foreground_and_does_not_make_it_new():
    passing = [scene((20, CAR), (left, PERSON)) for left in range(0, 48, 6)]
    left = shares([CAR_STANDS] * 20 + passing + [CAR_STANDS] * 4)
    assert min(left[20:28]) >= 100
    assert not any(left[-4:])


def test_who_passes_before_it_is_absorbed_costs_little_time():
    passing = [scene((20, CAR), (left, PERSON)) for left in (0, 12, 24, 36)]
    left = shares([CAR_STANDS] * 5 + passing + [CAR_STANDS] * 10)
    assert not any(left[-3:])


def test_another_thing_at_its_place_is_new_after_as_long():
    left = shares([CAR_STANDS] * 20 + [scene((20, PERSON))] * 30)
    assert min(left[20:30]) == 120
    assert not any(left[-5:])


def test_who_leaves_and_comes_back_later_is_new():
    left = shares([CAR_STANDS] * 20 + [scene()] * 15 + [CAR_STANDS] * 4)
    assert left[-4:] == [120] * 4


def test_what_is_absorbed_follows_the_light():
    growing = [scene((20, CAR - i // 4)) for i in range(200)]
    assert not any(shares(growing)[12:])


def test_rims_that_flicker_are_no_objects():
    mask, picture = CAR_STANDS
    wide = mask.copy()
    wide[14:26, 19:33] = 255
    left = shares([(mask, picture)] * 20 + [(wide, picture)] * 2, min_area=20)
    assert not any(left[-2:])


def test_masks_alone_are_steady_while_they_are_foreground():
    mask, _ = CAR_STANDS
    assert not any(shares([(mask, mask)] * 20)[12:])


def test_settings():
    assert absorbed_after(None) is None
    assert absorbed_after("foreground") is None
    assert absorbed_after("background") == AT_ONCE_S
    assert absorbed_after(30.0) == 30.0
