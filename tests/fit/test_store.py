"""Frames in memory, in a file, or decoded again: the same results, to the bit."""

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bgsub.errors import MemoryLimitError
from bgsub.fit import memory
from bgsub.fit.memory import MemoryNeed, Plan
from bgsub.fit.store import Borrowed, FitColumns, FrameStore, decoded_blocks
from bgsub.pipeline.inputs import memory_need, open_input
from bgsub.pipeline.run import fit_errors, run
from bgsub.video.film_index import Place
from bgsub.video.frames import Frame, Layout
from bgsub.video.matrix import FrameMatrix
from bgsub.video.source import open_source
from tests.conftest import make_scene
from tests.video.conftest import encode as encode_film

STORAGES = ("memory", "spill", "sample")
SHORT = 25  # frames of a clip for whole runs


def plan_of(storage, most_fitted=2000, **changes):
    plan = Plan(
        storage=storage,
        fit_frames=most_fitted,
        most_fitted=most_fitted,
        gram_threads=2,
        bytes=0,
        limit=10**9,
        most_frames=10**6,
        reason="",
    )
    return replace(plan, **changes)


def nothing(stage, done, total):
    pass


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few frames, so that small clips have several."""
    monkeypatch.setattr(memory, "RENDER_ROWS", 4)
    monkeypatch.setattr(memory, "SUM_BLOCKS", 2)
    monkeypatch.setattr(memory, "CHUNK_BYTES", 1)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    return str(encode_film(path, make_scene(45), options={"crf": "4"}))


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    path = tmp_path_factory.mktemp("short") / "short.mp4"
    return str(encode_film(path, make_scene(SHORT, visit=18), options={"crf": "4"}))


def limit_for(storage, path, options, monkeypatch):
    """Bytes with which a run takes a storage, as if decoders took nothing: clips here are small."""
    monkeypatch.setattr(MemoryNeed, "decoding", lambda _self: 0)
    source = open_input(path, options)
    need = memory_need(source, options, SHORT)
    monkeypatch.setattr(memory, "LEAST_SAMPLE", 5)
    if storage == "sample":
        monkeypatch.setattr(memory, "free_space", lambda _folder: 0)
    fitted = need.sample if storage != "sample" else min(10, need.sample)
    return f"{need.total(storage, fitted, 1)}"


def results(out):
    """Everything that a run wrote, without the times and places in run.json."""
    arrays = dict(np.load(out / "model.npz")) if (out / "model.npz").exists() else {}
    files = {p.name: p.read_bytes() for p in out.iterdir() if p.suffix in {".csv", ".mp4", ".mkv"}}
    return files, {name: array.tobytes() for name, array in arrays.items()}


class TestStorage:
    """Whole runs, each of which takes its storage because of its memory limit."""

    @pytest.fixture
    def do(self, short, tmp_path, options, monkeypatch, manifest_of):
        def do(storage, **more):
            given = options(threads=2, **more)
            with pytest.MonkeyPatch.context() as patch:
                limit = limit_for(storage, short, given, patch)
                temp = tmp_path / "temp"
                temp.mkdir(exist_ok=True)
                out = tmp_path / f"{storage}{len(list(tmp_path.iterdir()))}"
                run(short, out, replace(given, memory=limit, temp=str(temp)))
            assert not list(temp.iterdir())
            facts = manifest_of(out)
            assert facts["memory"]["frames_kept"] == storage
            return results(out), facts

        return do

    def test_all_fitted(self, do, small_blocks):
        outputs = {"background", "mask", "errors", "objects", "model"}
        expected, _ = do("memory", outputs=outputs)
        found, facts = do("spill", outputs=outputs)
        assert found == expected
        assert "do not fit into" in facts["memory"]["reason"]
        files = {"background.mp4", "mask.mp4", "errors.csv", "objects.csv"}
        assert set(expected[0]) >= files

    def test_a_sample_is_fitted(self, do, small_blocks):
        chosen = {"fit_frames": 10, "outputs": {"errors", "mask", "model"}}
        expected, whole = do("memory", **chosen)
        assert whole["fit_frames"] == 10
        for storage in ("spill", "sample"):
            found, facts = do(storage, **chosen)
            assert found == expected
            assert (facts["fit_frames"], facts["frames"]["used"]) == (10, SHORT)

    def test_fewer_are_fitted_when_nothing_else_fits(self, do, small_blocks):
        _, facts = do("sample", outputs={"errors"})
        assert 5 <= facts["fit_frames"] < SHORT
        assert facts["frames"]["used"] == SHORT
        assert "are fitted, and the input is decoded again" in facts["memory"]["reason"]

    def test_errors_alone(self, short, options, monkeypatch, small_blocks):
        given = options(outputs={"errors"}, threads=2)
        limit = limit_for("spill", short, given, monkeypatch)
        one, other = (fit_errors(short, replace(given, memory=m)).table for m in (None, limit))
        assert np.array_equal(one.errors, other.errors)
        assert np.array_equal(one.scores, other.scores)


def test_nothing_is_done_when_nothing_fits(clip, tmp_path, options):
    with pytest.raises(MemoryLimitError, match=r"clip\.mp4: needs at least .*; use --memory "):
        run(clip, tmp_path / "out", options(memory="1M"))
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at the files of a process")
def test_the_file_of_frames_has_no_name(short, tmp_path, options, monkeypatch, small_blocks):
    """Thus nothing is left even if the process is killed."""
    given = options(outputs={"errors"}, threads=2)
    limit = limit_for("spill", short, given, monkeypatch)
    temp = tmp_path / "temp"
    temp.mkdir()
    seen = []

    def look(stage, done, total):
        opened = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        seen.append((list(temp.iterdir()), [f for f in opened if f.is_relative_to(temp)]))

    run(short, tmp_path / "out", replace(given, memory=limit, temp=str(temp)), progress=look)
    assert all(names == [] for names, _ in seen)
    assert any("deleted" in file.name for _, files in seen for file in files)


class TestStore:
    def open(self, path, storage, temp=None, **changes):
        plan = plan_of(storage, **changes)
        return FrameStore(open_source(path), plan, seed=3, temp=temp, progress=nothing)

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("most", [2000, 21])
    def test_blocks_are_those_of_the_input(self, storage, most, clip, small_blocks):
        frames = np.stack([frame.data for frame in open_source(clip)])
        with closing(self.open(clip, storage, most_fitted=most)) as store:
            fitted = list(store.fit_blocks())
            everything = [tuple(map(np.copy, block[:3])) for block in store.all_blocks()]
            starts = [start for start, _ in fitted]
            columns = store.fit_columns(None).columns(100, 200)
        expected = frames[store.fit_rows]
        assert (len(store), store.fits_all) == (45, most > 45)
        assert store.fit_rows.size == min(most, 45)
        assert np.array_equal(np.concatenate([rows for _, rows in fitted]), expected)
        assert starts == list(range(0, store.fit_rows.size, 8))
        assert np.array_equal(np.concatenate([rows for rows, _, _ in everything]), frames)
        assert [len(rows) for rows, _, _ in everything] == [4] * 11 + [1]
        numbers = np.concatenate([numbers for _, numbers, _ in everything])
        assert np.array_equal(numbers, store.numbers)
        assert np.array_equal(np.concatenate([t for _, _, t in everything]), store.times)
        assert np.array_equal(columns, expected[:, 100:200])

    @pytest.mark.parametrize("storage", ["memory", "spill"])
    def test_more_frames_than_the_input_said(self, storage, clip):
        with pytest.raises(MemoryLimitError, match="more frames than it announces"):
            self.open(clip, storage, most_frames=44)
        with closing(self.open(clip, storage, most_frames=45)) as store:
            assert len(store) == 45

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize(("fitted", "most"), [(2000, 2000), (25, 25), (25, 15)])
    def test_borrowed_frames_are_fitted_and_are_none_of_the_input(
        self, storage, fitted, most, clip, small_blocks
    ):
        everything = list(open_source(clip))
        places = [Place(frame.number, frame.time_s) for frame in everything]
        borrowed = Borrowed(open_source(clip), places[:9:2], places[31::3])
        store = FrameStore(
            open_source(clip, start=11, end=30),
            plan_of(storage, most_fitted=most),
            seed=3,
            temp=None,
            progress=nothing,
            fitted=fitted,
            borrowed=borrowed,
        )
        with closing(store):
            fitted_rows = np.concatenate([rows.copy() for _, rows in store.fit_blocks()])
            blocks = [(block.rows.copy(), block.numbers) for block in store.all_blocks()]
            columns = store.fit_columns(None).columns(100, 200)
        assert not store.fits_all
        assert len(store) == 20
        numbers = store.fit_numbers.tolist()
        assert numbers == sorted(numbers)
        assert len(numbers) == min(most, 30)
        before, after = set(range(1, 10, 2)), set(range(32, 46, 3))
        if most == fitted:
            assert before | after <= set(numbers)
        assert set(numbers) - before - after <= set(range(11, 31))
        frames = np.stack([frame.data for frame in everything])
        np.testing.assert_array_equal(fitted_rows, frames[store.fit_numbers - 1])
        np.testing.assert_array_equal(columns, fitted_rows[:, 100:200])
        assert store.fit_times.tolist() == [everything[n - 1].time_s for n in numbers]
        np.testing.assert_array_equal(np.concatenate([rows for rows, _ in blocks]), frames[10:30])
        assert np.concatenate([found for _, found in blocks]).tolist() == list(range(11, 31))

    def test_progress_is_told(self, clip):
        told = []
        source = open_source(clip)
        FrameStore(
            source, plan_of("sample"), seed=0, temp=None, progress=lambda *args: told.append(args)
        )
        assert told[0] == ("count", 1, 45)
        assert told[-1] == ("decode", 45, 45)

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_a_spilled_matrix_is_not_resident(self, tmp_path):
        layout = Layout("gray", 600, 800)
        rng = np.random.default_rng(0)
        rows = rng.integers(0, 256, (8, layout.size), dtype=np.uint8)

        class Source:
            name, frames_estimate = "made", 200
            doubtful_frames = ()

            def __init__(self):
                self.layout = layout

            def frames_into(self, room):
                return (Frame(i + 1, i / 25, rows[i % 8], layout) for i in range(200))

        before, seen = resident(), []
        plan = plan_of("spill")
        with closing(FrameStore(Source(), plan, seed=0, temp=tmp_path, progress=nothing)) as store:
            seen.append(resident())
            columns = store.fit_columns(None)
            for start in range(0, layout.size, 60_000):
                columns.columns(start, min(start + 4096, layout.size))
                seen.append(resident())
            for block in store.fit_blocks():
                del block
            seen.append(resident())
            for block in store.all_blocks():
                del block
            seen.append(resident())
        assert max(seen) - before < 40e6 < 200 * layout.size


def resident():
    """Resident memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def test_blocks_as_they_are_decoded(clip, small_blocks):
    found = list(decoded_blocks(open_source(clip)))
    assert [len(block.rows) for block in found] == [4] * 11 + [1]
    assert np.concatenate([block.numbers for block in found]).tolist() == list(range(1, 46))


@pytest.fixture
def frames():
    layout = Layout("bgr", 6, 7)
    data = np.random.default_rng(0).integers(0, 256, (9, layout.size), dtype=np.uint8)
    matrix = FrameMatrix(layout)
    for number, row in enumerate(data, 1):
        matrix.append(Frame(number, number / 25, row, layout))
    return matrix, data[:, : layout.pixels]


def test_luma_of_all_frames(frames):
    matrix, luma = frames
    columns = FitColumns(matrix, None, None)
    assert (columns.shape, columns.dtype) == ((9, 42), np.uint8)
    assert np.array_equal(columns.columns(5, 42), luma[:, 5:42])


def test_inside_a_mask_and_of_a_sample(frames):
    matrix, luma = frames
    rng = np.random.default_rng(1)
    mask, rows = rng.random((6, 7)) < 0.5, np.array([1, 4, 8])
    columns = FitColumns(matrix, rows, mask)
    inside = luma[rows][:, mask.ravel()]
    assert columns.shape == inside.shape
    parts = [
        columns.columns(start, min(start + 4, inside.shape[1]))
        for start in range(0, inside.shape[1], 4)
    ]
    assert np.array_equal(np.hstack(parts), inside)
