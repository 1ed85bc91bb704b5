"""Films of a page: only what browsers play, with the times of their pictures, and safe links."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.page.media import link, of_results, open_film, select
from tests.conftest import make_scene


@pytest.fixture
def film(encode):
    return open_film(Path(encode(make_scene(), "clip.mp4")))


class TestOpenFilm:
    def test_times_are_those_of_the_pictures(self, film):
        seconds = film.stamps * film.base
        assert seconds.tolist() == [Fraction(i, 25) + seconds[0] for i in range(48)]
        assert film.shortest * film.base == Fraction(1, 25)
        assert film.start == film.stamps[0]

    def test_what_browsers_do_not_play_is_opened_on_request_alone(self, whole_run):
        mask = whole_run.out / "mask.mkv"
        assert open_film(mask) is None
        assert open_film(mask, any_kind=True).stamps.size == 48

    @pytest.mark.parametrize("content", [b"", b"no video at all"])
    def test_what_is_no_video_is_none(self, tmp_path, content):
        (tmp_path / "a.mp4").write_bytes(content)
        assert open_film(tmp_path / "a.mp4") is None
        assert open_film(tmp_path / "gone.mp4") is None


class TestSelect:
    def test_frames_count_from_one(self, film):
        chosen = select(film, np.array([1, 3, 48]))
        assert chosen.stamps.tolist() == film.stamps[[0, 2, 47]].tolist()
        assert chosen.start == film.start

    @pytest.mark.parametrize("numbers", [[], [49]])
    def test_frames_that_it_does_not_have_are_refused(self, film, numbers):
        with pytest.raises(InputError, match="48 frames; it is not the film of this run"):
            select(film, np.array(numbers, dtype=np.int64))


def test_a_view_is_found_as_a_video_or_a_folder(tmp_path):
    assert of_results(tmp_path, "mask") is None
    (tmp_path / "mask").mkdir()
    assert of_results(tmp_path, "mask") == tmp_path / "mask"
    (tmp_path / "mask.mkv").touch()
    assert of_results(tmp_path, "mask") == tmp_path / "mask.mkv"


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("r/a b.mp4", "a%20b.mp4"),
        ("r/javascript:alert(1).mp4", "./javascript%3Aalert%281%29.mp4"),
        ("r/水.mp4", "%E6%B0%B4.mp4"),
        ('r/"><script>.mp4', "%22%3E%3Cscript%3E.mp4"),
        ("clip.mp4", "../clip.mp4"),
    ],
)
def test_links_are_relative_and_escaped(target, address):
    found = link(Path(target), Path("r/report.html"))
    assert found.removeprefix("./") == address.removeprefix("./")
    assert ":" not in found.split("/")[0]
