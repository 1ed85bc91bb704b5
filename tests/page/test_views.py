"""Views of a page: each has a film, or a reason why there is none."""

import shutil

import pytest

from bgsub.page.data import find_views, source_options
from bgsub.page.result import read_result


def views_of(folder, manifest, footage=None, copies=None):
    found = find_views(read_result(folder, manifest), footage, copies, lambda *_: None)
    return {shown.view: shown for shown in found}


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


def test_options_of_the_input_are_read_back_without_its_mask(reported, manifest_of):
    manifest = manifest_of(reported)
    manifest["options"]["source"] |= {"start": 3, "roi": [0, 0, 8, 8], "mask_image": "gone.png"}
    options = source_options(manifest)
    assert options["start"] == 3
    assert list(options["roi"]) == [0, 0, 8, 8]
    assert "mask_image" not in options
