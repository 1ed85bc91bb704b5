"""What an object takes of the light beside it, and parts of objects that are no less faint."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS
from bgsub.local.scoring import UNIT
from bgsub.local.shade import _reached, soft_shade

PLACE = np.full((90, 100, 3), (60, 120, 90), np.uint8)
THRESHOLD = 12.0  # grey levels
BODY = np.s_[20:60, 40:54]


def seen(around, body=8):
    """A body before a place that is changed by some levels around its lower half."""
    frame = PLACE.astype(np.float32) + around
    frame[BODY] = body
    return cv2.GaussianBlur(frame, (0, 0), 0.7).round().clip(0, 255).astype(np.uint8)


def shade_of(frame, params=DEFAULTS, step=1):
    apart = cv2.blur(frame.astype(np.float32) - PLACE, (3, 3))
    score = np.clip(np.abs(apart).max(axis=2) * (UNIT / THRESHOLD), 0, 255).astype(np.uint8)
    mask = (score >= UNIT).astype(np.uint8)
    behind = lambda rows, columns: PLACE[rows, columns]  # noqa: E731 - as the drawer has it
    return soft_shade(mask, score, frame, behind, step, params), mask


def fading(strength):
    """Light that is missing around the feet, less with every pixel, most of it in green."""
    y, x = np.mgrid[:90, :100]
    away = np.hypot((x - 47) / 1.3, y - 52)
    return -strength * np.exp(-((away / 14) ** 2))[..., None] * np.array([0.5, 1.0, 0.6])


def test_soft_shade_beside_an_object_is_found_and_the_object_stays():
    shade, mask = shade_of(seen(fading(28)))
    body = np.zeros_like(mask)
    body[BODY] = 1
    beside = (mask > 0) & (cv2.dilate(body, np.ones((5, 5), np.uint8)) == 0)
    assert np.count_nonzero(beside) > 250
    assert shade[beside].mean() > 0.8
    assert not shade[BODY].any()
    assert not shade[mask == 0].any()


def test_a_faint_limb_has_edges_and_stays():
    limb = np.zeros((90, 100, 1), np.float32)
    limb[40:46, 54:64] = -24
    shade, mask = shade_of(seen(limb))
    assert mask[42:44, 56:62].all()
    assert not shade.any()


def test_what_is_beside_a_thin_line_is_none_as_it_is_no_solid_piece():
    frame = PLACE + fading(28)
    frame[20:60, 47] = 8
    assert not shade_of(frame.round().astype(np.uint8))[0].any()


@pytest.mark.parametrize(("lighter", "is_shade"), [(1, True), (4, False)])
def test_a_channel_may_be_lighter_by_what_is_rounded(lighter, is_shade):
    light = fading(28)
    light[..., 0] = lighter
    assert shade_of(seen(light))[0].any() == is_shade


@pytest.mark.parametrize(("parts", "found"), [(255, 255), (256, 0)])
def test_parts_are_told_apart_by_a_byte(parts, found):
    shade = np.zeros((32, 64), np.uint8)
    shade[::2, ::2].flat[:parts] = 1
    assert np.count_nonzero(_reached(shade, shade)) == found


def test_soft_light_is_no_shade():
    assert not shade_of(seen(-fading(28)))[0].any()


def test_less_light_than_shadows_leave_is_no_shade():
    deep = replace(DEFAULTS, shadow_darkest=0.95)
    assert not shade_of(seen(fading(28)), deep)[0].any()


def test_a_soft_faint_thing_alone_is_no_shade():
    frame = (PLACE + fading(28)).round().astype(np.uint8)
    assert not shade_of(frame)[0].any()


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_little_is_little_beside_an_object(share):
    assert not shade_of(seen(fading(28)), replace(DEFAULTS, shade_share=share))[0].any()


def test_lengths_grow_with_the_step():
    frame = seen(fading(28))
    large = cv2.resize(frame, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR)
    place = np.repeat(np.repeat(PLACE, 2, axis=0), 2, axis=1)
    apart = cv2.blur(large.astype(np.float32) - place, (3, 3))
    score = np.clip(np.abs(apart).max(axis=2) * (UNIT / THRESHOLD), 0, 255).astype(np.uint8)
    mask = (score >= UNIT).astype(np.uint8)
    found = soft_shade(mask, score, large, lambda rows, columns: place[rows, columns], 2, DEFAULTS)
    small, _ = shade_of(frame)
    assert not found[mask == 0].any()
    both = np.count_nonzero(found[::2, ::2] & small)
    assert both > 0.8 * max(np.count_nonzero(small), np.count_nonzero(found) / 4)


# --- what the fit says: films of which little is shade are not asked frame by frame ---


def walk(scenes, strength):
    """Somebody in dark clothes walks over a plain lawn and hides some of the sky from it."""
    place = np.full((*scenes.shape, 3), (110.0, 120, 90))
    y, x = np.mgrid[: scenes.shape[0], : scenes.shape[1]]
    frames, bodies = [], []
    for i in range(scenes.frames):
        left = 7 * (i % 40) - 20
        frame, body = place.copy(), np.zeros(scenes.shape, bool)
        away = np.hypot((x - left - 7) / 1.3, y - 52)
        light = strength * np.exp(-((away / 12) ** 2))[..., None] * np.array([1.0, 0.6, 0.3])
        scenes.put(frame, body, 24, left, np.full((28, 14, 3), 8.0))
        frame[~body] -= light[~body]
        frames.append(cv2.GaussianBlur(frame, (0, 0), 0.7))
        bodies.append(body)
    return scenes.finish(frames, noise=1.5), np.stack(bodies)


def test_a_film_with_shade_tells_so_and_its_masks_are_without(scenes, learn):
    frames, bodies = walk(scenes, 40)
    model = learn(frames)
    assert model.scenes[0].shade > 0.01
    assert LocalModel.from_arrays(model.arrays()).scenes[0].shade == model.scenes[0].shade
    unasked = learn(frames, params=replace(DEFAULTS, shade_share=0.0))
    now, before = (np.stack([one.mask(f) > 0 for f in frames[::4]]) for one in (model, unasked))
    assert np.count_nonzero(now & ~bodies[::4]) < 0.7 * np.count_nonzero(before & ~bodies[::4])
    assert scenes.f_measure(now, bodies[::4]) > scenes.f_measure(before, bodies[::4]) + 0.03
    assert now[bodies[::4]].mean() > before[bodies[::4]].mean() - 0.01


def test_a_film_without_shade_is_not_asked(scenes, learn, monkeypatch):
    model = learn(walk(scenes, 0)[0])
    assert model.scenes[0].shade < DEFAULTS.shade_least
    monkeypatch.setattr("bgsub.local.drawing.soft_shade", None)
    model.mask(walk(scenes, 40)[0][20])


def test_an_empty_film_has_no_shade(scenes, learn):
    frames = scenes.finish(np.repeat(scenes.place()[None], scenes.frames, axis=0))
    assert learn(frames).scenes[0].shade == 0
