"""Single fits in a process of their own: errors and backgrounds as the method itself gives them."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile

import numpy as np
import pytest

from bgsub.errors import OutputError
from bgsub.fit.store import sample_rows
from bgsub.paper import compare
from bgsub.paper.compare import FitError, FitProcess, FitTask, fit_stream, fit_task, write_frames
from bgsub.paper.options import Entry
from bgsub.robustpca.competitors import METHODS, Settings
from bgsub.robustpca.gram import gram_matrix
from bgsub.robustpca.online import OnlineTRPCA
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF
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
    assert written.shape == (12, 24 * 32)
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
    mask = np.zeros((24, 32), dtype=np.uint8)
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


@pytest.mark.parametrize("name", METHODS)
def test_a_task_gives_errors_and_backgrounds(frames, name):
    X = np.array(frames.map())
    outcome = fit_task(
        FitTask(entry=Entry(method=name), k=2, seed=1, rows=(3, 20)), X, gram_matrix(X)
    )
    fit = METHODS[name].make(Settings(k=2, random_state=1)).fit(X)
    found = outcome.fitted[2]
    np.testing.assert_allclose(found.errors, fit.errors_, rtol=1e-6)
    assert outcome.converged
    assert outcome.seconds > 0
    expected = fit.inverse_transform(found.coefficients)[[3, 20]]
    np.testing.assert_allclose(outcome.backgrounds, expected, atol=1e-3)


def test_a_stream_is_seen_as_it_comes(frames):
    X = np.array(frames.map())
    outcome = fit_task(
        FitTask(entry=Entry(method="online"), k=2, seed=1, rows=(3, 20)), X, gram_matrix(X)
    )
    fit = OnlineTRPCA(2, random_state=1, reweight_cutoff=FOOTAGE_CUTOFF).fit(X)
    np.testing.assert_allclose(outcome.fitted[2].errors, fit.errors_, rtol=1e-6)
    np.testing.assert_allclose(outcome.backgrounds, fit.reconstruct(X[[3, 20]]))
    short = OnlineTRPCA(2, window=12, refresh=4, random_state=1)
    fitted, backgrounds, iterations, converged = fit_stream(short, X, (3, 20))
    whole = OnlineTRPCA(2, window=12, refresh=4, random_state=1).fit(X)
    np.testing.assert_allclose(fitted.errors, whole.errors_)
    np.testing.assert_array_equal(short.components_, whole.components_)
    early = OnlineTRPCA(2, window=12, refresh=4, random_state=1).fit(X[:12])
    np.testing.assert_allclose(backgrounds[0], early.reconstruct(X[3:4])[0])
    assert iterations >= 4
    assert converged


def no_progress(stage, done, total):
    pass


def test_one_process_makes_all_fits_and_survives_its_own_death(frames):
    X = np.array(frames.map())
    task = FitTask(entry=Entry(method="trpca"), k=2, rows=(1,))
    here = fit_task(task, X, gram_matrix(X))
    stages = []
    with contextlib.closing(FitProcess(frames, gram_matrix(X))) as process:

        def note(stage, done, total):
            stages.append(stage)

        there = process.run(task, timeout=60, progress=note)
        np.testing.assert_allclose(there.fitted[2].errors, here.fitted[2].errors, rtol=1e-9)
        np.testing.assert_allclose(there.backgrounds, here.backgrounds, rtol=1e-9)
        process.run(FitTask(entry=Entry(method="pcp"), k=2), timeout=None, progress=note)
        assert "trpca k=2" in stages
        assert any(stage.startswith("pcp k=2 · residual ") for stage in stages)

        with pytest.raises(FitError, match="at least 1"):
            process.run(FitTask(entry=Entry(method="pca"), k=0), timeout=60, progress=no_progress)

        def kill(stage, done, total):
            os.kill(process._process.pid, signal.SIGKILL)

        with pytest.raises(FitError, match="its process died"):
            process.run(task, timeout=60, progress=kill)
        again = process.run(task, timeout=60, progress=no_progress)
        np.testing.assert_array_equal(again.fitted[2].errors, there.fitted[2].errors)
        child = process._process
    with pytest.raises(ValueError, match="closed"):
        child.is_alive()
