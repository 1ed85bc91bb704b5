from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import matplotlib as mpl
import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import find_events
from bgsub.outliers.scene_change import SceneChange
from bgsub.report.plots import Film, plot_errors, render_errors

pytestmark = pytest.mark.figures


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


@pytest.mark.parametrize(
    "table",
    [
        make_table(1),
        make_table(2),
        make_table(2, [(1, 2)]),
        make_table(40, [(0, 40)]),
        make_table(20_000, [(3000, 3400), (9000, 9001)]),
        make_table(3000, [(50 * i, 50 * i + 8) for i in range(60)]),
        make_table(300, [(100, 300)], first=180),
        ErrorTable(np.arange(1, 9), np.zeros(8), np.zeros(8), 10, np.zeros(8)),
    ],
    ids=["one", "two", "one of two", "all", "many", "60 events", "change", "constant"],
)
def test_every_kind_of_table_can_be_drawn(table: ErrorTable) -> None:
    image = picture(table)
    assert image.shape == (500, 1200, 3)
    # The line of the errors, in blue.
    assert has_color(image, 0x00, 0x72, 0xB2) or table.outliers.all()
    # Outliers are marked in vermillion.
    assert has_color(image, 0xD5, 0x5E, 0x00) == bool(table.outliers.any())


def test_words_in_the_plot() -> None:
    text = svg(make_table(300, [(40, 60), (100, 300)], first=180))
    for words in (
        "door.mp4: 99 of 300 frames are outliers, 2 events",
        "RMS error per pixel (grey levels)",
        "cut-off (score 12)",
        "event (numbered)",
        "outlier frame",
        "from 180 to the end",
        "the scene stays different",
        ">frame<",
        ">time<",
    ):
        assert words in text


def test_the_label_of_a_panel_does_not_reach_into_the_other() -> None:
    table = make_table(300, [(100, 300)])
    beside = picture(replace(table, local=table.scores))[:, :38]
    words = (beside.min(axis=(1, 2)) < 128).nonzero()[0]
    gaps = np.diff(words)
    # The letters of either label are together, the two are not.
    assert np.sort(gaps)[-1] > 40
    assert np.sort(gaps)[-2] < 15


def test_words_without_outliers() -> None:
    text = svg(make_table(300))
    assert "none of 300 frames is an outlier" in text
    assert "cut-off (score 12)" in text
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


@pytest.mark.parametrize("title", ["$x_1$ and $.mp4", "北京\n.mp4", "a" * 300, "<&>.avi", ""])
def test_odd_titles(title: str) -> None:
    assert picture(make_table(20), title).shape == (500, 1200, 3)


def test_same_table_same_bytes() -> None:
    table = make_table(50, [(10, 20)])
    for kind in ("png", "svg"):
        first, second = (
            render_errors(table, find_events(table), title="a", plot_format=kind) for _ in range(2)
        )
        assert first == second


def test_style_of_the_user_has_no_effect() -> None:
    table = make_table(50, [(10, 20)])
    plain = picture(table)
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 30, "figure.dpi": 20}):
        assert np.array_equal(picture(table), plain)
        assert mpl.rcParams["font.size"] == 30


def test_files(tmp_path: Path) -> None:
    table = make_table(20)
    path = tmp_path / "größe.png"
    plot_errors(table, [], path, title="a")
    assert path.read_bytes().startswith(b"\x89PNG")
    plot_errors(table, [], path, title="a", plot_format="svg")
    assert path.read_bytes().startswith(b"<?xml")
    with pytest.raises(OutputError, match="cannot be written"):
        plot_errors(table, [], tmp_path / "none" / "a.png", title="a")


def test_pyplot_is_left_alone() -> None:
    """It would look for a display, and keep every figure in memory."""
    code = "import sys, bgsub.report.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_borders_of_segments_are_drawn_with_their_reasons_and_the_title_counts_the_film():
    table = make_table(300, [(100, 120)])
    film = Film(90_000, 1234, {101: "it became darker", 201: ""})
    text = render_errors(table, [], title="day.mp4", plot_format="svg", film=film).decode()
    assert "it became darker" in text
    assert "1234 of 90000 frames are outliers" in text
    assert "segment begins" in text
    assert "segment begins" not in svg(table)
