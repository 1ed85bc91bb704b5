"""Films of a run: which are shown, and what a page takes out of them."""

import base64
import io
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import imageio.v3 as iio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import InputError, UsageError
from bgsub.page.films import (
    VIEWS,
    embed,
    excerpt_places,
    find_view,
    link,
    make_thumbnails,
    open_film,
    pack_integers,
    picture_scene,
    read_frame,
    stills,
)
from bgsub.page.result import read_result
from bgsub.pipeline.run import run
from tests.conftest import make_scene, read_video
from tests.video.conftest import encode as encode_film

NONE = dict.fromkeys(VIEWS)


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "clip.mp4"
    return open_film(Path(encode_film(path, make_scene(), options={"crf": "4"})))


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


def views_of(folder, manifest, footage=None, copies=None):
    result = read_result(folder, manifest)
    return {view: find_view(result, view, footage, copies, lambda *_: None) for view in VIEWS}


def test_the_films_of_a_run_are_its_own(reported, manifest_of):
    found = views_of(reported, manifest_of(reported))
    assert list(found) == ["input", "background", "foreground", "mask"]
    assert [shown.film.path.name for shown in found.values()] == [f"{v}.mp4" for v in found]
    assert not any(shown.reason for shown in found.values())


@pytest.mark.parametrize(
    ("footage", "reason"),
    [(None, "its film is not here"), ("/gone/film.avi", "the film of this run is gone")],
)
def test_without_a_film_the_reason_is_said(reported, manifest_of, tmp_path, footage, reason):
    folder = shutil.copytree(reported, tmp_path / "r")
    for name in ("input.mp4", "foreground.mp4"):
        (folder / name).unlink()
    found = views_of(folder, manifest_of(folder), footage)
    assert (found["input"].film, found["input"].reason) == (None, reason)
    assert found["foreground"].reason == "the run wrote no foreground"


def test_a_film_of_another_length_is_not_shown(reported, manifest_of, encode, scene, tmp_path):
    folder = shutil.copytree(reported, tmp_path / "r")
    shutil.copy(encode(scene()[:20], "short.mp4"), folder / "mask.mp4")
    shown = views_of(folder, manifest_of(folder))["mask"]
    assert shown.film is None
    assert "mask.mp4: holds 20 pictures, but the run used 48 frames" in shown.reason


def test_what_browsers_do_not_play_is_kept_for_stills_or_copied(whole_run, manifest_of, tmp_path):
    manifest = manifest_of(whole_run.out)
    shown = views_of(whole_run.out, manifest)["mask"]
    assert shown.reason == "browsers do not play mask.mkv"
    assert shown.unplayed.stamps.size == 48
    copied = views_of(whole_run.out, manifest, copies=tmp_path / "copies")["mask"]
    assert copied.film.path == tmp_path / "copies" / "mask.mp4"
    assert copied.film.stamps.size == 48


class Frames:
    """What an excerpt asks of a result: its frames, all of the input."""

    def __init__(self, n):
        self.numbers = np.arange(1, n + 1)

    def place(self, number):
        return min(number - 1, self.numbers.size - 1)


def events_at(peaks):
    return [SimpleNamespace(peak_frame=peak) for peak in peaks]


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


def test_a_preview_plays_the_chosen_pictures(film, tmp_path):
    places = np.array([2, 3, 20, 40])
    made = embed(film, places)
    assert made["places"] == pack_integers(places)
    kind, data = made["src"].split(";base64,")
    assert kind == "data:video/mp4"
    (tmp_path / "p.mp4").write_bytes(base64.b64decode(data))
    pictures = read_video(tmp_path / "p.mp4", "rgb24")
    assert len(pictures) == 4
    wanted = read_video(film.path, "rgb24")
    for place, picture in zip(places, pictures, strict=True):
        height, width = wanted[place].shape[:2]
        assert np.abs(picture[:height, :width].astype(int) - wanted[place]).mean() < 6


def test_stills_are_those_of_the_peaks_or_the_first_picture(film):
    found = stills(film, Frames(48), events_at([40, 3, 3]))
    assert found["places"] == [2, 39]
    assert all(each.startswith("data:image/webp;base64,") for each in found["pictures"])
    assert stills(film, Frames(48), [])["places"] == [0]


def opened(address):
    return iio.imread(io.BytesIO(base64.b64decode(address.split("base64,")[1])))


