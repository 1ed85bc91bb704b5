"""Hypotheses of the background of samples."""

import cv2
import numpy as np
import pytest

from bgsub.background.plates import Background, at_working_size, small_of, working_size
from bgsub.video.frames import Layout


def sample(n, *, seed=0, noise=2.0):
    rng = np.random.default_rng(seed)
    ground = np.kron(rng.integers(60, 180, (6, 8, 3)), np.ones((8, 8, 1)))
    frames = np.clip(ground + rng.normal(0, noise, (n, 48, 64, 3)), 0, 255).astype(np.uint8)
    return np.stack([at_working_size(frame) for frame in frames])


@pytest.mark.parametrize("shape", [(120, 160), (240, 320), (1080, 1920), (2160, 3840), (48, 64)])
def test_the_working_size_has_the_shape_of_the_frame_and_about_as_many_pixels(shape):
    height, width = working_size(*shape)
    assert height % 16 == width % 16 == 0
    assert height * width <= 1.15 * 320 * 240
    assert width / height == pytest.approx(shape[1] / shape[0], rel=0.15)


@pytest.mark.parametrize("matrix", ["bt601", "bt709"])
@pytest.mark.parametrize("shape", [(360, 640), (481, 611), (720, 1280), (1081, 1920)])
def test_planes_are_brought_to_the_working_size_as_their_picture_is(shape, matrix):
    ground = np.random.default_rng(1).integers(60, 200, (9, 12, 3)).astype(np.uint8)
    picture = cv2.resize(ground, shape[::-1], interpolation=cv2.INTER_CUBIC)
    layout = Layout("yuv420", *shape, matrix)
    row = layout.pack(picture)
    small = small_of(layout, row).astype(int)
    assert small.shape == (*working_size(*shape), 3)
    apart = np.abs(small - at_working_size(layout.to_bgr(row)))
    assert apart.mean() < 0.8
    assert apart.max() <= 6  # chroma of odd sizes lies half a pixel beside
    luma = np.full(small.shape[:2], 128, np.uint8)
    assert np.abs(small_of(layout, row, luma).astype(int).mean() - 128) < 10


def test_the_second_colour_is_that_of_what_stood_there_for_a_while():
    frames = sample(40)
    frames[10:22, 40:80, 40:80] = (20, 30, 200)
    (state,) = Background.learn(frames).states
    inside = (slice(44, 76), slice(44, 76))
    assert np.abs(state.colors[1][inside] - np.array([20, 30, 200.0])).mean() < 3
    assert np.abs(state.colors[0][inside] - frames[0][inside].astype(float)).mean() < 4
    assert state.shares[1][inside].mean() / 255 == pytest.approx(12 / 40, abs=0.02)
    assert state.shares[0][inside].mean() / 255 == pytest.approx(28 / 40, abs=0.05)


@pytest.mark.parametrize(
    ("there", "later", "less_spread"),
    [(slice(12, 28), 0, 1), (slice(24, 40), 1, 1), (slice(0, 16), -1, 1)],
    ids=["comes and goes", "comes and stays", "leaves"],
)
def test_the_order_tells_a_visit_from_the_place_around_it(there, later, less_spread):
    frames = sample(40)
    frames[there, 40:80, 40:80] = (20, 30, 200)
    (state,) = Background.learn(frames).states
    order = state.order[:, 44:76, 44:76].astype(float).mean(axis=(1, 2)) - 128
    assert np.sign(np.rint(order[0] / 30)) == later
    assert np.sign(np.rint(order[1] / 20)) == less_spread or later
    assert not (state.order[:, :, 100:].astype(int) - 128).any()


def floor(n):
    """A floor that is lit from one side, through a camera."""
    rng = np.random.default_rng(4)
    ground = np.repeat(np.linspace(90, 140, 64)[None, :, None] + (0, 8, 16), 48, axis=0)
    frames = np.clip(ground + rng.normal(0, 2, (n, 48, 64, 3)), 0, 255).astype(np.uint8)
    return np.stack([at_working_size(frame) for frame in frames])


@pytest.mark.parametrize(
    "there",
    [slice(8, 20), slice(0, 12), slice(4, 17)],
    ids=["came and stays", "left", "comes and goes"],
)
def test_what_has_an_outline_is_no_place_however_long_it_lies_there(there):
    frames = floor(20)
    empty = frames[0 if there.start else 19].copy()
    frames[there, 40:80, 40:80] = (20, 30, 200)
    (state,) = Background.learn(frames).states
    inside = (slice(44, 76), slice(44, 76))
    assert np.abs(state.colors[0][inside] - empty[inside].astype(float)).mean() < 4
    assert np.abs(state.colors[1][inside] - np.array([20, 30, 200.0])).mean() < 3
    assert (state.order[1][inside] > 200).all()
    assert state.shares[0].all()  # No colour that nothing shows comes first, on its rim either.


