from __future__ import annotations

import csv
import io
import json

import av
import av.filter
import numpy as np
import pytest

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import find_events
from bgsub.outliers.scene_change import SceneChange
from bgsub.report.tables import as_ffmpeg, list_events, summary

CHANGE = SceneChange(9, 0.8)
CHANGED = (
    "1 of 12 frames is an outlier, 1 event (score above 12); "
    "from 9 to the end the scene stays different"
)


def make_table(*outliers: int, n: int = 12, change: SceneChange | None = None) -> ErrorTable:
    """Frames 1, 2, …, of which the given ones are outliers of growing score."""
    scores = np.zeros(n)
    scores[np.array(outliers, dtype=int) - 1] = 20.0 + np.arange(len(outliers))
    return ErrorTable(
        frames=np.arange(1, n + 1),
        times=np.arange(n) / 10,
        errors=np.ones(n),
        pixels=1,
        scores=scores,
        scene_change=change,
    )


def listing(form: str, table: ErrorTable, **options: int) -> str:
    found = find_events(table, **{"merge_gap": 0} | options)  # the frames lie close together
    return list_events(form, found, table, "door.mp4")


def test_table_for_people() -> None:
    assert listing("table", make_table(3, 4, 11)).splitlines() == [
        "event  first  last         start           end  peak  score   flag",
        "    1      3     4  00:00:00.200  00:00:00.300     4   21.0  whole",
        "    2     11    11  00:00:01.000  00:00:01.000    11   22.0  whole",
    ]


def test_no_event() -> None:
    table = make_table()
    assert listing("table", table) == ""
    assert listing("frames", table) == ""
    assert len(listing("csv", table).splitlines()) == 1
    assert json.loads(listing("json", table))["events"] == []


def test_csv() -> None:
    (row,) = csv.DictReader(io.StringIO(listing("csv", make_table(3, 4))))
    assert (row["first_frame"], row["last_frame"], row["frames"]) == ("3", "4", "2")
    assert float(row["end_s"]) == 0.3
    assert (row["peak_frame"], float(row["peak_score"])) == ("4", 21.0)


def test_json() -> None:
    facts = json.loads(listing("json", make_table(3, 4, 10, change=CHANGE)))
    assert facts["input"] == "door.mp4"
    assert (facts["frames"], facts["outliers"], facts["cutoff"]) == (12, 2, 12.0)
    assert facts["scene_change"] == {"first_frame": 9, "first_time_s": 0.8}
    assert [event["peak_frame"] for event in facts["events"]] == [4]


def test_frames_include_what_was_merged() -> None:
    table = make_table(3, 5)
    assert listing("frames", table) == "3\n5\n"
    assert listing("frames", table, merge_gap=1) == "3\n4\n5\n"


@pytest.mark.parametrize("outliers", [(3, 4, 11), (1, 12), ()])
def test_ffmpeg_keeps_just_the_events(outliers) -> None:
    text = as_ffmpeg(
        [(e.first_frame, e.last_frame) for e in find_events(make_table(*outliers), merge_gap=0)]
    ).strip()
    select, _, restamp = text.rpartition(",")
    assert restamp == "setpts=N/FRAME_RATE/TB"
    assert select.startswith("select='")
    graph = av.filter.Graph()
    feed = graph.add_buffer(width=16, height=16, format="gray", time_base="1/10")
    chosen = graph.add("select", select.removeprefix("select=").strip("'"))
    end = graph.add("buffersink")
    feed.link_to(chosen)
    chosen.link_to(end)
    graph.configure()
    kept = []
    for i in range(12):
        frame = av.VideoFrame.from_ndarray(np.zeros((16, 16), np.uint8), format="gray")
        frame.pts = i
        graph.push(frame)
        while True:
            try:
                kept.append(graph.pull().pts + 1)
            except (av.error.BlockingIOError, av.error.EOFError):
                break
    assert kept == list(outliers)


@pytest.mark.parametrize(
    ("table", "options", "text"),
    [
        (make_table(3, 4, 8), {}, "3 of 12 frames are outliers, 2 events (score above 12)"),
        (make_table(8), {}, "1 of 12 frames is an outlier, 1 event (score above 12)"),
        (make_table(), {}, "none of 12 frames is an outlier (score above 12)"),
        (make_table(n=1), {}, "none of 1 frame is an outlier (score above 12)"),
        (
            make_table(8),
            {"min_length": 2},
            "1 of 12 frames is an outlier, but no event is left (score above 12)",
        ),
        (
            make_table(3, 9, 10, 11, 12, change=CHANGE),
            {},
            CHANGED,
        ),
    ],
)
def test_summary(table, options, text) -> None:
    found = find_events(table, merge_gap=0, **options)
    assert summary(found, table, "door.mp4") == f"door.mp4: {text}"
