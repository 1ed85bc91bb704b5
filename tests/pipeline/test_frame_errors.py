"""Errors of frames without any results on disk are those that a run writes."""

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline.run import apply, fit_errors, model_errors


def test_a_fit_makes_the_errors_of_the_run_and_writes_nothing(whole_run):
    before = sorted(whole_run.out.parent.iterdir())
    table = fit_errors(whole_run.path, whole_run.options).table
    written = read_csv(whole_run.out / "errors.csv")
    np.testing.assert_allclose(table.errors, written.errors, rtol=1e-8)
    np.testing.assert_array_equal(table.outliers, written.outliers)
    assert sorted(whole_run.out.parent.iterdir()) == before


def test_progress_is_told_to_the_end(whole_run, options):
    told = []
    model_errors(
        whole_run.out / "model.npz",
        whole_run.path,
        options(),
        progress=lambda stage, done, total: told.append((stage, done, total)),
    )
    stages, done, totals = zip(*told, strict=True)
    assert set(stages) == {"errors"}
    assert list(done) == sorted(done)
    assert done[-1] == totals[-1]


def test_footage_of_another_size_is_refused(whole_run, scene, save, options):
    small = save(scene(n=5)[:, ::2, ::2])
    with pytest.raises(InputError, match="use footage of that size, or --scale or --roi"):
        model_errors(whole_run.out / "model.npz", small, options())


def test_a_model_makes_the_errors_of_its_fit(whole_run, options):
    ours = model_errors(whole_run.out / "model.npz", whole_run.path, options()).table
    theirs = fit_errors(whole_run.path, whole_run.options).table
    np.testing.assert_allclose(ours.errors, theirs.errors, rtol=1e-4)
    np.testing.assert_array_equal(ours.frames, theirs.frames)
    np.testing.assert_allclose(ours.times, theirs.times)
    np.testing.assert_array_equal(ours.outliers, theirs.outliers)
    assert ours.pixels == theirs.pixels


def test_a_model_makes_the_errors_that_apply_writes(whole_run, tmp_path, options):
    model = whole_run.out / "model.npz"
    apply(model, whole_run.path, tmp_path / "out", options(outputs={"errors"}, format="mkv"))
    written = read_csv(tmp_path / "out" / "errors.csv")
    told = model_errors(model, whole_run.path, options()).table
    np.testing.assert_allclose(written.errors, told.errors, rtol=1e-8)


def test_a_visitor_in_new_footage_is_found(whole_run, scene, save, options):
    new = scene(n=40, visit=25, seed=7)
    table = model_errors(whole_run.out / "model.npz", save(new), options()).table
    assert table.outliers.tolist() == [False] * 25 + [True] * 15


def test_what_a_fit_warns_of_is_said_in_words_of_the_command_line(save, options):
    path = save(np.full((20, 36, 48), 90, dtype=np.uint8))
    (note,) = fit_errors(path, options(k=1)).notes
    assert note == "the frames that were fitted are all alike: their background is a still"
