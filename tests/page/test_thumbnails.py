"""Thumbnails: the peaks of events, small enough to have room, and the scene without objects."""

import base64
import io
from dataclasses import replace

import imageio.v3 as iio
import numpy as np
import pytest

from bgsub.page import media
from bgsub.page.media import make_thumbnails, picture_scene

NONE = dict.fromkeys(("input", "background", "foreground", "mask"))


def opened(address):
    return iio.imread(io.BytesIO(base64.b64decode(address.split("base64,")[1])))


def test_each_event_has_the_picture_of_its_peak(result, films):
    made = make_thumbnails(result, result.events, films)
    assert set(made) == {event.number for event in result.events}
    event = result.events[0]
    with_object, without = opened(made[event.number]), opened(picture_scene(result, films))
    assert with_object.shape == without.shape
    assert np.abs(with_object.astype(int) - without).max() > 40


def test_pictures_are_smaller_where_there_is_less_room(result, films, monkeypatch):
    before = opened(make_thumbnails(result, result.events, films)[1]).shape[1]
    monkeypatch.setattr(media, "_THUMBNAIL_BYTES", 1)
    after = opened(make_thumbnails(result, result.events, films)[1]).shape[1]
    assert after == min(before, 64)


def test_without_films_or_events_there_are_no_pictures(result, films):
    assert make_thumbnails(result, result.events, NONE) == {}
    assert make_thumbnails(result, [], films) == {}
    assert picture_scene(replace(result, folder=result.folder / "none"), NONE) == ""


@pytest.mark.parametrize("color", [True, False])
def test_the_scene_is_the_picture_that_the_run_made_of_it(result, tmp_path, color):
    place = np.kron(
        np.arange(0, 240, 20, dtype=np.uint8).reshape(2, 6), np.ones((24, 16), np.uint8)
    )
    picture = np.stack([place, place // 2, 255 - place], axis=2) if color else place
    iio.imwrite(tmp_path / "background.png", picture)
    shown = opened(picture_scene(replace(result, folder=tmp_path), NONE)).astype(int)
    expected = picture if color else np.stack([place] * 3, axis=2)
    assert np.abs(shown - expected).mean() < 8


def test_events_of_the_same_frame_share_a_picture(result, films):
    event = result.events[0]
    twice = [event, replace(event, number=99)]
    made = make_thumbnails(result, twice, films)
    assert made[event.number] == made[99] != ""
