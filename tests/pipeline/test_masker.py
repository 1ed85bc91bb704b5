"""The seam between a run and its masks: how a third kind is added."""

import numpy as np
from bgsub.pipeline.mask_kinds import MASKERS
from bgsub.pipeline.masker import Masker

from bgsub.options import RunOptions
from bgsub.pipeline.run import run
from bgsub.segmenter.masks import Seen


class BrightMasker(Masker):
    """A third kind: what is brighter than anything in the frames that it has seen is foreground."""

    name = "bright"

    def begin(self, frames, seed):
        self.left, self.level = frames, 0

    def add(self, start, rows):
        self.left -= len(rows)
        self.level = max(self.level, int(rows[:, : self.layout.pixels].mean()) + 60)

    def look(self, frame, inside, *, with_scores):
        luma = frame.layout.luma(frame.row)
        scores = luma.astype(np.uint16) * np.uint16(100) // np.uint16(self.level)
        mask = np.where(scores >= self.score_level, np.uint8(255), np.uint8(0))
        return Seen(mask if inside is None else mask * inside, scores if with_scores else None)

    def empty_scene(self, pictures, empty):
        return pictures[0]

    def facts(self):
        assert self.left == 0
        return {"mask_notes": [f"above {self.level}"]}


class BrightOptions(RunOptions):
    mask_model = "bright"


def test_a_third_kind_is_a_class_and_a_line(scene, save, tmp_path, monkeypatch, video):
    monkeypatch.setitem(MASKERS, "bright", BrightMasker)
    frames = scene(n=60, color=False)
    outputs = frozenset({"mask", "scores", "foreground"})
    options = BrightOptions(outputs=outputs, format="mkv", foreground="cutout")
    result = run(save(frames), tmp_path / "out", options)
    level = round(frames.reshape(60, -1).mean()) + 60
    masks = video(tmp_path / "out" / "mask.mkv", "gray")
    assert masks[40:].any(axis=(1, 2)).all()
    sure = np.abs(frames.astype(int) - level) > 10
    np.testing.assert_array_equal(masks[sure] > 0, frames[sure] > level)
    cut = video(tmp_path / "out" / "foreground.mkv", "gray")
    np.testing.assert_array_equal(cut, np.where(masks > 0, frames, 0))
    assert result.manifest["mask_model"] == "bright"
    assert result.manifest["mask_notes"][0].startswith("above")
    assert result.manifest["score_level"] == 100
    assert "k" not in result.manifest  # nothing was fitted for it
