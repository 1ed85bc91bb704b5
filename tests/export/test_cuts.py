"""Events as cuts."""

import csv
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from bgsub.errors import UsageError
from bgsub.export.formats import write_edl, write_ffconcat, write_lossless_cut, write_seconds
from bgsub.tracking.events import write_events


def test_seconds_reach_to_the_end_of_the_last_frame(run, tmp_path):
    path = tmp_path / "cuts.csv"
    write_seconds(run, path)
    (row,) = csv.reader(path.read_text().splitlines())
    assert (float(row[0]), float(row[1]), row[2]) == (0.16, 1.0, "event 1")


def test_opentimelineio_reads_the_edl(run, tmp_path):
    otio = pytest.importorskip("opentimelineio")
    path = tmp_path / "cuts.edl"
    write_edl(run, path)
    timeline = otio.adapters.read_from_string(path.read_text(), "cmx_3600", rate=25)
    (clip,) = timeline.find_clips()
    assert clip.source_range.start_time.to_frames() == 4
    assert clip.source_range.duration.to_frames() == 21


def test_an_edl_without_events_has_its_title_alone(run, tmp_path):
    otio = pytest.importorskip("opentimelineio")
    path = tmp_path / "cuts.edl"
    write_events([], run.folder)
    write_edl(run, path)
    assert path.read_text() == f"TITLE: {Path(run.name).stem}\n"
    timeline = otio.adapters.read_from_string(path.read_text(), "cmx_3600", rate=25)
    assert list(timeline.find_clips()) == []


@pytest.mark.parametrize("rate", [None, Fraction(7)])
def test_an_edl_needs_a_rate_of_time_codes(run, rate, tmp_path):
    pytest.importorskip("opentimelineio")
    with pytest.raises(UsageError, match="choose csv-seconds or ffconcat"):
        write_edl(replace(run, rate=rate), tmp_path / "cuts.edl")


def test_ffmpeg_reads_the_list(run, tmp_path):
    film = tmp_path / "it's a film.mkv"
    with av.open(str(film), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(30):
            picture = np.full((72, 64), 8 * number, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="yuv420p")))
        container.mux(stream.encode())
    path = tmp_path / "cuts.ffconcat"
    write_ffconcat(replace(run, path=str(film)), path)
    with av.open(str(path), format="concat", options={"safe": "0"}) as container:
        # The frames before an in point have a time below 0 and are not shown.
        shown = [frame for frame in container.decode(video=0) if frame.time >= 0]
        levels = [int(frame.to_ndarray()[0, 0]) // 8 + 1 for frame in shown]
    assert levels == list(range(5, 26))


def test_a_project_of_lossless_cut(run, tmp_path):
    path = tmp_path / "a film-proj.llc"
    write_lossless_cut(run, path)
    project = json.loads(path.read_text(encoding="utf-8"))
    assert (project["version"], project["mediaFileName"]) == (1, "a film.mp4")
    assert project["cutSegments"] == [{"start": 0.16, "end": 1.0, "name": "event 1"}]
