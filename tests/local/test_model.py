from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from bgsub.local.alignment import Motion
from bgsub.local.cleanup import SCORE_LEVEL
from bgsub.local.layers import MOST_FRAMES
from bgsub.local.model import LocalModel
from bgsub.local.params import LocalParams, MaskOptions
from bgsub.local.placing import moved
from bgsub.local.sampling import fit_bytes, sample_size
from bgsub.local.scene import Scene
from bgsub.runtime.threads import Workers


def masks_of(model, frames):
    return [seen.mask for seen in model.look_all(frames, with_scores=False)]


def test_a_passer_by_in_noise_is_found(passing, scenes):
    masks = masks_of(passing.model, passing.frames)
    assert set(np.unique(masks)) == {0, 255}
    assert scenes.f_measure(masks, passing.truths) > 0.9
    empty = [m for m, t in zip(masks, passing.truths, strict=True) if not t.any()]
    assert not np.any(empty)


def test_masks_do_not_depend_on_the_order_of_the_frames(passing):
    forth = masks_of(passing.model, passing.frames)
    back = masks_of(passing.model, passing.frames[::-1])[::-1]
    np.testing.assert_array_equal(forth, back)


def test_arrays_give_the_same_model_again(passing):
    again = LocalModel.from_arrays(passing.model.arrays())
    for frame in passing.frames[:6]:
        np.testing.assert_array_equal(again.mask(frame), passing.model.mask(frame))


def test_the_history_of_the_fit_comes_back_too(passing):
    history = passing.model.history
    assert history.states[0]["sample_frames"] == len(passing.frames)
    again = LocalModel.from_arrays(passing.model.arrays()).with_options(MaskOptions())
    assert again.history == history
    earlier = {k: v for k, v in passing.model.arrays().items() if k != "local_history"}
    assert LocalModel.from_arrays(earlier).history.states == []


def test_arrays_that_do_not_fit_are_refused(passing):
    arrays = passing.model.arrays()
    with pytest.raises(ValueError, match="72"):
        LocalModel.from_arrays(arrays | {"local_restless_0": np.zeros((3, 3), np.uint8)})
    with pytest.raises(ValueError, match=r"\[\]"):
        LocalModel.from_arrays(arrays | {"local_usual": np.zeros(0)})
    with pytest.raises(KeyError):
        LocalModel.from_arrays({"local_usual": np.ones(1)})


def test_pixels_outside_are_never_foreground(passing):
    at = next(i for i, truth in enumerate(passing.truths) if truth.sum() > 300)
    inside = np.ones(passing.truths[at].shape, bool)
    inside[:, :50] = False
    mask = passing.model.mask(passing.frames[at], ~passing.truths[at] & inside)
    assert not mask[passing.truths[at]].any()


def test_a_hole_that_is_filled_does_not_reach_outside(passing):
    at = next(i for i, truth in enumerate(passing.truths) if truth.sum() > 300)
    rows, columns = np.nonzero(passing.truths[at])
    y, x = int(rows.mean()), int(columns.mean())
    inside = np.ones(passing.truths[at].shape, bool)
    inside[y - 2 : y + 3, x - 2 : x + 3] = False
    assert passing.model.mask(passing.frames[at])[~inside].all()
    mask, scores = passing.model.look(passing.frames[at], inside)[:2]
    assert mask[inside].any()
    assert not mask[~inside].any()
    assert scores[inside].any()
    assert not scores[~inside].any()


def test_the_same_seed_gives_the_same_model(passing):
    with Workers(2) as workers:
        again = LocalModel.fit(passing.frames.copy(), workers=workers)
    for name, array in passing.model.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)


def test_scores_are_above_the_threshold_at_the_object(passing):
    at = next(i for i, truth in enumerate(passing.truths) if truth.sum() > 300)
    scores = passing.model.scores(passing.frames[at])
    assert scores.dtype == np.uint16
    assert np.median(scores[passing.truths[at]]) > 140
    assert np.median(scores[~passing.truths[at]]) < 60


