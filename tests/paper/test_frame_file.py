from __future__ import annotations

import contextlib
import tempfile

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.fit.store import sample_rows
from bgsub.paper import compare
from bgsub.paper.compare import write_frames
from bgsub.video.images import write_image
from bgsub.video.source import open_source


@pytest.fixture
def write(tmp_path):
    """Write frames to a file there, which is closed behind the test."""
    with contextlib.ExitStack() as files:

        def written(source, **options):
            made = write_frames(source, tmp_path, progress=lambda *step: None, **options)
            files.enter_context(made.file)
            return made

        yield written


def test_the_file_holds_the_luma_of_every_frame(scene, write):
    frames = scene(12, color=False)
    source = open_source(frames)
    written = write(source)
    assert written.shape == (12, 36 * 48)
    np.testing.assert_array_equal(written.map(), frames.reshape(12, -1))
    np.testing.assert_array_equal(written.numbers, np.arange(1, 13))
    assert written.total == 12
    np.testing.assert_array_equal(written.picture(written.map()[3] * 1.0), frames[3])


def test_a_longer_input_is_sampled(scene, write):
    frames = scene(30, color=False)
    source = open_source(frames)
    written = write(source, most=7, seed=3)
    rows = sample_rows(30, 7, 3)
    np.testing.assert_array_equal(written.map(), frames.reshape(30, -1)[rows])
    np.testing.assert_array_equal(written.numbers, rows + 1)
    assert written.total == 30


def test_pixels_outside_the_mask_are_left_out(scene, tmp_path, write):
    frames = scene(5, color=False)
    mask = np.zeros((36, 48), dtype=np.uint8)
    mask[10:20, 5:30] = 255
    write_image(tmp_path / "mask.png", mask)
    source = open_source(frames, mask_image=str(tmp_path / "mask.png"))
    written = write(source)
    np.testing.assert_array_equal(written.map(), frames[:, mask > 0])
    picture = written.picture(written.map()[2] * 1.0)
    np.testing.assert_array_equal(picture, np.where(mask > 0, frames[2], 0))


def test_a_full_disk_is_said_before_anything_is_written(scene, write, monkeypatch):
    monkeypatch.setattr(compare, "free_space", lambda _folder: 1000)
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    with pytest.raises(OutputError, match="use --temp"):
        write(open_source(scene(5)))


def test_a_folder_that_is_gone_is_an_output_error(scene, tmp_path):
    with pytest.raises(OutputError, match="cannot be kept there"):
        write_frames(open_source(scene(5)), tmp_path / "no", progress=lambda *step: None)
