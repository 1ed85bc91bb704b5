from __future__ import annotations

import os
import tempfile

import numpy as np
import pytest

from bgsub.errors import UsageError
from bgsub.options import RunOptions
from bgsub.paper.compare import compare
from bgsub.paper.curves import auc
from bgsub.paper.options import COLUMNS, CompareOptions
from bgsub.robustpca.competitors import METHODS
from tests.conftest import N_FRAMES, VISIT, make_scene


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clip")
    np.save(folder / "clip.npy", make_scene())
    (folder / "frames.csv").write_text(f"first,last\n{VISIT + 1},{N_FRAMES}\n")
    return folder


@pytest.fixture(scope="module")
def watched(clip):
    """All methods, with the truth; and the stages and the files that were there meanwhile."""
    options = CompareOptions(
        run=RunOptions(temp=str(clip)), ks=(1, 2), frames=(5, 40), truth=str(clip / "frames.csv")
    )
    stages, files = set(), set()

    def look(stage, done, total):
        stages.add(stage)
        files.update(path.name for path in clip.iterdir())

    return compare(str(clip / "clip.npy"), options, progress=look), stages, files


@pytest.fixture(scope="module")
def whole(watched):
    return watched[0]


@pytest.mark.skipif(os.name == "nt", reason="files there have names")
def test_nothing_has_a_name_that_a_kill_would_leave(watched):
    _, stages, files = watched
    assert stages >= {"decode", "pca k=1"}
    assert files == {"clip.npy", "frames.csv"}


def test_every_method_has_a_row_for_every_k(whole):
    assert [(row.method, row.k) for row in whole.rows] == [(m, k) for m in METHODS for k in (1, 2)]
    assert not any(row.errors is None for row in whole.rows)
    assert all(row.seconds > 0 and row.iterations >= 1 and row.converged for row in whole.rows)
    assert {row.t for row in whole.rows} == {N_FRAMES // 2}
    assert list(whole.rows[0].cells()) == list(COLUMNS)


def test_the_visitor_is_found(whole):
    row = next(row for row in whole.rows if (row.method, row.k) == ("trpca", 2))
    assert row.auc == row.average_precision == 1.0
    assert row.true_outliers_flagged == 1.0
    assert row.objective == pytest.approx(np.sort(row.errors)[: row.t].mean())
    labels = np.arange(N_FRAMES) >= VISIT
    for other in whole.rows:
        assert other.auc == auc(other.errors, labels)


def test_the_objective_of_trpca_is_least_of_the_row_methods(whole):
    rows = [row for row in whole.rows if row.k == 2 and not METHODS[row.method].needs_pixels]
    assert min(rows, key=lambda row: row.objective).method == "trpca"


def test_backgrounds_are_of_the_chosen_frames(whole):
    assert whole.chosen == [5, 40]
    assert set(whole.backgrounds) == set(METHODS)
    gray = whole.pictures[1]
    assert gray.shape == (24, 32)
    background = whole.backgrounds["trpca"][1]
    foreign = np.abs(gray - background) > 25
    assert foreign.sum() > 30
    assert np.abs(whole.pictures[0] - whole.backgrounds["trpca"][0]).max() < 15


def test_one_fit_of_pcp_serves_every_k(whole):
    rows = [row for row in whole.rows if row.method == "pcp"]
    assert rows[0].seconds == rows[1].seconds
    assert "one fit serves every k" in rows[0].reason
    assert rows[0].objective > rows[1].objective


def test_nothing_is_left_behind(clip, whole):
    assert sorted(path.name for path in clip.iterdir()) == ["clip.npy", "frames.csv"]


def test_a_fit_that_fails_keeps_its_row_and_the_others_go_on(clip, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(clip))
    methods = {**METHODS}
    monkeypatch.setattr("bgsub.paper.compare.PROGRAM_BYTES", 0)
    need = {name: METHODS[name].memory_bytes(N_FRAMES, 24 * 32, 2) for name in methods}
    limit = (need["pca"] + need["pcp"]) // 2
    assert need["pca"] < limit < need["pcp"]
    options = CompareOptions(
        run=RunOptions(memory=str(limit), temp=str(clip)), methods=("pcp", "pca"), ks=(2,)
    )
    comparison = compare(str(clip / "clip.npy"), options)
    # An ordinary frame and the one that stands out most.
    assert comparison.chosen[1] > VISIT >= comparison.chosen[0]
    failed, done = comparison.rows
    assert failed.errors is None
    assert "of memory, but the limit is" in failed.reason
    assert failed.seconds is failed.objective is None
    assert done.errors is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"ks": (1, 60)}, "--k 60 is too much"), ({"frames": (99,)}, "--frames 99: is not among")],
)
def test_options_are_checked_against_the_frames(clip, changes, message):
    with pytest.raises(UsageError, match=message):
        compare(str(clip / "clip.npy"), CompareOptions(run=RunOptions(temp=str(clip)), **changes))
