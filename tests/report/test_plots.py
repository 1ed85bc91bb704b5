import re
from dataclasses import replace

import cv2
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import Event, find_events
from bgsub.outliers.scene_change import SceneChange
from bgsub.report.plots import Film, draw_errors, render_errors, render_spectrum
from bgsub.robustpca.rank import RankChoice, choose_rank

painted = pytest.mark.figures(layout=False)


def make_table(n: int, spans=(), *, height: float = 20.0, first: int | None = None) -> ErrorTable:
    """Noise of about 1.2 grey levels, and spans of frames with about `height`."""
    rng = np.random.default_rng(0)
    rmse = 1.2 + 0.02 * rng.standard_normal(n)
    for start, stop in spans:
        rmse[start:stop] = height * rng.uniform(0.8, 1.0, stop - start)
    return ErrorTable(
        frames=np.arange(1, n + 1),
        times=np.arange(n) / 25,
        errors=1000 * rmse**2,
        pixels=1000,
        scores=(rmse - 1.2) / 0.06,
        scene_change=None if first is None else SceneChange(first, first / 25),
    )


def svg(table: ErrorTable, title: str = "door.mp4") -> str:
    return render_errors(table, find_events(table), title=title, plot_format="svg").decode()


def picture(table: ErrorTable, title: str = "door.mp4") -> np.ndarray:
    data = render_errors(table, find_events(table), title=title)
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def has_color(image: np.ndarray, red: int, green: int, blue: int) -> bool:
    return bool((np.abs(image.astype(int) - (blue, green, red)).max(axis=2) <= 8).any())


@painted
@pytest.mark.parametrize(
    ("table", "title"),
    [
        (make_table(1), "$x_1$ and $<&>.mp4"),
        (make_table(2, [(1, 2)]), "北京\n" + "a" * 300),
        (make_table(40, [(0, 40)]), ""),
        (make_table(5000, [(3000, 3400), (4000, 4001)]), "door.mp4"),
        (make_table(300, [(100, 300)], first=180), "door.mp4"),
        (ErrorTable(np.arange(1, 9), np.zeros(8), np.zeros(8), 10, np.zeros(8)), "door.mp4"),
    ],
    ids=["one", "one of two", "all", "many", "change", "constant"],
)
def test_every_kind_of_table_can_be_drawn_under_any_title(table: ErrorTable, title: str) -> None:
    image = picture(table, title)
    assert image.shape == (500, 1200, 3)
    # The line of the errors, in blue.
    assert has_color(image, 0x00, 0x72, 0xB2) or table.outliers.all()
    # Outliers are marked in vermillion.
    assert has_color(image, 0xD5, 0x5E, 0x00) == bool(table.outliers.any())


def test_words_in_the_plot() -> None:
    text = svg(make_table(300, [(40, 60), (100, 300)], first=180))
    for words in (
        "door.mp4: 99 of 300 frames are outliers, 2 events",
        "RMS error per pixel",
        "(grey levels)",
        "cut-off 12",
        "event (numbered)",
        "outlier frame",
        "from 180 to the end",
        "the scene stays different",
        ">frame<",
        ">time<",
    ):
        assert words in text
    assert "segment begins" not in text


@pytest.mark.figures
def test_the_label_of_a_panel_does_not_reach_into_the_other() -> None:
    table = make_table(300, [(100, 300)])
    beside = picture(replace(table, local=table.scores))[:, :38]
    words = (beside.min(axis=(1, 2)) < 128).nonzero()[0]
    gaps = np.diff(words)
    # The letters of either label are together, the two are not.
    assert np.sort(gaps)[-1] > 40
    assert np.sort(gaps)[-2] < 15


def test_words_without_outliers_and_times() -> None:
    text = svg(replace(make_table(300), times=np.full(300, 3.0)))
    assert ">time<" not in text
    assert "none of 300 frames is an outlier" in text
    assert "cut-off 12" in text
    assert "event" not in text
    assert "stays different" not in text


