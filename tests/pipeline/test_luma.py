"""The grey frames that are fitted are the same whatever is written."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline.run import fit_errors, run
from bgsub.video.selection import Region
from bgsub.video.source import open_source

GEOMETRIES = {
    "as it is": {},
    "half the size": {"scale": 0.5},
    "odd region": {"roi": Region(3, 5, 27, 18)},
    "even region, enlarged": {"roi": Region(2, 4, 26, 18), "scale": 2.0},
}


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
@pytest.mark.parametrize("source", ["4:2:0", "pictures", "array", "grey"])
def test_one_luma_for_every_layout(geometry, source, scene, encode, save, images):
    frames = scene(color=source != "grey")[::8]
    path = {"4:2:0": encode, "pictures": images}.get(source, save)(frames)
    seen = [
        np.stack([frame.luma.copy() for frame in open_source(path, **geometry, **kind)])
        for kind in ({}, {"color": "gray"}, {"exact_color": True}, {"color": "color"})
    ]
    for other in seen[1:]:
        np.testing.assert_array_equal(other, seen[0])


def test_errors_are_the_same_whatever_is_written(scene, encode, options, tmp_path):
    path = encode(scene(9, visit=6))
    tables = []
    for kind in ("mp4", "mkv", "png"):
        chosen = options(format=kind, outputs={"errors", "background"}, scale=0.5, model="paper")
        run(path, tmp_path / kind, chosen)
        tables.append((tmp_path / kind / "errors.csv").read_bytes())
    assert tables[0] == tables[1] == tables[2]
    written = read_csv(tmp_path / "mp4" / "errors.csv")
    alone = fit_errors(path, options(scale=0.5)).table
    np.testing.assert_allclose(alone.errors, written.errors, rtol=1e-9)
