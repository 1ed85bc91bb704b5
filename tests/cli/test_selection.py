"""The same options select the same events for every command that lists, cuts or shows them."""

import csv
import json
import shutil

import numpy as np
import pytest

from bgsub.pipeline.results import load_manifest
from bgsub.tracking.events import EventCollector, write_events
from bgsub.tracking.tables import ObjectsWriter
from bgsub.tracking.tracker import Observation
from bgsub.video.images import read_image

LEFT = {"left": [[0, 0], [24, 0], [24, 36], [0, 36]]}

SMALL, LARGE = 1, 2


def sightings():
    """A small thing on the left in frames 5 to 20, a large one on the right in 11 to 40."""
    for frame in range(1, 49):
        if 5 <= frame <= 20:
            box = (float(frame / 2), 4.0, 4.0, 5.0)
            yield Observation(frame, frame / 25, SMALL, box, frame / 2 + 2, 6.5, 20, 6.0, "")
        if 11 <= frame <= 40:
            box = (30.0, frame / 2, 12.0, 12.0)
            yield Observation(frame, frame / 25, LARGE, box, 36, frame / 2 + 6, 140, 6.0, "")


@pytest.fixture
def results(made, tmp_path):
    """Results whose objects are known."""
    folder = tmp_path / "results"
    shutil.copytree(made / "results", folder)
    shutil.copy(made / "clip.npy", tmp_path)
    collector, frames = EventCollector(), {}
    with (folder / "objects.csv").open("w") as file:
        writer = ObjectsWriter(file)
        for seen in sightings():
            writer.add(seen)
            frames.setdefault(seen.frame, []).append(seen)
    for objects in frames.values():
        collector.add(objects)
    write_events(collector.finish(), folder)
    (folder / "errors.csv").unlink()
    manifest = load_manifest(folder)
    manifest["input"]["path"] = str(tmp_path / "clip.npy")
    (folder / "run.json").write_text(json.dumps(manifest))
    (tmp_path / "left.json").write_text(json.dumps(LEFT))
    return folder


def spans(text):
    rows = csv.DictReader(text.splitlines())
    return [(int(row["first_frame"]), int(row["last_frame"]), row["tracks"]) for row in rows]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("", [(5, 40, "1 2")]),
        ("--min-area 100", [(11, 40, "2")]),
        ("--max-area 100", [(5, 20, "1")]),
        ("--regions left.json --region left", [(5, 20, "1")]),
        ("--by track", [(5, 20, "1"), (11, 40, "2")]),
        ("--by track --min-length 20", [(11, 40, "2")]),
        ("--by region --regions left.json", [(5, 20, "1")]),
    ],
)
def test_every_command_takes_the_same_events(results, invoke, tmp_path, monkeypatch, given, wanted):
    monkeypatch.chdir(tmp_path)
    options = given.split()
    listed = invoke("events", results, "--format", "csv", *options)
    assert listed.exit_code == 0, listed.stderr
    assert spans(listed.stdout) == wanted
    numbers = [int(track) for *_, tracks in wanted for track in tracks.split()]

    done = invoke("clips", results, "--out", "c", "--merge", "0", "--sheet", "s.png", *options)
    assert done.exit_code == 0, done.stderr
    clips = list(csv.DictReader((tmp_path / "c" / "clips.csv").read_text().splitlines()))
    sheet = read_image(tmp_path / "s.png")
    assert sheet.shape[1] == 480 * min(3, len(wanted))
    assert [n for clip in clips for n in map(int, clip["tracks"].split())] == sorted(numbers)

    done = invoke("export", results, "--to", "csv-seconds", "-o", "cuts.csv", *options)
    assert done.exit_code == 0, done.stderr
    assert len((tmp_path / "cuts.csv").read_text().splitlines()) == len(wanted)
    done = invoke("export", results, "--to", "mot", "-o", "gt.txt", *options)
    assert done.exit_code == 0, done.stderr
    rows = np.loadtxt(tmp_path / "gt.txt", delimiter=",", ndmin=2)
    assert sorted(set(rows[:, 1].astype(int))) == sorted(numbers)

    done = invoke("report", results, "-o", "page.html", "--no-copies", *options)
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert ("this page shows a selection" in page) == bool(options)
    if options:
        assert f": {len(wanted)} event" in page


def test_stays_are_listed_with_their_region(results, invoke, tmp_path):
    regions = tmp_path / "two.json"
    regions.write_text(json.dumps(LEFT | {"right": [[24, 0], [47, 0], [47, 35], [24, 35]]}))
    done = invoke("events", results, "--by", "region", "--regions", regions, "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(row["region"], row["tracks"]) for row in rows] == [("left", "1"), ("right", "2")]
    table = invoke("events", results, "--by", "region", "--regions", regions).stdout
    assert table.splitlines()[0].split()[-1] == "region"
    missing = invoke("events", results, "--by", "region")
    assert (missing.exit_code, "--by region needs --regions" in missing.stderr) == (2, True)
