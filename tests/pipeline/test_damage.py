"""What a run says of damaged frames, and that it does not fit them."""

import csv

import numpy as np
import pytest

from bgsub.pipeline.run import fit_errors, run
from tests.video.damaged_films import film, packet_places


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A film whose 45th packet is spoiled, of the 49 that come before the next key frame."""
    data = bytearray(film("mpeg4", "avi", 60, g="50", sc_threshold="1000000000"))
    position, size = packet_places(bytes(data))[44]
    data[position + size // 4 : position + size // 2] = b"\xaa" * (size // 2 - size // 4)
    path = tmp_path_factory.mktemp("damaged") / "film.avi"
    path.write_bytes(bytes(data))
    return str(path)


def test_doubtful_frames_are_flagged_and_not_fitted(damaged, tmp_path, options, manifest_of):
    result = run(damaged, tmp_path / "out", options(outputs={"errors", "model"}, model="paper"))
    with (tmp_path / "out" / "errors.csv").open() as file:
        rows = list(csv.DictReader(file))
    numbers = [int(row["frame"]) for row in rows]
    assert numbers == [number for number in range(1, 61) if number != 45]
    assert [float(row["time_s"]) for row in rows] == [round((n - 1) / 25, 9) for n in numbers]
    doubtful = [int(row["frame"]) for row in rows if row["doubtful"] == "1"]
    assert doubtful == [46, 47, 48, 49, 50]
    manifest = manifest_of(tmp_path / "out")
    assert manifest["doubtful_frames"] == [[46, 50]]
    assert manifest["frames"]["doubtful"] == 5
    assert [bad["frame"] for bad in manifest["bad_frames"]] == [45]
    assert manifest["fit_frames"] == 54
    said = "5 frames may be wrong, next to damage or depending on it: 46-50"
    assert f"{said} (left out of the fit)" in result.findings
    with np.load(tmp_path / "out" / "model.npz") as model:
        assert not set(doubtful).intersection(model["frame_numbers"].tolist())


def test_errors_without_results_say_the_same(damaged, options):
    found = fit_errors(damaged, options())
    assert np.flatnonzero(found.table.doubts).size == 5
    assert any("5 frames may be wrong" in note for note in found.notes)


def test_where_most_frames_are_doubtful_they_are_fitted(tmp_path, options, manifest_of):
    data = bytearray(film("mpeg4", "avi", 40, g="500", sc_threshold="1000000000"))
    position, size = packet_places(bytes(data))[5]
    data[position + size // 4 : position + size // 2] = b"\xaa" * (size // 2 - size // 4)
    path = tmp_path / "film.avi"
    path.write_bytes(bytes(data))
    result = run(str(path), tmp_path / "out", options(outputs={"errors"}))
    assert manifest_of(tmp_path / "out")["fit_frames"] == 39
    assert any("part of the fit" in text for text in result.findings)
