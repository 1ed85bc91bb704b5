"""A preview holds the peaks of events, within its number of frames, and says its size before."""

import base64
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.page.media import embed, excerpt_places, expected_bytes, open_film, pack_integers, stills
from tests.conftest import make_scene


class Frames:
    """What an excerpt asks of a result: its frames, all of the input."""

    def __init__(self, n):
        self.numbers = np.arange(1, n + 1)

    def place(self, number):
        return min(number - 1, self.numbers.size - 1)


def events_at(peaks):
    return [SimpleNamespace(peak_frame=peak) for peak in peaks]


@pytest.fixture
def film(encode):
    return open_film(Path(encode(make_scene(), "clip.mp4")))


class TestExcerptPlaces:
    @given(st.integers(1, 5_000), st.lists(st.integers(1, 5_000), max_size=600))
    def test_places_increase_and_are_at_most_400(self, n, peaks):
        places = excerpt_places(Frames(n), events_at(peaks))
        assert 0 < places.size <= 400
        assert (np.diff(places) > 0).all()
        assert (places >= 0).all()
        assert (places < n).all()

    @given(st.lists(st.integers(1, 5_000), min_size=1, max_size=400))
    def test_every_peak_is_shown_while_there_is_room(self, peaks):
        places = excerpt_places(Frames(5_000), events_at(peaks))
        assert {peak - 1 for peak in peaks} <= set(places.tolist())

    def test_without_events_places_are_spread_over_all(self):
        places = excerpt_places(Frames(10_000), [])
        assert (places[0], places[-1]) == (0, 9_999)
        assert np.ptp(np.diff(places)) <= 1


def test_a_preview_plays_the_chosen_pictures(film, tmp_path):
    places = np.array([2, 3, 20, 40])
    made = embed(film, places)
    assert made["places"] == pack_integers(places)
    kind, data = made["src"].split(";base64,")
    assert kind == "data:video/mp4"
    (tmp_path / "p.mp4").write_bytes(base64.b64decode(data))
    with av.open(str(tmp_path / "p.mp4")) as shown:
        pictures = [frame.to_ndarray(format="rgb24") for frame in shown.decode(video=0)]
    assert len(pictures) == 4
    with av.open(str(film.path)) as source:
        wanted = [frame.to_ndarray(format="rgb24") for frame in source.decode(video=0)]
    for place, picture in zip(places, pictures, strict=True):
        height, width = wanted[place].shape[:2]
        assert np.abs(picture[:height, :width].astype(int) - wanted[place]).mean() < 6


def test_the_expected_size_grows_with_the_frames(film):
    few, many = (expected_bytes([film], np.arange(n)) for n in (10, 40))
    assert many == pytest.approx(4 * few, abs=3)
    assert expected_bytes([], np.arange(5)) == 0


def test_stills_are_those_of_the_peaks_or_the_first_picture(film):
    found = stills(film, Frames(48), events_at([40, 3, 3]))
    assert found["places"] == [2, 39]
    assert all(each.startswith("data:image/webp;base64,") for each in found["pictures"])
    assert stills(film, Frames(48), [])["places"] == [0]
