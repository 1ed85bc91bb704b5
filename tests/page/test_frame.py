"""The pictures of a frame come from the run's own files, and from the film where it is there."""

import shutil

import numpy as np
import pytest

from bgsub.errors import InputError, UsageError
from bgsub.page.frame import read_frame
from bgsub.pipeline.run import run
from tests.conftest import make_scene


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
    path, outputs = save(scene()), {"background", "mask", "errors"}
    read = []
    for form in ("zarr", "png"):
        run(path, tmp_path / form, options(format=form, outputs=outputs))
        read.append(read_frame(tmp_path / form, manifest_of(tmp_path / form), 40, None))
    np.testing.assert_array_equal(read[0].background, read[1].background)
    np.testing.assert_array_equal(read[0].mask, read[1].mask)