@pytest.mark.parametrize(("sways", "around", "told"), [(12, 0, 1), (0, 0, 0), (12, 25, 0)])
def test_who_gets_up_and_comes_back_is_no_place_if_he_moves_more_than_it(sways, around, told):
    frames, rng = floor(30), np.random.default_rng(6)
    leaves = rng.integers(0, around + 1, frames.shape, np.uint8)
    leaves[:, 40:80, 40:80] = 0
    frames += leaves
    empty = frames[12, 44:76, 44:76] * 1.0
    for frame in (*frames[:11], *frames[20:]):
        frame[40:80, 40:80] = rng.integers(90 - sways, 91 + sways, (40, 40, 3)) * (0, 1, 2)
    (state,) = Background.learn(frames).states
    assert np.abs(state.colors[1 - told][44:76, 44:76] - empty).mean() < 4
    noise = [state.noise[part].mean() for part in (np.s_[44:76, 44:76], np.s_[:, 100:])]
    assert not told or noise[0] == pytest.approx(noise[1], rel=0.2)


def test_a_part_of_the_place_that_changes_for_good_is_what_it_is_for_longer():
    frames = floor(20)
    frames[:8, 40:80, 40:80] = (200, 60, 20)  # A blind that is drawn: outlined as the window is.
    frames[8:, 40:80, 40:80] = (20, 30, 200)
    (state,) = Background.learn(frames).states
    assert np.abs(state.colors[0][44:76, 44:76] - np.array([20, 30, 200.0])).mean() < 3


def test_what_frames_do_not_see_after_a_knock_is_what_others_see_there():
    wide = cv2.resize(np.random.default_rng(8).integers(0, 255, (31, 44, 3), np.uint8), (352, 248))
    before, after = (wide[y : y + 240, x : x + 320].copy() for y, x in ((8, 0), (0, 14)))
    background = Background.learn(np.stack([before] * 11 + [after] * 12))
    found = [background.of(frame) for frame in (before, after)]
    apart = [np.abs(one.first.astype(float) - one.aligned.frame) for one in found]
    views = [one.aligned.motion.sees(240, 320) for one in found]
    assert max(one[view].max() for one, view in zip(apart, views, strict=True)) < 12


def test_what_passes_by_once_is_no_hypothesis():
    frames = sample(60)
    frames[10, 40:80, 40:80] = 255
    (state,) = Background.learn(frames).states
    np.testing.assert_array_equal(state.colors[0], state.colors[1])
    assert not state.shares[1][44:76, 44:76].any()


def test_another_look_of_the_whole_scene_for_a_quarter_of_the_film_is_a_state():
    frames = sample(12)
    frames[9:] = 250 - frames[9:]
    background = Background.learn(frames)
    assert [state.frames for state in background.states] == [9, 3]
    found = background.of(frames[10])
    assert found.plates is background.states[1]
    assert np.abs(found.first.astype(float) - frames[10]).mean() < 3


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_few_frames_are_enough(count):
    assert sum(state.frames for state in Background.learn(sample(count)).states) == count


def test_arrays_hold_all_of_it():
    frames = sample(30)
    background = Background.learn(frames)
    one, two = (b.of(frames[3]) for b in (background, Background.from_arrays(background.arrays())))
    np.testing.assert_array_equal(one.first, two.first)
    np.testing.assert_array_equal(one.plates.shares, two.plates.shares)


@pytest.mark.parametrize("name", ["colors_0", "shares_0", "noise_0", "order_0", "thumbnail_0"])
def test_arrays_of_another_shape_are_refused(name):
    arrays = Background.learn(sample(5)).arrays()
    arrays[f"background_{name}"] = arrays[f"background_{name}"][..., :-1]
    with pytest.raises(ValueError, match=r"colors|shares|noise|order|thumbnail"):
        Background.from_arrays(arrays)


@pytest.mark.parametrize(
    ("name", "value"),
    [("shake", np.nan), ("shake", np.inf), ("shake", -1.0), ("frames_0", 0), ("frames_0", 1e31)],
)
def test_numbers_that_no_sample_gives_are_refused(name, value):
    arrays = Background.learn(sample(2)).arrays() | {f"background_{name}": np.array(value)}
    with pytest.raises(ValueError, match=str(value) if name == "shake" else "0"):
        Background.from_arrays(arrays)


def test_frames_in_another_light_have_the_colours_of_the_place():
    frames = sample(30)
    frames[1::2] += 25
    (state,) = Background.learn(frames).states
    assert state.shares[0].mean() / 255 > 0.95
    assert (state.colors[0] - frames[0].astype(float)).std() < 3


def test_what_is_clipped_is_as_bright_in_more_light():
    frames = sample(30)
    frames[1::3] += 25
    frames[:, :40] = 215  # all that the camera can show of it
    background = Background.learn(frames)
    assert np.abs(background.of(frames[1]).first.astype(float) - frames[1]).mean() < 3