@pytest.mark.parametrize("sensitivity", ["low", "normal", "high"])
def test_scores_cut_at_their_level_are_the_mask_before_it_is_cleaned(sensitivity, passing):
    raw = MaskOptions(shadows="keep", sensitivity=sensitivity, min_area=0, fill=False)
    as_cut = LocalParams(outline_edge=0)
    arrays = passing.model.arrays() | {"local_params": as_cut.to_array()}
    model = LocalModel.from_arrays(arrays, raw)
    for frame in passing.frames[4:12]:
        mask, scores = model.look(frame)[:2]
        assert mask.any()
        np.testing.assert_array_equal(scores >= SCORE_LEVEL, mask > 0)
        np.testing.assert_array_equal(scores, model.scores(frame))
        np.testing.assert_array_equal(mask, model.mask(frame))


def test_scores_do_not_depend_on_what_the_mask_is_cleaned_by(passing):
    strict = passing.model.with_options(MaskOptions(min_area=3000))
    frame = passing.frames[8]
    mask, scores = strict.look(frame)[:2]
    assert not mask.any()
    np.testing.assert_array_equal(scores, passing.model.scores(frame))


def test_grey_frames_do(passing, scenes, learn):
    grey = passing.frames[..., 2]
    model = learn(grey)
    assert scenes.f_measure(masks_of(model, grey), passing.truths) > 0.85


def test_too_many_frames_are_refused(workers):
    frames = np.zeros((MOST_FRAMES + 1, 8, 8), np.uint8)
    with pytest.raises(ValueError, match="251 frames are more than 250"):
        LocalModel.fit(frames, workers=workers)


@pytest.mark.parametrize("size", [(1, 1), (5, 40), (40, 3)])
def test_tiny_pictures_do(size, learn):
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (12, *size, 3), dtype=np.uint8)
    assert learn(frames).mask(frames[0]).shape == size


def test_a_single_frame_is_its_own_background(scenes, learn):
    frames = scenes.finish([scenes.place()])
    assert not learn(frames).mask(frames[0]).any()


def shadowed(scenes):
    """Frames with a cast shadow that walks about, and where it is."""
    frames, truths = [], []
    for i in range(scenes.frames):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        left = 5 * (i % 40) - 30
        truth[30:56, max(left, 0) : max(left + 24, 0)] = True
        frame[truth] *= 0.65
        frames.append(frame)
        truths.append(truth)
    return scenes.finish(frames), truths


def test_shadows_are_dropped_or_kept(scenes, learn):
    frames, truths = shadowed(scenes)
    model = learn(frames)
    dropped = masks_of(model, frames)
    assert np.mean(dropped) < 0.02 * 255 * np.mean(truths)
    kept = masks_of(model.with_options(MaskOptions(shadows="keep")), frames)
    assert scenes.f_measure(kept, truths) > 0.9


def plain_and_brighter(tint):
    """Give frames of a plain place, and truths: a plain thing of 1.15 times its light moves by."""
    random = np.random.default_rng(5)
    frames, truths = [], []
    for t in range(60):
        truth = np.zeros((72, 96), bool)
        truth[20:40, 2 * t - 22 : 2 * t] = 22 <= 2 * t <= 96
        noise = random.normal(0, 1.5, truth.shape)
        level = np.where(truth, 115, 100)[..., None] * tint + noise[..., None]
        frames.append(np.clip(np.rint(level), 0, 255).astype(np.uint8))
        truths.append(truth)
    return np.stack(frames), np.stack(truths)


@pytest.mark.parametrize(
    ("tint", "least", "most"),
    [((1.0, 1.0, 1.0), 0, 0.1), ((0.6, 1.0, 1.2), 0, 0.1)],
    ids=["grey", "tinted"],
)
def test_more_light_on_a_plain_place(tint, least, most, scenes, learn):
    frames, truths = plain_and_brighter(np.array(tint))
    masks = masks_of(learn(frames), frames)
    assert least <= scenes.f_measure(masks, truths) <= most


