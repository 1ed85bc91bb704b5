"""Masks are the same on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import bgsub
from bgsub.pipeline.run import masks
from bgsub.video.images import write_image

FOOTAGE = {
    "colour": {},
    "colour as RGB": {"format": "mkv"},
    "grey": {"color": "gray"},
    "a part": {"roi": (3, 5, 31, 27)},
    "some pixels": {"ignore": "region"},
}


@pytest.mark.parametrize("case", FOOTAGE)
def test_bytes_are_those_of_one_thread(case, scene, encode, tmp_path, options):
    clip, chosen = encode(scene()), FOOTAGE[case]
    if "ignore" in chosen:
        region = np.zeros((36, 48), np.uint8)
        region[10:25, 10:30] = 255
        write_image(tmp_path / "region.png", region)
        chosen = {"ignore": str(tmp_path / "region.png")}
    contents = []
    for threads in (1, 3):
        out = tmp_path / str(threads)
        outputs = {"mask", "scores", "objects", "tracks", "background", "model"}
        bgsub.run(clip, out, options(outputs=outputs, threads=threads, **chosen))
        contents.append(
            {path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"}
        )
    assert len(contents[0]) == 6
    assert contents[0] == contents[1]


def test_masks_without_results_are_the_same(scene, options):
    one = [mask for _, mask in masks(scene(), options(threads=1))]
    more = [mask for _, mask in masks(scene(), options(threads=2))]
    np.testing.assert_array_equal(more, one)
