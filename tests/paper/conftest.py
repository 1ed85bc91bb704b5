"""Frames as fits get them, and a comparison as `compare` gives it, made by hand."""

import numpy as np
import pytest

from bgsub.paper.compare import write_frames
from bgsub.paper.options import Comparison, MethodRow
from bgsub.video.source import open_source


@pytest.fixture
def frames(scene, tmp_path):
    """Frames of a small scene, in the file that fits read."""
    source = open_source(scene(24, height=20, width=30, visit=18, color=False))
    written = write_frames(source, tmp_path, progress=lambda stage, done, total: None)
    with written.file:
        yield written


@pytest.fixture
def comparison():
    rng = np.random.default_rng(0)
    numbers = np.arange(1, 31)
    errors = 100 * 25 + 100.0 * rng.random(30)
    errors[20:] *= 9
    picture = rng.uniform(0, 255, (12, 16))
    rows = [
        MethodRow(method="trpca", k=k, t=15, seconds=0.1 * k, errors=errors / k) for k in (1, 3)
    ]
    rows += [MethodRow(method="pcp", k=k, t=15, reason="took 5 $ and λ") for k in (1, 3)]
    return Comparison(
        name="a$clip.avi",
        rows=rows,
        numbers=numbers,
        times=numbers / 25,
        pixels=100,
        labels=np.array([0] * 20 + [1] * 9 + [-1], dtype=np.int8),
        chosen=[3, 25],
        pictures=[picture, picture],
        backgrounds={"trpca": [picture, picture * 0.5]},
        stages={},
        facts={},
        warnings=[],
    )
