"""What parts have made is joined, and what is missing is named with the part that makes it."""

import shutil

import numpy as np
import pytest

from bgsub.cluster.parts import LIST, PartsList, Unit, join
from bgsub.errors import BatchError, InputError
from bgsub.pipeline.run import run
from bgsub.segments import run as segmented
from bgsub.segments.plan import FOLDER, segment_folder
from bgsub.segments.run import common_plan, run_segment
from tests.conftest import make_options, make_scene

OPTIONS = {"outputs": {"mask", "errors"}, "format": "mkv", "model": "paper"}


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.npy"
    np.save(path, make_scene(150, 16, 24, visit=90))
    return str(path)


@pytest.fixture(scope="module")
def parts(film, tmp_path_factory):
    """A film of which all segments are done."""
    out = tmp_path_factory.mktemp("parts") / "out"
    plan = common_plan(film, out, make_options(segment=50, **OPTIONS))
    PartsList((Unit(film, "."),), 2).save(out)
    for segment in plan.segments:
        run_segment(out, segment.number)
    return out


@pytest.fixture
def done(parts, tmp_path):
    return shutil.copytree(parts, tmp_path / "out")


def test_segments_of_parts_are_those_of_one_call(done, film, tmp_path):
    assert join(done) == "3 segments are joined"
    segmented.run(film, tmp_path / "whole", make_options(segment=50, **OPTIONS))
    names = {path.name for path in (tmp_path / "whole").iterdir()}
    assert {path.name for path in done.iterdir()} == names
    for name in ("mask.mkv", "errors.csv"):
        assert (done / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert join(done) == ""


def test_missing_segments_are_named_with_their_parts(done):
    shutil.rmtree(segment_folder(done, 2))
    with pytest.raises(BatchError, match=r"1 of 3 segments .* missing \(2\); .* --part 2/2$"):
        join(done)
    shutil.rmtree(segment_folder(done, 3))
    with pytest.raises(BatchError, match=r"2 of 3 .* missing \(2, 3\); .* --part 1/2, 2/2$"):
        join(done)
    (done / LIST).unlink()
    with pytest.raises(BatchError, match="with the same `bgsub run` and --resume"):
        join(done)
    assert not (done / "run.json").exists()


def test_a_damaged_segment_is_not_joined(done):
    table = segment_folder(done, 2) / "errors.csv"
    table.write_bytes(table.read_bytes()[:-9])
    with pytest.raises(BatchError, match=r"errors\.csv: is not what .* make segment 2 again"):
        join(done)
    assert (done / FOLDER).exists()


@pytest.fixture
def batch(tmp_path, film):
    out = tmp_path / "batch"
    units = (Unit(film, "film"), Unit("b.npy", "b"), Unit("c.npy", "c"))
    PartsList(units, 2).save(out)
    run(film, out / "film", make_options(**OPTIONS, end=24))
    return out


def test_a_batch_is_complete_when_all_its_results_are_whole(batch, film):
    with pytest.raises(
        BatchError, match=r"2 of 3 inputs are missing \(b\.npy, c\.npy\); .* 1/2, 2/2"
    ):
        join(batch)
    for name in ("b", "c"):
        shutil.copytree(batch / "film", batch / name)
    (batch / "c" / "mask.mkv").unlink()
    with pytest.raises(BatchError, match=r"1 damaged \(.*mask\.mkv: is missing; .* --part 1/2$"):
        join(batch)
    shutil.copy(batch / "b" / "mask.mkv", batch / "c")
    seen = []
    told = join(batch, progress=lambda *now: seen.append(now))
    assert told == "the results of 3 inputs are complete"
    assert seen[-1] == (3, 3)
    assert not (batch / LIST).exists()


def test_nothing_to_join(tmp_path):
    for place, message in ((tmp_path, "holds nothing to join"), (tmp_path / "none", "no such")):
        with pytest.raises(InputError, match=message):
            join(place)
    PartsList((Unit("a b.npy", "."),), 4).save(tmp_path)
    with pytest.raises(BatchError, match=r"run `bgsub run 'a b\.npy' --part 1/4 …` again"):
        join(tmp_path)
