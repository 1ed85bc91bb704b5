"""BackgroundModel: projection, and the file that it is kept in."""

import contextlib
import dataclasses
import io
import json
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

from bgsub import TRPCA
from bgsub.background.model import MODEL_VERSION, BackgroundModel
from bgsub.errors import InputError, OutputError
from bgsub.pipeline.run import run
from bgsub.video.frames import Layout
from bgsub.video.images import write_image


def make_model(kind="gray", k=3, height=6, width=8, *, mask=False, seed=0):
    rng = np.random.default_rng(seed)
    layout = Layout(kind, height, width)
    components = np.linalg.qr(rng.normal(size=(layout.size, max(k, 1))))[0].T[:k]
    pixel_mask = np.arange(layout.pixels).reshape(height, width) > 5 if mask else None
    return BackgroundModel(
        layout=layout,
        center=rng.uniform(60, 200, layout.size).astype(np.float32),
        components=components.astype(np.float32),
        noise=rng.uniform(1, 3, layout.pixels).astype(np.float32),
        threshold=17.5,
        error_location=9.25,
        error_scale=0.5,
        cutoff=12.0,
        support=rng.random(20) < 0.8,
        frame_numbers=np.arange(3, 23),
        pixel_mask=pixel_mask,
        ignored=np.arange(layout.pixels).reshape(height, width) % 7 == 3 if mask else None,
        geometry={"input_size": [8, 6], "roi": None, "scale": 1.0},
        facts={"method": "trpca", "k": k},
    )


@pytest.mark.parametrize("kind", ["gray", "yuv420", "bgr"])
@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize("mask", [False, True])
def test_save_and_load_is_the_same(kind, k, mask, tmp_path):
    model = make_model(kind, k, mask=mask)
    path = tmp_path / "Modell ä.npz"
    model.save(path)
    loaded = BackgroundModel.load(path)
    for field in dataclasses.fields(BackgroundModel):
        mine, theirs = getattr(model, field.name), getattr(loaded, field.name)
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype
        else:
            assert mine == theirs


def test_inside_is_what_was_fitted_and_is_not_ignored():
    whole, part = make_model(), make_model(mask=True)
    assert whole.inside is None
    expected = [i > 5 and i % 7 != 3 for i in range(48)]
    np.testing.assert_array_equal(part.inside.ravel(), expected)
    assert part.n_pixels == 42
    ignoring = dataclasses.replace(part, pixel_mask=None)
    np.testing.assert_array_equal(ignoring.inside, ~part.ignored)


