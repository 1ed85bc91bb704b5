"""Pictures that a codec freezes, noise and all, are one sample each, whatever shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from bgsub import RunOptions, fit_errors, run
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.false_alarms import cutoff_for
from bgsub.robustpca.gram import find_copies, gram_matrix
from bgsub.robustpca.rank import choose_rank

H, W = 36, 48
GROUND = np.random.default_rng(1).uniform(60, 190, (H, W))


def noisy(n: int, sigma: float = 2.0, seed: int = 0) -> NDArray[np.uint8]:
    noise = np.random.default_rng(seed).normal(0, sigma, (n, H, W))
    return np.asarray((GROUND + noise).round().clip(0, 255), np.uint8)


def frozen(pictures: int, each: int, seed: int = 0) -> NDArray[np.uint8]:
    """Pictures of which a few pixels change from frame to frame, by a grey level."""
    film = np.repeat(noisy(pictures, seed=seed), each, axis=0)
    rng = np.random.default_rng(seed + 1)
    film[rng.random(film.shape) < 0.02] += 1
    return film


def table_of(film: NDArray[np.uint8], k: int | Literal["auto"] = 1) -> ErrorTable:
    return fit_errors(film, RunOptions(k=k)).table


@pytest.mark.parametrize(("pictures", "each", "seed"), [(4, 30, 0), (16, 6, 2)])
def test_frozen_pictures_are_no_visitors(pictures: int, each: int, seed: int) -> None:
    table = table_of(frozen(pictures, each, seed), k="auto")
    assert (table.scores > cutoff_for(1 / 100)).mean() <= 0.015
    assert not table.outliers.any()


def test_components_that_so_few_pictures_cannot_have_are_said(tmp_path: Path) -> None:
    result = run(frozen(4, 10), tmp_path / "out", RunOptions(k=3, outputs=["errors"]))
    assert any("show 4 different pictures" in hint for hint in result.hints), result.hints


def test_a_visitor_before_frozen_pictures_is_found() -> None:
    film = frozen(4, 30)
    for frame in range(50, 62):
        film[frame, 10:22, frame - 40 : frame - 30] = 250
    assert np.flatnonzero(table_of(film).outliers).tolist() == list(range(50, 62))


def test_frames_shown_twice_are_scored_as_once() -> None:
    film = noisy(40)
    film[20:24, 5:15, 5:15] += 50
    once, twice = table_of(film), table_of(np.repeat(film, 2, axis=0))
    np.testing.assert_array_equal(np.repeat(once.outliers, 2), twice.outliers)
    assert once.outliers.sum() == 4


def copies_of(film: NDArray[np.uint8]) -> int:
    K = gram_matrix(film.reshape(len(film), -1)).values
    found = find_copies(K, film[0].size / 6)
    return len(film) if found is None else np.unique(found).size


def test_which_frames_are_copies() -> None:
    assert copies_of(frozen(5, 30)) == 5
    assert copies_of(np.repeat(noisy(40), 2, axis=0)) == 40
    assert copies_of(noisy(80)) == 80
    assert copies_of(noisy(80, sigma=0.5)) == 80


@pytest.mark.parametrize("depth", [0.008, 0.02, 0.1])
@pytest.mark.parametrize("visitor", [False, True])
def test_what_changes_slowly_without_any_noise_is_frozen_nowhere(
    depth: float, visitor: bool
) -> None:
    light = 1 + depth * np.sin(np.arange(300) / 40)[:, None, None]
    film = np.asarray((GROUND * light).round(), np.uint8)
    if visitor:  # the jump tells nothing of how far the light strays
        film[150, 10:20, 10:20] = 250
    assert copies_of(film) == 300


def test_noise_that_copies_share_is_no_component() -> None:
    film = frozen(12, 6)
    rows = film.reshape(len(film), -1)
    gram = gram_matrix(rows)
    blind = choose_rank(rows, gram, random_state=0)
    gram = replace(gram, copies=find_copies(gram.values, film[0].size / 6))
    seeing = choose_rank(rows, gram, random_state=0)
    assert (blind.rank > 1, seeing.rank) == (True, 1)
