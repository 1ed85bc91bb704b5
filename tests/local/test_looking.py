"""What another process is asked for is what this one finds."""

import numpy as np

from bgsub.local.looking import Lesson, looking_bytes, make_learner, make_looker
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS, MaskOptions
from bgsub.video.frames import Layout


def test_a_scene_is_learned_and_looked_at_as_here(scene, workers):
    frames = scene()[..., ::-1].copy()
    layout = Layout("yuv420", 36, 48)
    rows = np.stack([layout.pack(frame) for frame in frames])
    pictures = np.stack([layout.seen(row) for row in rows])
    model = LocalModel.fit(pictures.copy(), workers=workers, seed=3)
    scenes, usual, history, place = make_learner()(Lesson(pictures, 3, None, DEFAULTS, 1))
    there = LocalModel(scenes, usual, None, history, DEFAULTS, place)
    assert there.arrays().keys() == model.arrays().keys()
    for name, array in model.arrays().items():
        np.testing.assert_array_equal(there.arrays()[name], array)
    options, inside = MaskOptions(sensitivity="high"), np.ones((36, 48), np.bool_)
    inside[:, :20] = False
    look = make_looker(model.arrays(), options, layout, inside, with_scores=True)
    own = model.with_options(options)
    for seen, row in zip(look(rows[30:40]), rows[30:40], strict=True):
        here = own.look(layout.seen(row), inside)
        np.testing.assert_array_equal(seen.mask, here.mask)
        np.testing.assert_array_equal(seen.scores, here.scores)
        assert seen.trust == here.trust


def test_memory_grows_with_the_pictures():
    assert looking_bytes(5, 720, 1280) - looking_bytes(5, 360, 640) == 90 * 3 * 640 * 360


def test_of_small_pictures_it_is_what_half_of_the_sample_takes():
    assert looking_bytes(150, 120, 160) - looking_bytes(100, 120, 160) == 14 * 50 * 61 * 160


def test_of_large_pictures_it_is_what_strips_of_the_sample_take():
    assert looking_bytes(75, 720, 1280) - looking_bytes(75, 360, 640) < 90 * 3 * 640 * 360
    assert looking_bytes(75, 360, 640) - looking_bytes(50, 360, 640) == 14 * 25 * 181 * 640
