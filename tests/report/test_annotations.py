"""What stands on the plot of errors beside its lines."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import Event
from bgsub.outliers.scene_change import SceneChange
from bgsub.report.plots import add_title, draw_borders, draw_events, draw_scene_change


@pytest.fixture
def axes():
    figure = Figure(figsize=(12, 5))
    FigureCanvasAgg(figure)
    drawn = figure.add_subplot()
    drawn.set_xlim(0.5, 1000.5)
    drawn.set_ylim(0, 10)
    return drawn


def event(number, first, last, score=20.0):
    times = (first - 1) / 25, (last - 1) / 25
    return Event(
        number=number,
        first_frame=first,
        last_frame=last,
        start_s=times[0],
        end_s=times[1],
        peak_frame=first,
        peak_time_s=times[0],
        peak_score=score,
        n_frames=last - first + 1,
    )


def words_on(axes):
    return [text.get_text() for text in axes.texts]


def table(rmse, first):
    n = len(rmse)
    return ErrorTable(
        frames=np.arange(1, n + 1),
        times=np.arange(n) / 25,
        errors=100 * np.square(rmse),
        pixels=100,
        scores=np.zeros(n),
        scene_change=SceneChange(first, first / 25),
    )


def test_where_numbers_would_overlap_the_higher_event_keeps_its_own(axes):
    draw_events(axes, [event(1, 100, 104), event(2, 106, 110, score=50.0), event(3, 700, 720)])
    assert sorted(words_on(axes)) == ["2", "3"]
    assert len(axes.patches) == 3
    assert [patch.get_label() for patch in axes.patches].count("event (numbered)") == 1


def test_numbers_at_the_ends_stay_inside(axes):
    draw_events(axes, [event(1, 1, 1), event(2, 1000, 1000)])
    assert all(0 < text.get_position()[0] < 1 for text in axes.texts)


@pytest.mark.parametrize("level", [1.0, 3.0, 5.0, 9.5])
def test_words_about_a_change_hide_as_few_frames_as_they_can(axes, level):
    shown = table(np.full(1000, level), first=200)
    draw_scene_change(axes, shown)
    (text,) = axes.texts
    assert text.get_text().startswith("from 200 to the end")
    low, high = axes.get_ylim()
    hidden = abs(text.get_position()[1] - (level - low) / (high - low)) < 0.08
    assert not hidden


def test_a_change_near_the_end_keeps_its_words_on_the_plot(axes):
    draw_scene_change(axes, table(np.ones(1000), first=990))
    assert axes.texts[0].get_position()[0] < 0.95


def test_reasons_of_borders_are_left_out_where_there_is_no_room(axes):
    other = axes.figure.add_subplot()
    other.set_xlim(axes.get_xlim())
    draw_borders([axes, other], {100: "it became darker", 105: "a change", 500: "", 700: "a knock"})
    assert words_on(axes) == ["it became darker", "a knock"]
    assert words_on(other) == []
    assert len(axes.lines) == len(other.lines) == 4
    assert [line.get_label() for line in axes.lines].count("segment begins") == 1


@pytest.mark.parametrize(("many", "height"), [(40, 1.0), (60, 0.04)])
def test_of_many_borders_those_without_a_reason_are_ticks(axes, many, height):
    borders = {10 * number: "" for number in range(1, many)} | {10 * many: "a knock"}
    draw_borders([axes], borders)
    heights = [line.get_ydata()[1] for line in axes.lines]
    assert heights == [height] * (many - 1) + [1.0]
    assert words_on(axes) == ["a knock"]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((300, 0, 0), "none of 300 frames is an outlier"),
        ((300, 1, 1), "1 of 300 frames is an outlier, 1 event"),
        ((300, 9, 2), "9 of 300 frames are outliers, 2 events"),
    ],
)
def test_a_title_counts(axes, counts, words):
    add_title(axes, "door.mp4", *counts)
    assert axes.get_title(loc="left") == f"door.mp4: {words}"


def test_a_long_title_keeps_its_ends_and_unknown_letters_are_boxes(axes):
    add_title(axes, "a" * 80 + "the_end_of.mp4", 10, 0, 0)
    title = axes.get_title(loc="left").split(":")[0]
    assert title.startswith("aaa")
    assert title.endswith("the_end_of.mp4")
    assert len(title) == 60
    add_title(axes, "北.mp4", 10, 0, 0)
    assert axes.get_title(loc="left").startswith("\N{WHITE SQUARE}.mp4")