def test_the_file_holds_no_pickle(tmp_path):
    path = tmp_path / "model.npz"
    make_model().save(path)
    with np.load(path, allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def test_the_same_model_is_the_same_file(tmp_path):
    for name in ("a.npz", "b.npz"):
        make_model().save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_saving_where_nothing_can_be_written(tmp_path):
    with pytest.raises(OutputError, match=r"model\.npz: cannot be written"):
        make_model().save(tmp_path / "none" / "model.npz")


class TestRefusals:
    def refused(self, path, match="is not a model"):
        with pytest.raises(InputError, match=match) as caught:
            BackgroundModel.load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def saved(self, tmp_path, **changes):
        """A model's file with other arrays or other values in its header."""
        path = tmp_path / "model.npz"
        make_model(mask=True).save(path)
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays["bgsub_model"]))
        for name, value in changes.items():
            if name in arrays:
                arrays[name] = value
            else:
                header[name] = value
        arrays["bgsub_model"] = np.array(json.dumps(header))
        np.savez(path, **arrays)
        return path

    @pytest.mark.parametrize(
        "changes",
        [
            {"components": np.full((3, 48), 1e30, np.float32)},
            {"components": np.full((3, 48), 2.0, np.float32)},
            {"components": np.full((3, 48), np.nan, np.float32)},
            {"components": np.zeros((3, 48), complex)},
            {"center": np.full(48, -1e30, np.float32)},
            {"center": np.array(["1"] * 48)},
            {"noise": np.full(48, -1.0, np.float32)},
            {"noise": np.full(48, np.inf, np.float32)},
            {"support": np.ones(3, bool)},
            {"support": np.ones((20, 2), bool)},
            {"support": np.full(20, np.nan)},
            {"frame_numbers": np.zeros(20, np.int64)},
            {"frame_numbers": np.full(20, np.inf)},
            {"frame_numbers": np.full(20, 7)},
            {"frame_numbers": np.arange(20, 0, -1)},
            {"pixel_mask": np.full((6, 8), np.nan)},
            {"threshold": None},
            {"threshold": True},
            {"threshold": "17"},
            {"threshold": -1.0},
            {"threshold": 1e300},
            {"error_location": float("inf")},
            {"error_scale": float("nan")},
            {"cutoff": [12.0]},
            {"height": 6.0},
            {"height": -6},
            {"width": 10**30},
            {"layout": 7},
            {"matrix": "bt2020"},
            {"geometry": [8, 6]},
            {"geometry": {"input_size": [8]}},
            {"geometry": {"scale": 0}},
            {"geometry": {"roi": [1, 2, 3, "4"]}},
            {"facts": None},
            {"model_version": True},
        ],
        ids=str,
    )
    def test_values_that_no_fit_gives(self, tmp_path, changes):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.refused(self.saved(tmp_path, **changes))

    def test_a_missing_file(self, tmp_path):
        self.refused(tmp_path / "model.npz", "there is no such model")

    def test_a_folder(self, tmp_path):
        self.refused(tmp_path, r"model\.npz: there is no such model")

    @pytest.mark.parametrize(
        "data", [b"", b"text", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"\x80\x04"]
    )
    def test_other_files(self, tmp_path, data):
        path = tmp_path / "model.npz"
        path.write_bytes(data)
        self.refused(path)

    def test_arrays_of_somebody_else(self, tmp_path):
        np.save(tmp_path / "a.npy", np.zeros(3))
        self.refused(tmp_path / "a.npy")
        np.savez_compressed(tmp_path / "b.npz", frames=np.zeros(3))
        self.refused(tmp_path / "b.npz")
        np.savez(tmp_path / "c.npz", bgsub_model=np.array("[]"))
        self.refused(tmp_path / "c.npz")

    def test_a_pickle(self, tmp_path):
        path = tmp_path / "model.npz"
        np.savez(path, bgsub_model=np.array([{"a": 1}], dtype=object))
        self.refused(path)

    def test_a_truncated_file_wherever_it_ends(self, tmp_path):
        path = tmp_path / "model.npz"
        make_model().save(path)
        data = path.read_bytes()
        for length in np.linspace(0, len(data) - 1, 60).astype(int):
            path.write_bytes(data[:length])
            self.refused(path)

    def test_a_member_that_nobody_asks_for_is_not_read(self, tmp_path):
        path = tmp_path / "model.npz"
        make_model().save(path)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
            file = io.BytesIO()
            np.save(file, np.zeros((24, 1000, 1000), np.uint8))
            archive.writestr("extra.npy", file.getvalue())
        tracemalloc.start()
        try:
            BackgroundModel.load(path)
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()

    def test_arrays_of_another_size_are_not_read(self, tmp_path):
        path = self.saved(tmp_path, center=np.zeros(6_000_000, np.float32))
        tracemalloc.start()
        try:
            self.refused(path)
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()

    def test_a_damaged_file_wherever_the_damage_is(self, tmp_path):
        path = tmp_path / "model.npz"
        make_model().save(path)
        data = path.read_bytes()
        loads = 0
        positions = range(0, len(data), 31)
        for position in positions:
            path.write_bytes(
                data[:position] + bytes([data[position] ^ 0x5A]) + data[position + 1 :]
            )
            with contextlib.suppress(InputError):
                BackgroundModel.load(path)
                loads += 1  # a date in the archive may be anything
        assert loads < 0.2 * len(positions)

    def test_a_method_of_compression_that_nobody_knows(self, tmp_path):
        path = tmp_path / "model.npz"
        make_model().save(path)
        data = bytearray(path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            start = archive.start_dir
        data[start + 10] = 77
        path.write_bytes(bytes(data))
        self.refused(path)

    @pytest.mark.parametrize(
        "changes",
        [
            {"model_version": MODEL_VERSION + 1},
            {"model_version": None},
            {"layout": "nv12"},
            {"height": 7},
            {"height": "6"},
            {"matrix": "bt2020"},
            {"threshold": "high"},
            {"cutoff": float("nan")},
            {"error_scale": float("inf")},
            {"geometry": 3},
            {"center": np.zeros(5, np.float32)},
            {"center": np.full(48, np.nan, np.float32)},
            {"center": np.array(["a"] * 48)},
            {"components": np.zeros((3, 47), np.float32)},
            {"components": np.zeros(48, np.float32)},
            {"noise": np.zeros((6, 8), np.float32)},
            {"pixel_mask": np.ones((8, 6), bool)},
            {"pixel_mask": np.zeros((6, 8), bool)},
            {"ignored": np.ones((8, 6), bool)},
            {"ignored": np.ones((6, 8), bool)},
        ],
    )
    def test_a_header_or_an_array_that_does_not_fit(self, tmp_path, changes):
        assert BackgroundModel.load(self.saved(tmp_path))
        self.refused(self.saved(tmp_path, **changes))


class TestProject:
    @pytest.mark.parametrize("mask", [False, True])
    def test_is_the_orthogonal_projection_over_the_pixels_of_the_fit(self, mask, workers):
        model = make_model("bgr", mask=mask)
        rows = np.random.default_rng(1).integers(0, 256, (5, model.layout.size), dtype=np.uint8)
        inside = slice(None) if model.pixel_mask is None else model.pixel_mask.ravel()
        pixels = model.layout.pixels
        U = model.components[:, :pixels][:, inside].astype(np.float64)
        X = (rows[:, :pixels] - model.center[:pixels].astype(np.float64))[:, inside]
        scores, errors = model.project(rows, workers)
        np.testing.assert_allclose(scores, X @ U.T, rtol=1e-5, atol=1e-3)
        left = X - (X @ U.T) @ U
        np.testing.assert_allclose(errors, (left**2).sum(axis=1), rtol=1e-5)

    def test_pixels_outside_the_mask_do_not_count(self, workers):
        model = make_model(mask=True)
        rows = np.random.default_rng(1).integers(0, 256, (5, model.layout.size), dtype=np.uint8)
        other = rows.copy()
        other[:, ~model.pixel_mask.ravel()] ^= 0xFF
        for mine, theirs in zip(
            model.project(rows, workers), model.project(other, workers), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)

    def test_without_components_the_error_is_the_distance_to_the_centre(self, workers):
        model = make_model(k=0)
        rows = np.random.default_rng(1).integers(0, 256, (5, model.layout.size), dtype=np.uint8)
        scores, errors = model.project(rows, workers)
        assert scores.shape == (5, 0)
        np.testing.assert_allclose(errors, ((rows - model.center) ** 2).sum(axis=1), rtol=1e-5)

    @pytest.mark.parametrize("masked", [False, True])
    def test_of_fitted_frames_gives_the_scores_and_errors_of_the_fit(
        self, masked, tmp_path, scene, save, options, workers
    ):
        frames = scene(color=False)
        mask = np.ones(frames.shape[1:], bool)
        if masked:
            mask[:, :15] = False
            write_image(tmp_path / "mask.png", mask.astype(np.uint8) * 255)
        image = str(tmp_path / "mask.png") if masked else None
        chosen = options(outputs={"model"}, model="paper", mask_image=image)
        run(save(frames), tmp_path / "out", chosen)
        model = BackgroundModel.load(tmp_path / "out" / "model.npz")
        rows = frames.reshape(len(frames), -1)
        fit = TRPCA(2, random_state=1).fit(rows[:, mask.ravel()])
        scores, errors = model.project(rows, workers)
        size = np.abs(fit.scores_).max()
        np.testing.assert_allclose(scores, fit.scores_, atol=1e-5 * size)
        np.testing.assert_allclose(errors, fit.errors_, rtol=1e-4)
        np.testing.assert_array_equal(model.support, fit.support_)
        inside = model.components[:, mask.ravel()].astype(np.float64)
        np.testing.assert_allclose(inside @ inside.T, np.eye(2), atol=1e-5)
