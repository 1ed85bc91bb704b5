"""Who learns from the fitted frames: a background if there is a fit, masks if they are wanted."""

import numpy as np
import pytest
from bgsub.pipeline.mask_kinds import NetworkMasker, ResidualMasker

from bgsub.background.model import BackgroundModel
from bgsub.errors import UsageError
from bgsub.fit.frame_fit import fit_frames
from bgsub.fit.store import FrameStore
from bgsub.pipeline.inputs import fit_settings, mask_settings, open_input, plan_run, scene_settings
from bgsub.pipeline.scene import LearnedScene, learn_scene, saved_scene
from bgsub.video.frames import Layout


def nothing(stage, done, total):
    pass


@pytest.fixture
def learn(save, scene, options, workers):
    """Learn the scene of a clip as a run with some outputs does, with a fit or without."""

    def learn(outputs, *, fitted, n=40, **changes):
        wanted = options(outputs=outputs, **changes)
        source = open_input(save(scene(n=n)), wanted)
        plan = plan_run(source, wanted)
        with FrameStore(source, plan, seed=1, temp=None, progress=nothing) as store:
            settings = fit_settings(wanted)
            fit = fit_frames(store, None, settings, workers, nothing) if fitted else None
            return learn_scene(store, source, fit, scene_settings(wanted), workers, nothing)

    return learn


def test_masks_of_local_models_need_no_fit(learn):
    scene = learn({"mask"}, fitted=False)
    assert isinstance(scene.masker, NetworkMasker)
    assert scene.background is None
    assert scene.threshold is None


def test_a_background_is_corrected_by_masks_unless_it_is_the_papers(learn):
    scene = learn({"background"}, fitted=True)
    assert scene.background.local is not None
    scene = learn({"background"}, fitted=True, model="paper")
    assert scene.masker is None
    assert scene.background.local is None


def test_a_model_to_be_saved_holds_what_masks_need(learn):
    scene = learn({"model"}, fitted=True)
    assert scene.background.local is not None
    scene = learn({"model"}, fitted=True, model="paper")
    assert scene.background.local is None
    assert isinstance(scene.masker, ResidualMasker)
    assert scene.threshold == scene.background.threshold


def test_a_threshold_that_is_given_is_taken(learn):
    assert learn({"mask"}, fitted=True, threshold=33.0).threshold == 33.0


def test_a_single_frame_teaches_nothing(learn):
    with pytest.raises(UsageError, match=r"1 frame is selected.*select more"):
        learn({"mask"}, fitted=False, n=1)


def test_a_saved_scene_draws_masks_as_the_options_say(whole_run, options):
    model = BackgroundModel.load(whole_run.out / "model.npz")
    assert isinstance(saved_scene(model, mask_settings(options()), None).masker, NetworkMasker)
    assert isinstance(saved_scene(model, mask_settings(options()), 20).masker, ResidualMasker)
    assert saved_scene(model, mask_settings(options(min_area=77)), None).masker.min_area == 77


def test_pixels_inside():
    layout = Layout("gray", 4, 5)
    assert LearnedScene(layout).n_inside == 20
    assert LearnedScene(layout, np.eye(4, 5, dtype=bool)).n_inside == 4