def test_sensitivity_is_in_order(passing):
    def area(sensitivity):
        options = MaskOptions(sensitivity=sensitivity, shadows="keep", min_area=0, fill=False)
        return np.mean(masks_of(passing.model.with_options(options), passing.frames[:10]))

    assert area("low") < area("normal") < area("high")


def test_least_area_and_holes(passing):
    frame = np.asarray(passing.model.scenes[0].colors[0]).copy()
    ring = np.zeros(frame.shape[:2], bool)
    ring[20:50, 20:60] = True
    ring[28:42, 30:50] = False
    frame[ring] = (10, 250, 10)
    filled, hollow, gone = (
        passing.model.with_options(options).mask(frame)
        for options in (MaskOptions(), MaskOptions(fill=False), MaskOptions(min_area=3000))
    )
    assert filled[35, 40]
    assert not hollow[35, 40]
    assert not gone.any()


def test_light_that_is_switched_makes_two_states(scenes, learn):
    patches = np.random.default_rng(8).uniform(0.1, 1, (6, 8, 1))
    dark = np.repeat(np.repeat(patches, 12, axis=0), 12, axis=1)  # which no one gain explains
    frames, truths = [], []
    for i in range(scenes.frames):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if 30 <= i < 60:
            frame *= dark
        scenes.put(frame, truth, 40, 6 * (i % 20) - 14, scenes.thing())
        frames.append(frame)
        truths.append(truth)
    shown = scenes.finish(frames)
    model = learn(shown)
    assert len(model.scenes) == 2
    assert "2 states of the scene" in model.history.notes
    assert scenes.f_measure(masks_of(model, shown), truths) > 0.8


def test_light_that_fades_is_no_foreground(scenes, learn):
    faded = scenes.finish([scenes.place() * (0.6 + 0.4 * i / 79) for i in range(80)])
    model = learn(faded)
    assert np.mean(masks_of(model, faded)) < 0.01 * 255


@pytest.mark.parametrize("kind", ["a field of gains", "white balance"])
def test_light_that_changes_in_noisy_film_is_no_foreground(kind, learn):
    """Gain and offset do not explain it, and what is left has colour and texture."""
    rng = np.random.default_rng(0)
    texture = cv2.GaussianBlur(rng.normal(0, 120, (120, 160, 3)), (0, 0), 3)
    wide = cv2.GaussianBlur(rng.normal(0, 1, (120, 160)), (0, 0), 25)
    place = 120 + texture + 50 * (wide / np.abs(wide).max())[..., None]
    if kind == "a field of gains":
        light = 1 - 0.3 * np.linspace(0, 1, 160)[:, None] * np.ones(3)
        far = np.clip((np.arange(60) - 40) / 19, 0, 1)
    else:
        light = np.array([1.12, 1, 0.94])
        far = 0.5 - 0.5 * np.cos(np.arange(60) / 60 * 4 * np.pi)
    shown = np.stack([place * (1 + w * (light - 1)) for w in far])
    shown = np.clip(np.rint(shown + rng.normal(0, 2, shown.shape)), 0, 255).astype(np.uint8)
    model = learn(shown[1::3])
    assert not np.any(masks_of(model, shown))


def test_waving_leaves_are_background(scenes, learn):
    rng = np.random.default_rng(4)
    leaves = rng.uniform(0, 1, (20, 40)) < 0.5
    frames, truths = [], []
    for i in range(scenes.frames):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        moved = np.roll(leaves, int(rng.integers(-2, 3)), axis=1)
        frame[10:30, 30:70][moved] = (40, 90, 30)
        frame[10:30, 30:70][~moved] = (200, 190, 180)
        if i >= 60:
            scenes.put(frame, truth, 8, 4 * (i - 60), scenes.thing())
        frames.append(frame)
        truths.append(truth)
    shown = scenes.finish(frames)
    model = learn(shown)
    assert np.mean(masks_of(model, shown[:60])) < 0.005 * 255
    assert scenes.f_measure(masks_of(model, shown[60:]), truths[60:]) > 0.8


