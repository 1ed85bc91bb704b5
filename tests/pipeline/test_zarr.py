"""Runs on Zarr arrays, and runs that write them."""

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.evaluation.masks import open_masks, open_truth
from bgsub.pipeline.manifest import input_identity
from bgsub.pipeline.run import apply, run
from bgsub.video.images import read_image
from bgsub.video.sink import find_written

zarr = pytest.importorskip("zarr")


@pytest.fixture
def store(tmp_path, scene):
    frames = scene()
    array = zarr.create_array(
        store=str(tmp_path / "clip.zarr"), shape=frames.shape, chunks=(7, 20, 48, 3), dtype="u1"
    )
    array[:] = frames
    return tmp_path / "clip.zarr"


def files(out):
    return {path.name: path.read_bytes() for path in out.iterdir() if path.suffix == ".csv"}


def test_a_store_is_fitted_as_the_same_frames(store, scene, save, options, tmp_path):
    chosen = options(format="mkv", outputs={"mask", "errors", "model"})
    run(store, tmp_path / "a", chosen)
    run(save(scene()), tmp_path / "b", chosen)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert (tmp_path / "a" / "mask.mkv").read_bytes() == (tmp_path / "b" / "mask.mkv").read_bytes()
    model = tmp_path / "a" / "model.npz"
    apply(model, store, tmp_path / "c", options(outputs={"errors"}))
    assert (tmp_path / "c" / "errors.csv").exists()


def test_arrays_hold_what_pictures_do(scene, save, options, tmp_path):
    path, outputs = save(scene()), {"background", "foreground", "mask", "scores"}
    for form in ("zarr", "png"):
        run(path, tmp_path / form, options(format=form, outputs=outputs))
    for name in outputs:
        pictures = np.stack([read_image(p) for p in sorted((tmp_path / "png" / name).iterdir())])
        found = zarr.open_array(str(tmp_path / "zarr" / f"{name}.zarr"), mode="r")[:]
        np.testing.assert_array_equal(found[..., ::-1] if found.ndim == 4 else found, pictures)


def test_results_are_replaced_only_while_they_are_as_written(scene, save, options, tmp_path):
    path, out = save(scene()), tmp_path / "out"
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


def test_masks_and_scores_are_evaluated(scene, save, options, tmp_path):
    path, outputs = save(scene()), {"mask", "scores", "errors"}
    for form in ("zarr", "mkv"):
        run(path, tmp_path / form, options(format=form, outputs=outputs))
    for kind in ("mask", "scores"):
        both = [open_masks(str(tmp_path / form), kind) for form in ("zarr", "mkv")]
        places = [0, 7, 47]
        for one, other in zip(*(masks.pictures.pick(places) for masks in both), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    alone = open_masks(str(tmp_path / "zarr" / "mask.zarr"), "mask")
    assert alone.numbers.tolist() == list(range(1, 49))
    assert len(open_truth(str(tmp_path / "zarr" / "mask.zarr")).numbers) == 48
    assert find_written(tmp_path / "zarr", "mask") == tmp_path / "zarr" / "mask.zarr"


def test_the_identity_of_a_store_is_that_of_its_files(store):
    before = input_identity(store)
    assert (before["name"], before["size_bytes"] > 0) == ("clip.zarr", True)
    chunk = next(path for path in sorted(store.rglob("*")) if path.name == "0")
    chunk = next(path for path in sorted(chunk.rglob("*")) if path.is_file())
    chunk.write_bytes(chunk.read_bytes() + b"x")
    assert input_identity(store)["sha256"] != before["sha256"]
