"""Objects of a run: tables, drawings, and what the run says of them."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from bgsub.errors import InputError, UsageError
from bgsub.pipeline.run import apply, run
from bgsub.tracking.tables import read_objects, read_tracks
from tests.conftest import make_options, make_scene

TABLES = {"objects", "tracks", "events"}


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "clip.npy"
    np.save(path, make_scene(40, 36, 48, visit=20))
    return str(path)


@pytest.fixture(scope="module")
def watched(clip):
    """Results beside errors, with a region, a model and drawings, and the options."""
    folder = Path(clip).parent
    corners = [[0, 0], [48, 0], [48, 36], [0, 36]]
    (folder / "regions.json").write_text(json.dumps({"all": corners}))
    chosen = {"regions": str(folder / "regions.json"), "outputs": TABLES}
    outputs = {"errors", "model", "overlay", *TABLES}
    run(clip, folder / "r", make_options(**chosen | {"outputs": outputs}))
    return folder / "r", make_options(**chosen)


def test_the_visitor_is_one_object_with_one_track(clip, tmp_path, options):
    result = run(clip, tmp_path / "r", options(outputs=TABLES))
    assert "objective" not in result.manifest  # tables alone need no fit
    assert result.manifest["frames"]["used"] == 40
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == [
        *("events.csv", "events.json", "objects.csv", "run.json", "tracks.csv")
    ]
    assert result.manifest["objects"]["tracks"] == 1
    (track,) = read_tracks(tmp_path / "r" / "tracks.csv")
    assert (track.first_frame, track.last_frame, track.frames) == (21, 40, 20)
    seen = list(read_objects(tmp_path / "r" / "objects.csv"))
    for each in seen:
        index = each.frame - 1
        expected = (8 + index % 7, 8 + index % 5, 7, 7)
        assert np.abs(np.subtract(each.box, expected)).max() <= 2
        assert 0.5 < each.score <= 1
    (event,) = json.loads((tmp_path / "r" / "events.json").read_text())["events"]
    assert (event["kind"], event["first_frame"], event["tracks"]) == ("object", 21, [1])


def test_beside_errors_the_event_is_both(watched):
    (row,) = csv.DictReader((watched[0] / "events.csv").read_text().splitlines())
    assert (row["kind"], row["first_frame"], row["last_frame"]) == ("both", "21", "40")


def test_the_paper_model_has_signs_too(clip, tmp_path, options):
    run(clip, tmp_path / "r", options(outputs=TABLES, model="paper"))
    signs = {each.sign for each in read_objects(tmp_path / "r" / "objects.csv")}
    assert signs == {"brighter"}


def test_places_are_those_of_the_input(clip, tmp_path, options):
    part = options(outputs=TABLES, roi=(4, 4, 32, 24), scale=2.0)
    run(clip, tmp_path / "r", part)
    whole = {}
    for each in read_objects(tmp_path / "r" / "objects.csv"):
        whole[each.frame] = each.box
    for frame, box in whole.items():
        index = frame - 1
        assert np.abs(np.subtract(box, (8 + index % 7, 8 + index % 5, 7, 7))).max() <= 4


def test_a_saved_model_gives_the_same_objects(clip, watched, tmp_path):
    out, chosen = watched
    apply(out / "model.npz", clip, tmp_path / "a", chosen)
    assert (tmp_path / "a" / "objects.csv").read_text() == (out / "objects.csv").read_text()


def test_regions_are_read_before_any_work(clip, tmp_path, options):
    regions = tmp_path / "regions.json"
    regions.write_text("{}")
    with pytest.raises(InputError, match=r"regions\.json"):
        run(clip, tmp_path / "r", options(outputs=TABLES, regions=str(regions)))
    assert not (tmp_path / "r").exists()
    regions.write_text(json.dumps({"share": [[0, 0], [0.5, 0], [0.5, 0.5]]}))
    with pytest.raises(UsageError, match="region 'share' is smaller than a pixel"):
        run(clip, tmp_path / "r", options(outputs=TABLES, regions=str(regions)))
    assert not (tmp_path / "r").exists()


def test_entries_into_a_region_are_counted(watched):
    (row,) = csv.DictReader((watched[0] / "regions.csv").read_text().splitlines())
    assert (row["region"], row["entries"], row["tracks"]) == ("all", "1", "1")


def test_nothing_there_gives_headers_and_a_word(scene, save, tmp_path, options):
    empty = save(scene(16, visit=16), "empty.npy")
    result = run(empty, tmp_path / "r", options(outputs=TABLES))
    assert "no object was found" in result.findings
    assert len((tmp_path / "r" / "objects.csv").read_text().splitlines()) == 1


def test_the_overlay_shows_a_box_where_the_visitor_is(watched, video):
    shown = video(watched[0] / "overlay.mp4")
    assert len(shown) == 40
    factor = shown.shape[2] // 48
    assert factor == 10
    before, after = shown[5].astype(int), shown[25].astype(int)
    x, y = (8 + 25 % 7) * factor, (8 + 25 % 5) * factor
    rim = np.s_[y + 10 : y + 60, x - 4 : x + 4]
    assert np.abs(after[rim] - before[rim]).max() > 80


@pytest.fixture
def exposures():
    """A film whose camera opens and closes its iris, more in the lower half; someone walks by."""
    rng = np.random.default_rng(3)
    height, width, count = 60, 80, 90
    y, x = np.mgrid[:height, :width]
    ground = 105 + 18 * np.sin(x / 6) + 12 * np.cos(y / 5) + rng.normal(0, 6, (height, width))
    person = rng.choice([25.0, 60.0, 210.0], (20, 5)).repeat(2, 1)
    frames, boxes = [], {}
    for i in range(count):
        frame = ground.copy()
        if 50 <= i < 80:
            left = 4 + 2 * (i - 50)
            frame[25:45, left : left + 10] = person
            boxes[i + 1] = (left, 25, 10, 20)
        gain = 1 + 0.25 * np.sin(i / 9)
        frame *= gain * (1 + 0.1 * np.sin(i / 9) * y / height)
        frames.append(np.clip(frame + rng.normal(0, 2, frame.shape), 0, 255))
    return np.repeat(np.array(frames)[..., None], 3, axis=3).astype(np.uint8), boxes


def test_an_exposure_is_no_object_and_a_person_in_it_is_one(exposures, save, tmp_path, options):
    frames, boxes = exposures
    frames, boxes = frames[::3], {(n + 2) // 3: box for n, box in boxes.items() if n % 3 == 1}
    run(save(frames), tmp_path / "r", options(outputs=TABLES))
    seen = list(read_objects(tmp_path / "r" / "objects.csv"))
    assert {each.frame for each in seen} <= set(boxes)
    near = {
        each.frame for each in seen if np.abs(np.subtract(each.box, boxes[each.frame])).max() <= 4
    }
    assert len(near) >= 0.9 * len(boxes)
    (event,) = json.loads((tmp_path / "r" / "events.json").read_text())["events"]
    assert abs(event["first_frame"] - 18) <= 1
    assert abs(event["last_frame"] - 27) <= 1
