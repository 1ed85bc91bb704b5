"""What is outside the masks tells the backgrounds, and the empty scene where they are wrong."""

from types import SimpleNamespace

import numpy as np
import pytest

from bgsub.background.backdrop import Backdrop
from bgsub.background.camera import Motion, moved
from bgsub.background.model import BackgroundModel
from bgsub.background.plates import Background, at_working_size, working_size
from bgsub.background.scene import Scene
from bgsub.video.frames import Layout

HEIGHT, WIDTH = 60, 80
THING = np.s_[20:40, 30:50]


def make(kind, pixel_mask=None):
    """A place whose light waves by one component, and both models of it."""
    rng = np.random.default_rng(3)
    place = rng.integers(80, 160, (HEIGHT, WIDTH, 3), np.uint8)
    layout = Layout(kind, HEIGHT, WIDTH)
    center = layout.pack(place).astype(np.float32)
    wave = np.zeros((1, layout.size), np.float32)
    wave[0, : layout.pixels] = np.tile(np.sin(np.arange(WIDTH) / 6), HEIGHT)
    if pixel_mask is not None:
        wave[0, : layout.pixels][~pixel_mask.ravel()] = 0
    wave /= np.linalg.norm(wave)
    shown = np.asarray(layout.to_bgr(center.astype(np.uint8)))
    colors = shown if shown.ndim == 3 else np.stack([shown] * 3, axis=2)
    small = np.stack([at_working_size(colors)] * 3)
    local = Scene(Background.learn(small), [colors], (HEIGHT, WIDTH))
    return BackgroundModel(
        layout=layout,
        center=center,
        components=wave,
        local=local,
        noise=np.ones(layout.pixels, np.float32),
        threshold=10.0,
        cutoff=3.5,
        error_location=1.0,
        error_scale=1.0,
        support=np.ones(2, bool),
        frame_numbers=np.arange(1, 3),
        pixel_mask=pixel_mask,
        geometry={},
        facts={},
    )


def compose(model, row, mask, estimate, rested=None, local=None):
    local = local or model.local
    shown = local.shown_in(model.layout.seen(row))
    return Backdrop(model, local).compose(row, mask, shown, estimate, rested)


def frame_of(model, amount, thing=None):
    row = model.center + amount * model.components[0]
    row = np.clip(np.rint(row), 0, 255).astype(np.uint8)
    if thing is not None:
        model.layout.luma(row)[THING] = thing
    return row


def mask_of_thing():
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    mask[THING] = 255
    return mask


def projected(model, row):
    away = row[: model.layout.pixels] - model.center[: model.layout.pixels]
    return np.atleast_1d(model.components[0, : model.layout.pixels] @ away).astype(float)


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_coefficients_are_those_of_what_is_seen(kind):
    model = make(kind)
    backdrop = Backdrop(model, model.local)
    row = frame_of(model, 300.0, thing=250)
    wrong = projected(model, row)
    assert abs(wrong[0] - 300) > 100
    assert backdrop.coefficients(row, mask_of_thing(), wrong) == pytest.approx([300], rel=0.03)


def test_without_a_mask_coefficients_are_the_projection():
    model = make("yuv420")
    backdrop = Backdrop(model, model.local)
    row = frame_of(model, -120.0)
    own = projected(model, row)
    nothing = np.zeros((HEIGHT, WIDTH), np.uint8)
    np.testing.assert_array_equal(backdrop.coefficients(row, nothing, own), own)
    everything = np.full((HEIGHT, WIDTH), 255, np.uint8)
    assert np.isfinite(backdrop.coefficients(row, everything, own)).all()


def test_pixels_that_were_never_fitted_are_not_taken_off():
    fitted = np.zeros((HEIGHT, WIDTH), bool)
    fitted[:10] = True
    model = make("yuv420", fitted)
    backdrop = Backdrop(model, model.local)
    row = frame_of(model, 90.0, thing=255)
    own = projected(model, row)
    np.testing.assert_array_equal(backdrop.coefficients(row, mask_of_thing(), own), own)


