"""Runs on Zarr arrays, and runs that write them."""

import shutil

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.evaluation.masks import open_masks, open_truth
from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline.results import input_identity
from bgsub.pipeline.run import run
from bgsub.video.sink import find_written
from tests.conftest import make_options, make_scene

zarr = pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    frames, path = make_scene(), tmp_path_factory.mktemp("store") / "clip.zarr"
    array = zarr.create_array(
        store=str(path), shape=frames.shape, chunks=(7, 20, 48, 3), dtype="u1"
    )
    array[:] = frames
    return path


@pytest.fixture(scope="module")
def written(store, tmp_path_factory):
    """Results in the format, of frames in it."""
    outputs = {"background", "foreground", "mask", "scores", "errors"}
    out = tmp_path_factory.mktemp("written") / "out"
    run(store, out, make_options(format="zarr", foreground="signed", outputs=outputs))
    return out


def test_arrays_are_fitted_and_written_as_other_formats_are(written, whole_run, video):
    ours, theirs = (read_csv(out / "errors.csv") for out in (written, whole_run.out))
    np.testing.assert_allclose(ours.errors, theirs.errors, rtol=1e-9)
    for name in ("background", "foreground", "mask"):
        shown = video(whole_run.out / f"{name}.mkv", "gray" if name == "mask" else "rgb24")
        found = zarr.open_array(str(written / f"{name}.zarr"), mode="r")[:]
        np.testing.assert_array_equal(found, shown)


def test_results_are_replaced_only_while_they_are_as_written(scene, save, options, tmp_path):
    path, out = save(scene(n=12)), tmp_path / "out"
    chosen = options(format="zarr", outputs={"mask"}, force=True)
    run(path, out, chosen)
    run(path, out, chosen)
    (out / "mask.zarr" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"notes\.txt: is not what bgsub wrote"):
        run(path, out, chosen)
    (out / "mask.zarr" / "notes.txt").unlink()
    (out / "mask.zarr" / "0.0.0").write_bytes(b"other")
    with pytest.raises(OutputError, match=r"mask\.zarr: is not what bgsub wrote"):
        run(path, out, chosen)


def test_masks_and_scores_are_evaluated(written, whole_run):
    for kind in ("mask", "scores"):
        both = [open_masks(str(out), kind) for out in (written, whole_run.out)]
        for one, other in zip(*(masks.pictures.pick([0, 7, 47]) for masks in both), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    alone = open_masks(str(written / "mask.zarr"), "mask")
    assert alone.numbers.tolist() == list(range(1, 49))
    assert len(open_truth(str(written / "mask.zarr")).numbers) == 48
    assert find_written(written, "mask") == written / "mask.zarr"


def test_the_identity_of_a_store_is_that_of_its_files(store, tmp_path):
    store = shutil.copytree(store, tmp_path / "clip.zarr")
    before = input_identity(store)
    assert (before["name"], before["size_bytes"] > 0) == ("clip.zarr", True)
    chunk = next(path for path in sorted(store.rglob("*")) if path.name == "0")
    chunk = next(path for path in sorted(chunk.rglob("*")) if path.is_file())
    chunk.write_bytes(chunk.read_bytes() + b"x")
    assert input_identity(store)["sha256"] != before["sha256"]