def test_numbers_of_crowded_events_do_not_overlap() -> None:
    table = make_table(3000, [(30 * i, 30 * i + 3) for i in range(100)])
    found = re.findall(r'<text style="([^"]*)"[^>]*>(\d+)</text>', svg(table))
    numbers = [int(text) for style, text in found if "700" in style]
    assert len(set(numbers)) == len(numbers)
    assert 20 < len(numbers) < 70
    # The highest of all keeps its number.
    assert max(find_events(table), key=lambda event: event.peak_score).number in numbers


def test_same_table_same_bytes_whatever_the_style_of_the_user() -> None:
    table = make_table(20, [(10, 14)])
    plain = svg(table)
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 30, "figure.dpi": 20}):
        assert svg(table) == plain
        assert mpl.rcParams["font.size"] == 30


def test_times_lie_where_the_timestamps_say() -> None:
    # A second of ten frames, then one frame a second.
    times = np.array([*np.arange(10) / 10, *range(1, 10)])
    text = svg(replace(make_table(19), times=times))
    assert re.findall(r">(0:\d\d)<", text)[:3] == ["0:00", "0:01", "0:02"]


@pytest.mark.parametrize(
    ("n", "step", "label"), [(1300, 0.1, "1:45"), (900, 20.0, "4:00:00"), (5, 0.01, "0:00.01")]
)
def test_times_are_round(n, step, label) -> None:
    text = svg(replace(make_table(n), times=step * np.arange(n)))
    assert f">{label}<" in text


@pytest.fixture
def axes():
    figure = Figure(figsize=(12, 5))
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def scored(rmse, scores=None, **more) -> ErrorTable:
    rmse = np.asarray(rmse, dtype=float)
    n = rmse.size
    scores = (rmse - 1) * 20 if scores is None else np.array(scores, dtype=float)
    return ErrorTable(np.arange(1, n + 1), np.arange(n) / 25, 100 * rmse**2, 100, scores, **more)


def event(number, first, last, score=20.0):
    start, end = (first - 1) / 25, (last - 1) / 25
    return Event(number, first, last, start, end, first, start, score, last - first + 1)


@pytest.mark.parametrize(
    ("rmse", "scale", "bottom", "top"),
    [
        ([1.0, 1.1, 1.2, 3.0], "linear", (0.0, 0.0), (3.0, 4.0)),
        ([1.0, 1.1, 1.2, 30.0], "log", (0.5, 1.0), (30.0, 60.0)),
        ([0.0, 1.0, 1.0, 1.0, 30.0], "log", (0.05, 1.0), (30.0, 60.0)),
        ([0.0, 0.0], "linear", (0.0, 0.0), (1.0, 1.0)),
    ],
)
def test_scale_follows_the_spread(axes, rmse, scale, bottom, top) -> None:
    draw_errors(axes, scored(rmse), [], title="a")
    assert axes.get_yscale() == scale
    for value, (low, high) in zip(axes.get_ylim(), (bottom, top), strict=True):
        assert low <= value <= high


def words_on(axes):
    return [text.get_text() for text in axes.texts]


def test_where_numbers_would_overlap_the_higher_event_keeps_its_own(axes) -> None:
    events = [
        event(1, 100, 104),
        event(2, 106, 110, score=50.0),
        event(3, 1, 1),
        event(4, 999, 1000),
    ]
    draw_errors(axes, make_table(1000), events, title="a")
    assert sorted(words_on(axes)) == ["2", "3", "4"]
    assert all(0 < text.get_position()[0] < 1 for text in axes.texts)
    assert [patch.get_label() for patch in axes.patches].count("event (numbered)") == 1