def pictures(model, *rows):
    return [np.asarray(model.layout.to_bgr(row)).astype(int) for row in rows]


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_an_estimate_that_fits_the_frame_stays(kind):
    model = make(kind)
    estimate = frame_of(model, 300.0)
    composed = compose(model, frame_of(model, 300.0, thing=250), mask_of_thing(), estimate)
    assert np.abs(estimate - model.center).max() > 4
    composed, estimate = pictures(model, composed, estimate)
    away = np.abs(composed - estimate)
    assert away[THING].max() < 12
    away[18:42, 28:52] = 0
    assert away.max() == 0


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_an_estimate_that_fits_less_than_the_place_does_not(kind):
    model = make(kind)
    nothing = np.zeros((HEIGHT, WIDTH), np.uint8)
    row, faded = frame_of(model, 0.0), frame_of(model, 0.0)
    faded[: model.layout.size] += 6
    composed, true = pictures(model, compose(model, row, nothing, faded), row)
    assert np.abs(composed - true).max() <= 1


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_behind_objects_a_place_is_in_the_light_of_the_frame(kind):
    model = make(kind)
    usual = frame_of(model, 0.0)
    row = (usual.astype(int) + 30).astype(np.uint8)
    bright = row.copy()
    model.layout.luma(row)[THING] = 255
    composed, bright = pictures(model, compose(model, row, mask_of_thing(), bright), bright)
    assert np.abs(composed - bright)[THING].max() <= 4


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_who_was_not_found_sheds_no_light_on_what_is_around(kind):
    """He stands beside a mask, in a frame and in what was learned of frames."""
    model = make(kind)
    row = frame_of(model, 0.0, thing=250)
    model.layout.luma(row)[16:32, 56:72] += 36
    composed, place = pictures(
        model, compose(model, row, mask_of_thing(), row), frame_of(model, 0.0)
    )
    assert np.abs(composed - place)[THING].max() <= 3


@pytest.mark.parametrize(("left", "taken"), [(4, "fit"), (15, "place")])
def test_behind_an_object_the_fit_is_right_only_if_it_is_near_to_what_is_around(left, taken):
    model = make("gray")
    usual = frame_of(model, 0.0).astype(int)
    waves = np.where(np.indices((HEIGHT, WIDTH)).sum(axis=0) % 2, 25, -25).ravel()
    row, estimate = usual + waves, usual + waves - left * np.sign(waves)
    behind = {"fit": usual + 30, "place": usual}
    inside = mask_of_thing().ravel() > 0
    row[inside], estimate[inside] = 250, behind["fit"][inside]
    row, estimate = row.astype(np.uint8), estimate.astype(np.uint8)
    composed = compose(model, row, mask_of_thing(), estimate)
    assert np.abs(composed - behind[taken])[inside].mean() < 3


@pytest.mark.parametrize("kept", [1, 0])  # pictures of the empty scene
@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_who_has_become_background_is_taken_out_of_it(kind, kept):
    model = make(kind)
    del model.local.plates[kept:]
    true = frame_of(model, 40.0)
    picture = np.array(model.layout.to_bgr(true))
    picture[THING] = 250
    ghost = model.layout.pack(picture)
    composed = model.layout.to_bgr(compose(model, ghost.copy(), mask_of_thing(), ghost)).astype(int)
    away = np.abs(composed - model.layout.to_bgr(true))
    assert away[THING].max() < 20
    assert away.mean() < 2
    # Where nobody is, the frame shows what is there.
    nothing = np.zeros((HEIGHT, WIDTH), np.uint8)
    left = np.abs(
        model.layout.to_bgr(compose(model, true, nothing, ghost)).astype(int)
        - model.layout.to_bgr(true)
    )
    assert left.max() <= 2


def test_what_has_come_to_rest_is_background():
    model = make("yuv420")
    row, estimate = frame_of(model, 0.0, thing=230), frame_of(model, 0.0)
    composed = compose(model, row, np.zeros((HEIGHT, WIDTH), np.uint8), estimate, mask_of_thing())
    np.testing.assert_array_equal(model.layout.luma(composed)[THING], 230)
    assert model.layout.luma(estimate)[THING].max() < 200


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
def test_behind_objects_a_place_lies_where_a_moving_camera_shows_it(kind):
    model = make(kind)
    # Frames are looked for at the working size, which is larger than theirs.
    tall, wide = working_size(HEIGHT, WIDTH)
    place = SimpleNamespace(find=lambda _: Motion(4 * wide / WIDTH, -2 * tall / HEIGHT))
    background = Background(model.local.background.states, place)
    local = Scene(background, model.local.plates, (HEIGHT, WIDTH))
    usual = model.local.plates[0]
    shown = moved(usual if kind != "gray" else usual[..., 0], Motion(-4, 2))
    truth = model.layout.pack(np.ascontiguousarray(shown))
    row = truth.copy()
    model.layout.luma(row)[THING] = 250
    estimate = np.clip(np.rint(model.center), 0, 255).astype(np.uint8)
    composed = compose(model, row, mask_of_thing(), estimate, local=local)
    apart = np.abs(model.layout.luma(composed).astype(int) - model.layout.luma(truth))[THING]
    assert np.median(apart) <= 4
