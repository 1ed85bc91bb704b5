"""Single frames that are looked up are those of a pass from the beginning."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.video.film_index import Place
from bgsub.video.seek import frames_at, index_film
from bgsub.video.source import open_source
from tests.conftest import make_scene
from tests.video.stamped_films import FILMS, N, encode, stamped_film


@pytest.fixture(params=FILMS)
def film(request, tmp_path):
    return stamped_film(tmp_path, request.param)


def check(found, whole):
    for frame in found:
        np.testing.assert_array_equal(frame.data, whole[frame.number - 1].data)
        assert frame.time_s == whole[frame.number - 1].time_s


def test_frames_that_are_sought(film):
    source = open_source(film)
    index = index_film(source)
    wanted = [1, 2, 19, 20, 21, 22, 70, 71, 119, N]
    found = list(frames_at(source, [index.place(number) for number in wanted]))
    assert [frame.number for frame in found] == wanted
    check(found, list(source))


def test_from_its_key_frame_on_it_is_the_same_unless_pictures_are_refreshed_bit_by_bit(
    film, request
):
    if request.node.callspec.params["film"] == "intra refresh":
        pytest.skip("other pictures come out there, or none")
    source = open_source(film)
    index = index_film(source)
    places = [index.place(number, from_its_key=True) for number in (2, 22, 60, 61, 119)]
    assert all((place.key_s or 0.0) <= place.stamp_s for place in places)
    found = list(frames_at(source, places))
    assert len(found) == len(places)
    check(found, list(source))


@pytest.mark.parametrize("kind", ["array", "avi"])
def test_frames_without_time_stamps(kind, tmp_path):
    source = open_source(make_scene(N) if kind == "array" else encode(tmp_path / "a.avi", "mpeg4"))
    whole = list(source)
    places = [Place(number, whole[number - 1].time_s) for number in (3, 4, 60, N)]
    found = list(frames_at(source, places))
    assert [frame.number for frame in found] == [3, 4, 60, N]
    check(found, whole)


def test_of_a_part_of_an_array_frames_have_the_numbers_of_all(tmp_path):
    frames = make_scene(60)
    source = open_source(frames, start=11, end=40)
    found = list(frames_at(source, [Place(11, 0.4), Place(40, 1.56)]))
    assert [frame.number for frame in found] == [11, 40]
    np.testing.assert_array_equal(found[1].data, list(open_source(frames))[39].data)


def test_nothing_is_looked_up():
    assert list(frames_at(open_source(make_scene(5)), [])) == []