@pytest.mark.parametrize(("level", "first"), [(1.0, 200), (3.0, 200), (9.5, 200), (3.0, 990)])
def test_words_about_a_change_hide_as_few_frames_as_they_can(axes, level, first) -> None:
    rmse = np.full(1000, level)
    rmse[0] = 10.0
    draw_errors(axes, scored(rmse, scene_change=SceneChange(first, first / 25)), [], title="a")
    (text,) = axes.texts
    assert text.get_text().startswith(f"from {first} to the end")
    shown = axes.transAxes.inverted().transform(axes.transData.transform((500, level)))[1]
    assert abs(text.get_position()[1] - shown) > 0.08
    assert text.get_position()[0] < 0.95


@pytest.mark.parametrize("many", [40, 60])
def test_borders_of_segments_are_drawn_with_their_reasons_where_there_is_room(many) -> None:
    borders = {100: "it became darker", 105: "a change", 900: "a knock"}
    borders |= {200 + number: "" for number in range(many)}
    film = Film(90_000, 1234, dict(sorted(borders.items())))
    text = render_errors(make_table(1000), [], title="a", plot_format="svg", film=film).decode()
    assert [words in text for words in borders.values() if words] == [True, False, True]
    assert "1234 of 90000 frames are outliers" in text
    assert "segment begins" in text


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (make_table(300), "none of 300 frames is an outlier"),
        (make_table(300, [(4, 5)]), "1 of 300 frames is an outlier, 1 event"),
        (make_table(300, [(4, 9), (100, 104)]), "9 of 300 frames are outliers, 2 events"),
    ],
)
def test_a_title_counts(axes, table, words) -> None:
    draw_errors(axes, table, find_events(table), title="door.mp4")
    assert axes.get_title(loc="left") == f"door.mp4: {words}"


def test_a_long_title_keeps_its_ends_and_unknown_letters_are_boxes(axes) -> None:
    draw_errors(axes, make_table(3), [], title="北" + "a" * 80 + "the_end_of.mp4")
    title = axes.get_title(loc="left").split(":")[0]
    assert title.startswith("\N{WHITE SQUARE}aaa")
    assert title.endswith("the_end_of.mp4")
    assert len(title) == 60


@pytest.fixture
def choice():
    held_out = np.array([20.0, 9.0, 4.0, 3.9, 3.8])
    spectrum = np.array([8.0, 5.0, 0.3, 0.2])
    gains = -np.diff(2.0 * np.log(held_out))
    return RankChoice(2, gains, held_out, spectrum, 40, 20, "because")


def spectrum(choice, used=2, kind="svg", **more):
    data = render_spectrum(choice, used, title="a$b$<&>.mp4", plot_format=kind, **more)
    if kind == "svg":
        return data.decode()
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) / 255


@painted
def test_a_spectrum_marks_the_choice_in_both_panels(choice) -> None:
    drawn = spectrum(choice, kind="png")
    assert drawn.shape[:2] == (400, 900)
    columns = np.flatnonzero((drawn[..., 2] - drawn[..., 0] > 0.3).sum(axis=0) > 200)
    assert ((columns < 450).any(), (columns > 450).any()) == (True, True)
    assert sees_curve(drawn)


@painted
def test_a_sum_that_falls_below_zero_is_seen(choice) -> None:
    assert sees_curve(spectrum(replace(choice, gains=np.full(4, 0.03)), kind="png"))


def sees_curve(drawn) -> bool:
    return (drawn[:, 510:, 0] - drawn[:, 510:, 2] > 0.5).any(axis=0).sum() > 200


def test_a_spectrum_says_in_words_what_was_chosen_and_used(choice) -> None:
    text = spectrum(choice, 10)
    assert "a$b$&lt;&amp;&gt;.mp4: rank 2 chosen, 10 used" in text
    assert "chosen: 2" in text
    assert "used: 10" in text


@pytest.mark.parametrize("n", [2, 40])
def test_a_spectrum_of_nothing(n) -> None:
    text = spectrum(choose_rank(np.full((n, 64), 9, dtype=np.uint8)), 1)
    assert ("too little to choose from" in text) == (n == 2)
