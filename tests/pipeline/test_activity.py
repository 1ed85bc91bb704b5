"""Heat map and activity are sums of the masks, whatever the way in which they were made."""

from __future__ import annotations

import csv
import json

import cv2
import numpy as np
import pytest

import bgsub
from bgsub.video.images import read_image
from tests.conftest import make_options, make_scene

OUTPUTS = {"mask", "heatmap", "activity"}


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """A film of 68 seconds, a frame in every second one, with a visitor in the first minute."""
    frames = make_scene(34, visit=16)
    frames[25:] = make_scene(34, visit=34)[25:]
    path = tmp_path_factory.mktemp("film") / "film.npy"
    np.save(path, frames)
    return str(path)


def rows(folder):
    with (folder / "activity.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def regions(tmp_path_factory):
    path = tmp_path_factory.mktemp("regions") / "regions.json"
    path.write_text(json.dumps({"left": [[0, 0], [24, 0], [24, 36], [0, 36]]}))
    return str(path)


@pytest.fixture(scope="module")
def whole(film, regions, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "r"
    bgsub.run(film, out, make_options(outputs=OUTPUTS, format="mkv", fps=0.5, regions=regions))
    return out


def test_the_heat_map_is_the_mean_of_the_masks(whole, video):
    masks = video(whole / "mask.mkv", "gray") > 0
    assert masks.any()
    share = np.load(whole / "heatmap.npy")
    assert share.dtype == np.float32
    np.testing.assert_allclose(share, masks.mean(axis=0), rtol=1e-6)
    picture = read_image(whole / "heatmap.png")
    assert picture.shape[1] >= 480  # legible
    scene, scale = picture[:-44], picture[-44:]
    busy = cv2.resize(share, scene.shape[1::-1], interpolation=cv2.INTER_NEAREST)
    busy, cold = busy > busy.max() / 2, busy == 0
    colours = scene.max(axis=2).astype(int) - scene.min(axis=2)
    assert colours[busy].mean() > 40
    assert colours[cold].mean() < 10
    assert (scale == 255).mean() > 0.3


def test_activity_sums_up_every_minute_and_region(whole, video):
    masks = video(whole / "mask.mkv", "gray") > 0
    found = rows(whole)
    assert [(row["minute"], row["region"]) for row in found] == [
        *(("1", ""), ("1", "left"), ("2", ""), ("2", "left"))
    ]
    assert [row["frames"] for row in found] == ["30", "30", "4", "4"]
    shares = [float(row["foreground"]) for row in found]
    assert shares[0] == pytest.approx(masks[:30].mean(), rel=1e-9)
    assert shares[1] == pytest.approx(masks[:30, :, :25].mean(), rel=1e-9)
    assert shares[2] == pytest.approx(masks[30:].mean(), abs=1e-12)
    assert (found[0]["objects"], found[0]["events"]) == ("1", "1")
    assert (found[2]["objects"], found[2]["events"]) == ("0", "0")
    assert (found[2]["start_s"], found[2]["end_s"]) == ("60", "120")


def test_of_segments_they_are_the_same_sums(save, regions, options, tmp_path, video):
    chosen = options(
        outputs=OUTPUTS, format="mkv", fps=1.5, regions=regions, segment=50, model="paper"
    )
    film = save(make_scene(100, 16, 28, visit=82))
    assert len(bgsub.run(film, tmp_path / "s", chosen).manifest["segments"]) == 2
    masks = video(tmp_path / "s" / "mask.mkv", "gray") > 0
    assert masks[:90].any()
    share = np.load(tmp_path / "s" / "heatmap.npy")
    np.testing.assert_allclose(share, masks.mean(axis=0), rtol=1e-6)
    found = rows(tmp_path / "s")
    assert float(found[0]["foreground"]) == pytest.approx(masks[:90].mean(), rel=1e-9)
    kept = ("minute", "region", "frames", "start_s")
    assert [[row[name] for name in kept] for row in found] == [
        *(["1", "", "90", "0"], ["1", "left", "90", "0"]),
        *(["2", "", "10", "60"], ["2", "left", "10", "60"]),
    ]
    assert sorted(path.name for path in (tmp_path / "s").iterdir() if path.name[0] != ".") == [
        *("activity.csv", "heatmap.npy", "heatmap.png", "mask.mkv", "run.json")
    ]


def test_alone_they_write_nothing_else(film, options, tmp_path):
    bgsub.run(film, tmp_path / "r", options(outputs={"heatmap"}, end=9))
    names = sorted(path.name for path in (tmp_path / "r").iterdir() if path.name[0] != ".")
    assert names == ["heatmap.npy", "heatmap.png", "run.json"]
    bgsub.run(film, tmp_path / "a", options(outputs={"activity"}, end=9))
    assert [row["region"] for row in rows(tmp_path / "a")] == [""]


def test_a_film_without_foreground_has_a_cold_map(options, tmp_path):
    film = np.random.default_rng(1).integers(98, 102, (12, 24, 32, 3), dtype=np.uint8)
    bgsub.run(film, tmp_path / "r", options(outputs=OUTPUTS))
    assert not np.load(tmp_path / "r" / "heatmap.npy").any()


def test_on_a_part_of_the_picture_that_is_made_smaller(film, regions, options, tmp_path, video):
    place = {"roi": (4, 4, 28, 20), "scale": 0.5, "every": 2}
    chosen = options(outputs=OUTPUTS, format="mkv", fps=0.5, regions=regions, **place)
    bgsub.run(film, tmp_path / "r", chosen)
    masks = video(tmp_path / "r" / "mask.mkv", "gray") > 0
    assert np.load(tmp_path / "r" / "heatmap.npy").shape == masks.shape[1:] == (10, 14)
    left = float(rows(tmp_path / "r")[1]["foreground"])
    assert left == pytest.approx(masks[:15, :, :9].mean(), abs=0.02)
