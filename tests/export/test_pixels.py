"""Whose pixels are whose."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bgsub.export.formats import label_objects, write_coco, write_labels
from bgsub.tracking.tracker import Observation

from .conftest import FRAMES, HEIGHT, WIDTH, boxes_at, mask_at


def labels_at(frame):
    labels = np.zeros((HEIGHT, WIDTH), np.uint16)
    for track, (x, y, width, height) in boxes_at(frame).items():
        labels[y : y + height, x : x + width] = track
    return labels


def test_each_region_goes_to_its_track(objects):
    for frame in range(1, FRAMES + 1):
        own = [each for each in objects if each.frame == frame]
        np.testing.assert_array_equal(label_objects(mask_at(frame), own), labels_at(frame))


def test_a_shared_region_is_divided():
    mask = np.zeros((20, 40), np.uint8)
    mask[5:15, 5:35] = 255
    pair = [
        Observation(1, 0.0, track, (x, 5, 15, 10), x + 7, 10, 300, 5.0, "", merged=True)
        for track, x in ((3, 5), (4, 20))
    ]
    labels = label_objects(mask, pair)
    assert (labels[mask > 0] > 0).all()
    assert (labels[5:15, 5:19] == 3).all()
    assert (labels[5:15, 21:35] == 4).all()


def test_what_the_mask_did_not_show_yet_is_its_box_and_what_is_hidden_has_no_pixel():
    mask = np.zeros((20, 40), np.uint8)
    mask[5:15, 5:20] = 255
    known = Observation(1, 0.0, 1, (5, 5, 15, 10), 12, 10, 150, 5.0, "")
    early = Observation(1, 0.0, 70_000, (30, 2, 4, 5), 32, 4, 15, 2.0, "")
    hidden = Observation(1, 0.0, 3, (30, 12, 3, 3), 31, 13, 150, 5.0, "", merged=True)
    labels = label_objects(mask, [known, early, hidden])
    assert (labels[2:7, 30:34] == 70_000).all()
    assert np.count_nonzero(labels == 1) == 150
    assert set(np.unique(labels)) == {0, 1, 70_000}


def test_a_region_of_nobody_is_nobodys(objects):
    mask = mask_at(10)
    mask[0:3, 50:60] = 255
    own = [each for each in objects if each.frame == 10]
    np.testing.assert_array_equal(label_objects(mask, own), labels_at(10))


def test_pycocotools_reads_coco(run, tmp_path):
    coco = pytest.importorskip("pycocotools.coco")
    path = tmp_path / "instances.json"
    write_coco(run, path)
    assert [each["id"] for each in json.loads(path.read_text())["categories"]] == [1]
    instances = coco.COCO(str(path))
    assert len(instances.imgs) == FRAMES
    for frame in range(1, FRAMES + 1):
        labels = np.zeros((HEIGHT, WIDTH), np.uint16)
        for each in instances.loadAnns(instances.getAnnIds(imgIds=frame)):
            labels[instances.annToMask(each) > 0] = each["track_id"]
            assert tuple(each["bbox"]) == boxes_at(frame)[each["track_id"]]
        np.testing.assert_array_equal(labels, labels_at(frame))


def test_tifffile_reads_labels(run, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "labels.tif"
    write_labels(run, path)
    stack = tifffile.imread(path)
    assert stack.dtype == np.uint16
    np.testing.assert_array_equal(stack, [labels_at(frame) for frame in range(1, FRAMES + 1)])


def test_labels_of_many_tracks_have_32_bits(run, objects, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    numbered = [replace(seen, track=seen.track + 65_534) for seen in objects]
    object.__setattr__(run, "objects", lambda: numbered)
    write_labels(run, tmp_path / "labels.tif")
    stack = tifffile.imread(tmp_path / "labels.tif")
    assert stack.dtype == np.uint32
    assert set(np.unique(stack)) == {0, 65_535, 65_536}