def test_somebody_who_stands_for_two_fifths_of_the_film_is_found(scenes, learn):
    frames, truths = [], []
    for i in range(scenes.frames):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if 24 <= i < 56:
            scenes.put(frame, truth, 30, 40 + i % 2, scenes.thing())
        frames.append(frame)
        truths.append(truth)
    shown = scenes.finish(frames)
    assert scenes.f_measure(masks_of(learn(shown), shown), truths) > 0.85


def test_somebody_who_sits_down_and_stays_is_found(scenes, learn):
    frames, truths = [], []
    for i in range(scenes.frames):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if i >= 44:
            scenes.put(frame, truth, 30, 40 + (i // 3) % 2, scenes.thing())
        frames.append(frame)
        truths.append(truth)
    shown = scenes.finish(frames)
    assert scenes.f_measure(masks_of(learn(shown), shown), truths) > 0.85


def test_somebody_who_sways_for_half_of_the_film_and_leaves_is_found(scenes, learn):
    rng = np.random.default_rng(2)
    frames, truths = [], []
    for i in range(scenes.frames):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if i < 44:
            down, right = rng.integers(-1, 2, 2)
            scenes.put(frame, truth, 30 + down, 40 + right, scenes.thing())
        frames.append(frame)
        truths.append(truth)
    shown = scenes.finish(frames)
    assert scenes.f_measure(masks_of(learn(shown), shown), truths) > 0.85


def test_somebody_who_takes_a_break_is_found_before_and_after_it(scenes, learn):
    """He comes back as his place does: who walks out and in tells which of them is the visitor."""
    out = list(range(40, 96, 7))
    places = [40] * 28 + out + [None] * 12 + out[::-1] + [40] * 24
    frames, truths = [], []
    for left in places:
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        if left is not None:
            scenes.put(frame, truth, 30, left, scenes.thing())
        frames.append(frame)
        truths.append(truth)
    shown = scenes.finish(frames)
    assert scenes.f_measure(masks_of(learn(shown), shown), truths) > 0.85


def window(scenes):
    """A shop window whose displays change while somebody small passes by, and where he is."""
    rng = np.random.default_rng(3)
    displays = rng.uniform(60, 130, (4, 50, 70, 3))
    person = np.full((10, 5, 3), (30, 60, 230))
    frames, truths = [], []
    for i in range(scenes.frames):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        frame[6:56, 14:84] = np.roll(displays[i // 2 % 4], int(rng.integers(0, 70)), axis=1)
        scenes.put(frame, truth, 28, 3 * (i % 40) - 10, person)
        frames.append(frame)
        truths.append(truth)
    return scenes.finish(frames), truths


def test_somebody_before_a_busy_shop_window_is_found(scenes, learn):
    frames, truths = window(scenes)
    model = learn(frames)
    assert scenes.f_measure(masks_of(model, frames), truths) > 0.7
    again = LocalModel.from_arrays(model.arrays())
    np.testing.assert_array_equal(masks_of(again, frames), masks_of(model, frames))


def test_fewer_frames_of_larger_pictures_are_fitted():
    assert sample_size(60, 80) == sample_size(120, 160) == 150
    assert sample_size(120, 160) > sample_size(180, 240) > sample_size(240, 320) == 75
    assert 24 <= sample_size(2160, 3840) < sample_size(720, 1280) < 75 == sample_size(480, 640)
    assert fit_bytes(10, 720, 1280) < fit_bytes(1000, 720, 1280)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_plain_thing_is_found_before_texture(seed, learn):
    """14×10 pixels of one vivid colour, as light as what is behind, which is of two pixels each."""
    rng = np.random.default_rng(seed)
    place = np.kron(rng.integers(60, 160, (24, 32, 3)), np.ones((2, 2, 1)))
    frames = []
    for i in range(64):
        frame = place + rng.normal(0, 2, place.shape)
        if i >= 40:
            frame[16:30, 2 * i - 76 : 2 * i - 66] = rng.normal((230, 40, 220), 2, (14, 10, 3))
        frames.append(np.clip(frame, 0, 255).astype(np.uint8))
    model = learn(np.stack(frames[:50]))
    areas = [np.count_nonzero(model.mask(frame)) for frame in frames[40:]]
    assert all(100 < area < 200 for area in areas[2:])


# --- models made by hand ---


def by_hand(*levels, size=(60, 80), contrast=0.0, noise=16, options=None, usual=0.9, **numbers):
    """A model of rooms of patches, a state each; thresholds are six grey levels."""
    rng = np.random.default_rng(0)
    scenes = []
    for level in levels or (120,):
        patches = rng.integers(level - 30, level + 30, (size[0] // 10, size[1] // 10, 3))
        room = np.kron(patches, np.ones((10, 10, 1))).astype(np.uint8)[None]
        restless, map_of_noise = np.zeros(size, np.uint8), np.full(size, noise, np.uint8)
        scenes.append(Scene(room, restless, 2.5, [], noise=map_of_noise, contrast=contrast))
    params = LocalParams(**numbers)
    return LocalModel(scenes, [usual] * len(scenes), options, params=params)


def room_of(model, state=0):
    return model.scenes[state].colors[0].copy()


def with_square(picture, side, step=60):
    picture[20 : 20 + side, 30 : 30 + side] += np.uint8(step)
    return picture


@pytest.mark.parametrize(("given", "least"), [(None, 4), (0, 0), (1, 1), (99, 99)])
def test_the_least_area_is_given_or_a_share_of_the_picture(given, least):
    """0.08 % of 4,800 pixels are 3.84."""
    model = by_hand(options=MaskOptions(min_area=given))
    assert model.min_area == least
    assert model.shape == (60, 80)


@pytest.mark.parametrize("contrast", [0.0, 12.0, 100.0])
def test_trust_is_light_times_noise_times_evidence(contrast):
    """A threshold is three times the noise, or a fifth of the contrast where that is more."""
    model = by_hand(contrast=contrast, options=MaskOptions("keep"))
    threshold = max(6.0, 0.2 * contrast)
    clear = min(contrast / 4 / threshold, 1) if contrast else 1.0
    assert model.look(room_of(model)).trust == pytest.approx(clear)
    shown = with_square(room_of(model), 20)
    assert model.look(shown).trust == pytest.approx(clear)
    hidden = room_of(model)
    hidden[:18] = np.random.default_rng(0).integers(0, 256, hidden[:18].shape)  # .3 of it
    assert model.look(hidden).trust == pytest.approx(clear * 0.7 / 0.9, abs=0.02)


def test_what_is_outside_is_no_evidence_for_or_against_trust():
    model = by_hand(options=MaskOptions("keep"))
    shown = with_square(room_of(model), 20, step=6)
    everything = np.ones(shown.shape[:2], bool)
    without = everything.copy()
    without[15:45, 25:55] = False
    assert model.look(shown, everything).trust < 0.4
    assert model.look(shown, without).trust == 1.0


@pytest.mark.parametrize("state", [0, 1])
def test_the_state_and_the_background_are_those_of_the_frame(state):
    model = by_hand(80, 160)
    frame = room_of(model, state)
    assert model.recognize(frame)[0] == state
    np.testing.assert_array_equal(model.background(frame), frame)
    dim = (0.8 * frame).astype(np.uint8)
    number, lit = model.recognize(dim)
    assert number == state
    assert np.abs(lit.astype(int) - frame).max() <= 2
    np.testing.assert_array_equal(model.background(dim), frame)


@pytest.mark.parametrize(
    ("usual", "fine"), [(0.0, True), (1.0, True), (1.01, False), (-0.01, False)]
)
def test_shares_of_usual_frames_are_shares(usual, fine):
    arrays = by_hand().arrays() | {"local_usual": np.array([usual])}
    if fine:
        assert LocalModel.from_arrays(arrays).arrays()["local_usual"] == [usual]
    else:
        with pytest.raises(ValueError, match=str(usual)):
            LocalModel.from_arrays(arrays)


@pytest.mark.parametrize(
    ("sensitivity", "below", "above"), [("low", 8, 9), ("normal", 5, 6), ("high", 4, 5)]
)
def test_sensitivities_are_factors_on_the_threshold(sensitivity, below, above):
    """Of 1.5, 1 and 0.7, on six grey levels."""
    model = by_hand(options=MaskOptions("keep", sensitivity))
    for step, found in ((below, False), (above, True)):
        shown = with_square(room_of(model), 20, step=step)
        assert (model.scores(shown)[30, 40] >= 100) == found


@pytest.mark.parametrize(
    ("options", "evened"), [(MaskOptions(), True), (MaskOptions("keep"), False)]
)
def test_light_in_a_part_is_evened_out_where_shadows_are_dropped(options, evened):
    model = by_hand(light_bonus=1.1)
    fine = np.random.default_rng(1).integers(-20, 20, (*model.shape, 1))
    model.scenes[0].colors[:] = np.clip(model.scenes[0].colors + fine, 0, 255)
    model = model.with_options(options)
    shown = room_of(model).astype(float)
    shown[:48] *= 0.7
    scores = model.scores(np.rint(shown).astype(np.uint8))
    assert (np.median(scores[:16]) < 90) == evened


@pytest.fixture(scope="module")
def shaking(passing):
    """The same film before a camera that shakes: frames, shifts, model."""
    rng = np.random.default_rng(4)
    shifts = [Motion(*one) for one in rng.integers(-4, 5, (len(passing.frames), 2)).tolist()]
    rough = np.rint(rng.normal(0, 20, (72, 96, 1))).astype(int)  # something to hold on to
    frames = np.clip(passing.frames + rough, 0, 255).astype(np.uint8)
    for frame, truth, still in zip(frames, passing.truths, passing.frames, strict=True):
        frame[truth] = still[truth]
    frames = np.stack([moved(*one) for one in zip(frames, shifts, strict=True)])
    with Workers(1) as workers:
        model = LocalModel.fit(frames.copy(), workers=workers)
    return SimpleNamespace(frames=frames, shifts=shifts, model=model)


def test_masks_follow_a_camera_that_shakes(shaking, passing, scenes):
    masks = masks_of(shaking.model, shaking.frames)
    truths = [
        moved(truth.astype(np.uint8), shift) > 0
        for truth, shift in zip(passing.truths, shaking.shifts, strict=True)
    ]
    assert scenes.f_measure(masks, truths) > 0.9
    assert shaking.model.history.shake_pixels >= 4
    assert passing.model.history.shake_pixels == 0


def test_all_that_is_asked_of_a_shaking_frame_lies_where_it_does(shaking, passing):
    again = LocalModel.from_arrays(shaking.model.arrays()).with_options(MaskOptions())
    for frame, seen in zip(
        shaking.frames[:9], shaking.model.look_all(shaking.frames[:9]), strict=True
    ):
        np.testing.assert_array_equal(seen.mask, again.mask(frame))
        np.testing.assert_array_equal(seen.scores, again.scores(frame))
        empty = seen.mask == 0
        apart = np.abs(frame.astype(int) - again.background(frame))[empty]
        assert np.median(apart) < 6
    assert "local_place" not in passing.model.arrays()


def test_pixels_that_do_not_count_stay_where_they_are(shaking):
    inside = np.zeros(shaking.frames.shape[1:3], bool)
    inside[20:60, 30:70] = True
    for frame in shaking.frames[:9]:
        seen = shaking.model.look(frame, inside)
        assert not seen.mask[~inside].any()
        assert not seen.scores[~inside].any()


def test_no_film_is_drawn_with_less_noise_than_coarse_colours_have(passing, monkeypatch):
    """Of a codec, where nothing has changed."""
    (scene,) = passing.model.scenes
    clean = LocalModel([replace(scene, grain=0.4, grain_shares=None)], [1.0])
    drawn = {}
    monkeypatch.setattr(
        clean._drawer,
        "draw",
        lambda *arguments: drawn.update(grain=arguments[5]) or np.zeros(clean.shape, np.uint8),
    )
    clean.mask(passing.frames[0])
    assert (drawn["grain"] == 1.5).all()
