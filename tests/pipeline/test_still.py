"""background.png: what the frames of a run share."""

import numpy as np
import pytest

from bgsub import apply
from bgsub.background.camera import Motion
from bgsub.background.model import BackgroundModel
from bgsub.background.scene import Shown
from bgsub.pipeline.run import run
from bgsub.pipeline.still import StillOutput, empty_scene
from bgsub.segmenter.protocol import MaskResult
from bgsub.video.frames import Layout
from bgsub.video.images import read_image


class Frame:
    def __init__(self, level):
        self.layout = Layout("gray", 300, 400)
        self.picture = np.full((300, 400), level, np.uint8)
        self.mask = np.zeros((300, 400), np.uint8)
        self.result = MaskResult(self.mask, shown=Shown(0, None, Motion(level)))


class Scene:
    """Takes the first frame, and says what it was given."""

    def empty_scene(self, pictures, empty, shown):
        self.levels = pictures[:, 0, 0].tolist()
        assert empty.all()
        assert [one.motion.right for one in shown] == self.levels
        return pictures[0]


@pytest.mark.parametrize("color", [True, False])
def test_shows_the_place_without_its_visitor(scene, save, options, tmp_path, color):
    frames = scene(16, color=color, visit=11)
    out = tmp_path / "out"
    run(save(frames), out, options(outputs={"still", "model"}))
    still = read_image(out / "background.png")
    empty = scene(16, color=color, visit=99, noise=0)
    empty = empty[..., ::-1] if color else empty
    usual = np.median(empty, axis=0)
    assert still.shape == usual.shape
    assert np.abs(still - usual).mean() < 6
    apply(out / "model.npz", save(frames), tmp_path / "again", options(outputs={"still"}))
    again = read_image(tmp_path / "again" / "background.png")
    assert np.abs(again.astype(int) - still).mean() < 1


def test_it_is_that_of_the_command(save, options, tmp_path):
    rng = np.random.default_rng(2)
    place = rng.integers(60, 180, (48, 64, 3))
    frames = np.clip(place + rng.normal(0, 2, (12, 48, 64, 3)), 0, 255).astype(np.uint8)
    for t in range(12):
        frames[t, 8:40, (17 * t) % 50 : (17 * t) % 50 + 9] = rng.integers(0, 255, 3)
    run(frames, tmp_path / "out", options(outputs={"still"}))
    still = read_image(tmp_path / "out" / "background.png").astype(int)
    (plate,) = empty_scene(frames)
    assert np.abs(still - place[..., ::-1]).max() <= 12
    assert np.abs(still - plate.picture).mean() < 0.5


def test_of_the_papers_masks_it_is_the_centre(scene, save, options, tmp_path):
    out = tmp_path / "out"
    run(save(scene()), out, options(outputs={"still", "model"}, model="paper"))
    model = BackgroundModel.load(out / "model.npz")
    center = model.layout.to_bgr(np.clip(np.rint(model.center), 0, 255).astype(np.uint8))
    np.testing.assert_array_equal(read_image(out / "background.png"), center)


@pytest.mark.parametrize("count", [1, 74, 500])
def test_keeps_few_frames_that_are_spread_evenly(tmp_path, count):
    scene = Scene()
    output = StillOutput(tmp_path / "background.png", scene)
    for number in range(count):
        output.write(Frame(number % 256), None)
    output.close()
    every = {1: 1, 74: 2, 500: 16}[count]
    assert scene.levels == [number % 256 for number in range(0, count, every)]
    assert read_image(tmp_path / "background.png")[0, 0] == 0
