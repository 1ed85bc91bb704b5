import csv
import io
import json

import av
import av.filter
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import find_events
from bgsub.outliers.scene_change import SceneChange
from bgsub.report.tables import list_events, list_rows, list_sightings, summary, values_text
from bgsub.tracking.events import SceneEvent

COLUMNS = ("method", "k", "seconds", "converged", "reason")
ROWS = [
    {"method": "trpca", "k": 1, "seconds": 0.0123456, "converged": True, "reason": ""},
    {"method": "a_b", "k": 10, "seconds": None, "converged": None, "reason": "50 % & λ | {x}"},
]

FORMATS = ("table", "csv", "json", "markdown", "latex")


def test_a_table_aligns_numbers_to_the_right():
    lines = list_rows("table", COLUMNS, ROWS).splitlines()
    assert lines[0] == "method   k  seconds  converged  reason"
    assert lines[1] == "trpca    1  0.01235        yes"
    assert lines[2] == "a_b     10                      50 % & λ | {x}"


def test_columns_without_any_value_are_left_out_of_the_table_alone():
    rows = [{"a": 1, "b": None, "c": ""}, {"a": 2, "b": None, "c": ""}]
    assert list_rows("table", ("a", "b", "c"), rows) == "a\n1\n2\n"
    assert list_rows("csv", ("a", "b", "c"), rows) == "a,b,c\n1,,\n2,,\n"


def test_csv_is_read_back():
    read = list(csv.DictReader(io.StringIO(list_rows("csv", COLUMNS, ROWS))))
    assert read[0] == {
        "method": "trpca", "k": "1", "seconds": "0.0123456", "converged": "1", "reason": ""
    }  # fmt: skip
    assert read[1]["reason"] == ROWS[1]["reason"]


def test_json_holds_facts_and_exact_values():
    read = json.loads(list_rows("json", COLUMNS, ROWS, schema_version=1))
    assert read == {"schema_version": 1, "rows": ROWS}


def test_markdown_escapes_bars():
    lines = list_rows("markdown", COLUMNS, ROWS).splitlines()
    assert lines[1] == "| --- | ---: | ---: | ---: | --- |"
    assert r"50 % & λ \| {x}" in lines[3]


def test_latex_escapes_what_latex_would_take_for_its_own():
    text = list_rows("latex", COLUMNS, ROWS)
    assert text.startswith("\\begin{tabular}{lrrrl}\n\\toprule\n")
    assert r"a\_b & 10 &  &  & 50 \% \& $\lambda$ | \{x\} \\" in text
    assert text.endswith("\\bottomrule\n\\end{tabular}\n")


def test_long_words_take_several_lines():
    rows = [{"name": "a", "text": "one two three --long-option four five"}]
    text = values_text(("name", "text"), rows, width=24)
    assert max(map(len, text.splitlines())) <= 24
    assert "--long-option" in text
    assert values_text(("name", "text"), rows, width=200) == values_text(("name", "text"), rows)


@pytest.mark.parametrize("form", FORMATS)
def test_no_row_is_no_error(form):
    assert list_rows(form, ("a", "b"), [])


@settings(max_examples=25)
@given(st.lists(st.text(max_size=8), min_size=1, max_size=4), st.sampled_from(FORMATS))
def test_any_text_can_be_listed(cells, form):
    rows = [{"a": cell, "b": 1} for cell in cells]
    assert list_rows(form, ("a", "b"), rows)


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
    text = listing("ffmpeg", make_table(*outliers)).strip()
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
        (make_table(3, 9, 10, 11, 12, change=CHANGE), {}, CHANGED),
    ],
)
def test_summary(table, options, text) -> None:
    found = find_events(table, merge_gap=0, **options)
    assert summary(found, table, "door.mp4") == f"door.mp4: {text}"


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "1"),
        (8, "1 2 3 4 5 6 7 8"),
        (9, "1 2 3 4 5 6 7 8 and 1 more"),
        (107, "1 2 3 4 5 6 7 8 and 99 more"),
    ],
)
def test_of_many_tracks_the_first_are_named(count, said):
    tracks = tuple(range(1, count + 1))
    event = SceneEvent(1, "object", 1, 220, 0.0, 8.8, 183, 7.3, 27070.0, tracks)
    header, row = list_sightings("table", [event], "a").splitlines()
    assert row[header.index("tracks") :] == said


def test_no_event_is_no_table():
    assert list_sightings("table", [], "a") == ""