def test_each_event_has_the_picture_of_its_peak(result, films):
    made = make_thumbnails(result, result.events, films)
    assert set(made) == {event.number for event in result.events}
    event = result.events[0]
    with_object, without = opened(made[event.number]), opened(picture_scene(result, films).picture)
    assert with_object.shape == without.shape
    assert np.abs(with_object.astype(int) - without).max() > 40


def test_pictures_are_smaller_where_there_is_less_room(result, films):
    before = opened(make_thumbnails(result, result.events, films)[1]).shape[1]
    after = opened(make_thumbnails(result, result.events, films, room=1)[1]).shape[1]
    assert after == min(before, 64)


def test_without_films_or_events_there_are_no_pictures(result, films):
    assert make_thumbnails(result, result.events, NONE) == {}
    assert make_thumbnails(result, [], films) == {}
    assert picture_scene(replace(result, folder=result.folder / "none"), NONE).picture == ""


@pytest.mark.parametrize("color", [True, False])
def test_the_scene_is_the_picture_that_the_run_made_of_it(result, tmp_path, color):
    place = np.kron(
        np.arange(0, 240, 20, dtype=np.uint8).reshape(2, 6), np.ones((24, 16), np.uint8)
    )
    picture = np.stack([place, place // 2, 255 - place], axis=2) if color else place
    iio.imwrite(tmp_path / "background.png", picture)
    shown = opened(picture_scene(replace(result, folder=tmp_path), NONE).picture).astype(int)
    expected = picture if color else np.stack([place] * 3, axis=2)
    assert np.abs(shown - expected).mean() < 8


def test_without_a_background_the_scene_is_a_frame_with_nothing_in_it_and_says_so(result, films):
    bare = replace(result, folder=result.folder / "none")
    assert picture_scene(bare, films).frame is None, "the background has films"
    scene = picture_scene(bare, {**NONE, "input": films["input"]})
    assert scene.frame not in {seen.frame for seen in result.objects}
    assert opened(scene.picture).ndim == 3


def test_a_frame_has_its_four_pictures(reported, manifest_of):
    frame = read_frame(reported, manifest_of(reported), 30, None)
    scene = make_scene()[29]
    for picture in (frame.input, frame.background, frame.foreground):
        assert (picture.shape[:2], picture.dtype) == (scene.shape[:2], np.uint8)
        assert picture.ndim == 3
    assert np.abs(frame.input[..., 1].astype(int) - scene[..., 1]).mean() < 6
    assert frame.mask.shape == scene.shape[:2]
    assert repr(frame) == "<frame 30 at 1.16 s: input, background, foreground, mask>"


def test_the_film_itself_comes_before_its_copy(reported, manifest_of):
    film = reported.parent / "clip.npy"
    frame = read_frame(reported, manifest_of(reported), 30, str(film))
    np.testing.assert_array_equal(frame.input, make_scene()[29])


def test_frames_that_were_not_used_are_refused(reported, manifest_of):
    with pytest.raises(UsageError, match="frame 49: the run used 48 frames from 1 to 48"):
        read_frame(reported, manifest_of(reported), 49, None)


def test_what_was_not_written_is_none_and_what_was_exchanged_is_refused(
    reported, manifest_of, encode, tmp_path
):
    folder = shutil.copytree(reported, tmp_path / "r")
    (folder / "background.mp4").unlink()
    manifest = manifest_of(folder)
    assert read_frame(folder, manifest, 3, None).background is None
    shutil.copy(encode(make_scene()[:7], "short.mp4"), folder / "mask.mp4")
    with pytest.raises(InputError, match=r"mask\.mp4: does not hold the frames of its run"):
        read_frame(folder, manifest, 3, None)


def test_pictures_of_arrays_are_those_of_image_files(scene, save, options, tmp_path, manifest_of):
    pytest.importorskip("zarr")
    path, outputs = save(scene(12, visit=9)), {"background", "mask", "errors"}
    read = []
    for form in ("zarr", "png"):
        run(path, tmp_path / form, options(format=form, outputs=outputs, model="paper"))
        read.append(read_frame(tmp_path / form, manifest_of(tmp_path / form), 11, None))
    np.testing.assert_array_equal(read[0].background, read[1].background)
    np.testing.assert_array_equal(read[0].mask, read[1].mask)
