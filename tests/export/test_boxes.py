"""Boxes in other programs' formats, read as those programs read them."""

import csv
import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from bgsub.errors import UsageError
from bgsub.export.formats import write_cvat, write_megadetector, write_mot, write_via, write_yolo

from .conftest import FRAMES, HEIGHT, WIDTH, boxes_at


def all_boxes():
    return {(f, t): box for f in range(1, FRAMES + 1) for t, box in boxes_at(f).items()}


def test_mot_counts_from_1(run, tmp_path):
    path = tmp_path / "gt.txt"
    write_mot(run, path)
    rows = [list(map(float, row)) for row in csv.reader(path.read_text().splitlines())]
    found = {(int(r[0]), int(r[1])): (r[2] - 1, r[3] - 1, r[4], r[5]) for r in rows}
    assert found == all_boxes()


def test_motmetrics_reads_mot(run, tmp_path):
    motmetrics = pytest.importorskip("motmetrics")
    path = tmp_path / "gt.txt"
    write_mot(run, path)
    table = motmetrics.io.loadtxt(path, fmt="mot16")
    found = {key: tuple(row[["X", "Y", "Width", "Height"]]) for key, row in table.iterrows()}
    assert found == all_boxes()


def test_via_counts_from_0(run, tmp_path):
    path = tmp_path / "tracks.csv"
    write_via(run, path)
    found = {}
    for row in csv.DictReader(path.read_text().splitlines()):
        frame = json.loads(row["file_attributes"])["frame"] + 1
        shape = json.loads(row["region_shape_attributes"])
        track = int(json.loads(row["region_attributes"])["track"])
        found[frame, track] = tuple(shape[name] for name in ("x", "y", "width", "height"))
        assert f".{frame - 1:08d}." in row["filename"]
    assert found == all_boxes()


def test_movement_reads_via(run, tmp_path):
    load_bboxes = pytest.importorskip("movement.io.load_bboxes")
    path = tmp_path / "tracks.csv"
    write_via(run, path)
    dataset = load_bboxes.from_via_tracks_file(path, use_frame_numbers_from_file=True)
    for (frame, track), (x, y, width, height) in all_boxes().items():
        one = dataset.sel(time=frame - 1, individuals=f"id_{track}")
        assert list(one.position.values) == [x + width / 2, y + height / 2]
        assert list(one["shape"].values) == [width, height]


def test_cvat_has_key_frames_alone_and_ends_tracks(run, tmp_path):
    path = tmp_path / "annotations.xml"
    write_cvat(run, path)
    root = ET.parse(path).getroot()
    assert root.findtext("version") == "1.1"
    assert root.findtext("meta/task/name") == "a film.mp4"
    found, ends = {}, {}
    for track in root.iter("track"):
        number = int(track.get("id"))
        for box in track.iter("box"):
            assert box.get("keyframe") == "1"
            frame = int(box.get("frame")) + 1
            left, top, right, bottom = (float(box.get(n)) for n in ("xtl", "ytl", "xbr", "ybr"))
            if box.get("outside") == "1":
                ends.setdefault(number, []).append(frame)
            else:
                found[frame, number] = (left, top, right - left, bottom - top)
    assert found == all_boxes()
    assert ends == {1: [21], 2: [12, 26]}


def test_cvat_interpolates_over_frames_that_the_run_left_out(run, tmp_path):
    path = tmp_path / "annotations.xml"
    kept = [seen for seen in run.objects() if seen.frame % 3 == 1]
    some = replace(run, looked_at=range(1, FRAMES + 1, 3), frames=0)
    object.__setattr__(some, "objects", lambda: kept)
    write_cvat(some, path)
    root = ET.parse(path).getroot()
    assert root.findtext("meta/task/size") == "28"
    (one, two) = [
        [(int(box.get("frame")) + 1, box.get("outside")) for box in track.iter("box")]
        for track in root.iter("track")
    ]
    assert one == [*((frame, "0") for frame in (7, 10, 13, 16, 19)), (22, "1")]
    assert two == [(10, "0"), (13, "1"), *((n, "0") for n in (16, 19, 22, 25)), (28, "1")]


def test_boxes_of_images_go_by_the_names_of_their_files(run_on_images, tmp_path):
    write_yolo(run_on_images, tmp_path / "yolo")
    files = sorted((tmp_path / "yolo" / "labels").iterdir())
    assert {"DSC94.txt", "DSC114.txt"} <= {file.name for file in files}
    write_via(run_on_images, tmp_path / "via.csv")
    rows = list(csv.DictReader((tmp_path / "via.csv").read_text().splitlines()))
    assert rows[0]["filename"] == "DSC94.jpg"
    assert json.loads(rows[0]["file_attributes"]) == {"frame": 4}
    write_megadetector(run_on_images, tmp_path / "md.json")  # images need no rate
    images = json.loads((tmp_path / "md.json").read_text())["images"]
    assert len(images) == FRAMES
    assert images[0] == {"file": "DSC90.jpg", "detections": []}
    (found,) = images[4]["detections"]
    x, y, width, height = boxes_at(5)[1]
    assert found["bbox"] == pytest.approx(
        [x / WIDTH, y / HEIGHT, width / WIDTH, height / HEIGHT], abs=1e-5
    )
    assert "frame_number" not in found


def test_yolo_gives_shares_of_the_picture(run, tmp_path):
    folder = tmp_path / "yolo"
    write_yolo(run, folder)
    files = sorted((folder / "labels").iterdir())
    assert files[0].name == "a film_000005.txt"
    assert len(files) == 21
    found = []
    for file in files:
        for line in file.read_text().splitlines():
            label, x, y, width, height = map(float, line.split())
            assert label == 0
            box = np.array([x - width / 2, y - height / 2, width, height])
            found.append(box * [WIDTH, HEIGHT, WIDTH, HEIGHT])
    np.testing.assert_allclose(found, list(all_boxes().values()), atol=1e-3)


def test_megadetector_counts_from_0(run, tmp_path):
    path = tmp_path / "md.json"
    write_megadetector(run, path)
    results = json.loads(path.read_text())
    assert results["info"]["format_version"] == "1.6"
    assert "0" not in results["detection_categories"]
    (film,) = results["images"]
    assert film["file"] == "a film.mp4"
    assert film["frame_rate"] == 25
    assert film["frames_processed"] == list(range(FRAMES))
    found = {}
    for each in film["detections"]:
        assert each["category"] in results["detection_categories"]
        assert 0 <= each["conf"] <= 1
        found[each["frame_number"] + 1, each["track"]] = each["bbox"]
    expected = {
        key: [x / WIDTH, y / HEIGHT, width / WIDTH, height / HEIGHT]
        for key, (x, y, width, height) in all_boxes().items()
    }
    assert found.keys() == expected.keys()
    for key, box in expected.items():
        assert found[key] == pytest.approx(box, abs=1e-5)


def test_megadetector_needs_a_rate(run, tmp_path):
    with pytest.raises(UsageError, match="its frame rate is not known, and megadetector cannot"):
        write_megadetector(replace(run, rate=None), tmp_path / "md.json")
