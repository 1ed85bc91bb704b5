import json

import numpy as np
import pytest

from bgsub.video.images import write_image
from tests.conftest import make_facts

MASK = np.zeros((4, 6), np.uint8)


@pytest.fixture
def images(tmp_path):
    """Write black images of these names and return their folder."""

    def make(name, files, picture=MASK):
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            write_image(folder / (file if isinstance(file, str) else f"f{file}.png"), picture)
        return str(folder)

    return make


@pytest.fixture
def results(tmp_path, images):
    """Make a results folder with PNG masks of some frames."""

    def make(frames=(1, 2, 3), *, table=True, name="results", source=None, **more):
        folder = tmp_path / name
        images(f"{name}/mask", [f"{i:06d}.png" for i in range(1, len(frames) + 1)])
        facts = {"options": {"source": source or {}}, "frames": {"used": len(frames)}, **more}
        (folder / "run.json").write_text(json.dumps(make_facts(str(tmp_path / "no.avi"), **facts)))
        if table:
            lines = [f"{frame},0,1,1,0,0" for frame in frames]
            text = "\n".join(["frame,time_s,error,rmse,score,outlier", *lines, ""])
            (folder / "errors.csv").write_text(text)
        return folder

    return make
