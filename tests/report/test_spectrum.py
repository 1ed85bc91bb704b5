from __future__ import annotations

from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.report.spectrum import plot_spectrum
from bgsub.robustpca.rank import RankChoice, choose_rank

pytestmark = pytest.mark.figures


@pytest.fixture
def choice():
    held_out = np.array([20.0, 9.0, 4.0, 3.9, 3.8])
    spectrum = np.array([8.0, 5.0, 0.3, 0.2])
    gains = -np.diff(2.0 * np.log(held_out))
    return RankChoice(2, gains, held_out, spectrum, 40, 20, "because")


def test_png_marks_the_choice(choice, tmp_path):
    path = tmp_path / "spectrum.png"
    plot_spectrum(choice, 2, path, title="door.mp4")
    picture = matplotlib.image.imread(path)
    assert picture.shape[:2] == (400, 900)
    reddish = picture[..., 0] - picture[..., 2] > 0.3
    columns = np.flatnonzero(reddish.sum(axis=0) > 200)
    # A line in either panel.
    assert ((columns < 450).any(), (columns > 450).any()) == (True, True)


def test_svg_says_in_words_what_was_chosen_and_used(choice, tmp_path):
    path = tmp_path / "spectrum.svg"
    plot_spectrum(choice, 10, path, title="a$b$<&>.mp4", plot_format="svg")
    text = path.read_text(encoding="utf-8")
    assert "a$b$&lt;&amp;&gt;.mp4: rank 2 chosen, 10 used" in text
    assert "chosen: 2" in text
    assert "used: 10" in text
    before = path.read_bytes()
    plot_spectrum(choice, 10, path, title="a$b$<&>.mp4", plot_format="svg")
    assert path.read_bytes() == before


def test_segments_fill_an_area_around_their_median(choice, tmp_path):
    low, high = (replace(choice, spectrum=factor * choice.spectrum[:3]) for factor in (0.5, 3.0))
    path = tmp_path / "spectrum.svg"
    plot_spectrum(choice, 2, path, title="day", plot_format="svg")
    assert "lowest to highest" not in path.read_text(encoding="utf-8")
    plot_spectrum(choice, 2, path, title="day", plot_format="svg", parts=[low, choice, high])
    assert "lowest to highest of 3 segments" in path.read_text(encoding="utf-8")
    plot_spectrum(choice, 2, path.with_suffix(".png"), title="day", parts=[low, choice, high])
    picture = matplotlib.image.imread(path.with_suffix(".png"))
    is_pale_blue = (picture[..., 2] - picture[..., 0] > 0.1) & (picture[..., 0] > 0.5)
    assert is_pale_blue[:, :450].sum() > 2000


@pytest.mark.parametrize("n", [2, 40])
def test_nothing_to_draw(n, tmp_path):
    still = choose_rank(np.full((n, 64), 9, dtype=np.uint8))
    path = tmp_path / "spectrum.svg"
    plot_spectrum(still, 1, path, title="会" * 90, plot_format="svg")
    assert ("too little to choose from" in path.read_text(encoding="utf-8")) == (n == 2)


def test_a_file_that_cannot_be_written(choice, tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        plot_spectrum(choice, 2, tmp_path / "none" / "spectrum.png", title="t")
