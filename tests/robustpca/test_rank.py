from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.ranks import ranked_film
from bgsub.paper.curves import data1, data2
from bgsub.robustpca.gram import ArrayColumns, gram_matrix
from bgsub.robustpca.rank import choose_rank, share_for_rank


def scene(rank, n=120, p=480, *, noise=2.0, seed=0):
    """Grey frames whose background moves in so many ways, each half as strongly as the last."""
    rng = np.random.default_rng(seed)
    ways = rng.normal(size=(rank, p)) * 24.0 / 2.0 ** np.arange(rank)[:, None]
    frames = 120.0 + rng.normal(size=(n, rank)) @ ways + noise * rng.normal(size=(n, p))
    return np.clip(frames.round(), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("share", [0.1, 0.45])
@pytest.mark.parametrize("p", [20, 100])
@pytest.mark.parametrize("data", [data1, data2])
def test_the_true_rank_of_the_papers_data(data, p, share):
    X = data(200, p, 5, outlier_share=share, random_state=0).X
    assert choose_rank(X, random_state=0).rank == 5


# With more columns than these, a pixel shows too little of many components to be sure of.
@pytest.mark.parametrize(("rank", "wide"), [(1, 400), (12, 200)])
def test_other_ranks_in_both_shapes(rank, wide):
    for n, p in ((150, wide), (400, 150)):
        X = data1(n, p, rank, outlier_share=0.3, random_state=1).X
        assert choose_rank(X, random_state=0).rank == rank


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_grey_frames(rank):
    assert choose_rank(scene(rank), random_state=0).rank == rank


def test_noise_that_pixels_share_along_rows_is_no_component():
    # Codecs blur the noise: within a band neighbours are alike, which no white-noise edge expects.
    rng = np.random.default_rng(3)
    blurred = rng.normal(size=(200, 60)).repeat(32, axis=1) * 3.0
    frames = np.clip(128.0 + blurred, 0, 255).astype(np.uint8)
    choice = choose_rank(frames, random_state=0)
    assert choice.rank == 1
    assert choice.gains.max() < 0.04


def test_a_visitor_is_no_component():
    frames = scene(2, n=160)
    frames[100:160, 96:300] = np.random.default_rng(9).integers(0, 255, (60, 204), dtype=np.uint8)
    frames[130:160, 96:300] = 250
    assert choose_rank(frames, random_state=0).rank == 2


def test_a_component_of_a_few_frames_is_none():
    # It goes through the whole picture, but leaves most frames as they are.
    frames = scene(1, n=200).astype(float)
    frames[::5] += 12.0 * np.sign(np.random.default_rng(1).normal(size=480))
    assert choose_rank(np.clip(frames, 0, 255).astype(np.uint8), random_state=0).rank == 1


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 8, 9])
def test_few_rows(n):
    choice = choose_rank(scene(3, n=n), random_state=0)
    assert 1 <= choice.rank <= max(1, n // 4)
    assert choice.n_rows == n


@pytest.mark.parametrize("p", [1, 2, 15, 16, 17, 33])
def test_few_columns(p):
    assert 1 <= choose_rank(scene(3, p=p), random_state=0).rank <= max(1, p // 2)


@pytest.mark.parametrize("value", [0, 7, 255])
def test_frames_that_are_all_alike(value):
    choice = choose_rank(np.full((40, 64), value, dtype=np.uint8))
    assert choice.rank == 1
    np.testing.assert_array_equal(choice.gains, 0.0)
    assert not choice.held_out.any()


def test_no_noise_at_all():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 64))
    assert choose_rank(X, random_state=0).rank == 3


def test_the_gram_matrix_may_be_given_and_a_seed_repeats_the_choice():
    frames = scene(2)
    one = choose_rank(frames, random_state=4)
    two = choose_rank(ArrayColumns(frames), gram_matrix(frames), random_state=4)
    assert one.rank == two.rank == 2
    np.testing.assert_allclose(one.gains, two.gains, atol=1e-9)
    np.testing.assert_array_equal(one.gains, choose_rank(frames, random_state=4).gains)


def test_a_gram_matrix_with_its_share_spares_reading_the_pixels():
    class Unread(ArrayColumns):
        def columns(self, start, stop):
            raise AssertionError((start, stop))

    frames = scene(2)
    gram = gram_matrix(frames, apart=share_for_rank(*frames.shape))
    expected = choose_rank(ArrayColumns(frames), gram_matrix(frames), random_state=4)
    found = choose_rank(Unread(frames), gram, random_state=4)
    assert found.to_json() == expected.to_json()
    np.testing.assert_array_equal(found.gains, expected.gains)
    assert share_for_rank(601, 1000) == []


def test_rows_are_sampled():
    choice = choose_rank(scene(2, n=700, p=64), random_state=0)
    assert (choice.rank, choice.n_rows) == (2, 600)
    assert choice.n_inliers >= 300


def test_limits_are_kept():
    assert choose_rank(scene(3), max_rank=2, random_state=0).rank == 2


def test_what_it_says():
    choice = choose_rank(scene(2), random_state=0)
    assert choice.reason.startswith("component 2 explains ")
    assert "4 % is asked for" in choice.reason
    assert choice.held_out.size == choice.gains.size + 1 == choice.spectrum.size + 1
    # Two grey levels of noise, and a little for what one half of the pixels does not say.
    assert choice.held_out[2] == pytest.approx(2.05, abs=0.1)
    assert (np.diff(choice.spectrum) <= 0.0).all()
    assert choice.spectrum[1] > 2.0 * choice.spectrum[2]
    told = json.loads(json.dumps(choice.to_json()))
    assert (told["rank"], told["reason"]) == (2, choice.reason)
    assert len(told["gains"]) == choice.gains.size


@pytest.mark.parametrize(("index", "visitor"), [(1, True), (6, False), (12, True), (23, False)])
def test_components_of_clean_film_are_counted_also_behind_a_visitor(index, visitor):
    X, k = ranked_film(index, visitor=visitor)
    assert choose_rank(X, random_state=0).rank == k


def test_small_components_are_not_lost_with_the_frames_that_show_them():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(3000, 2)))[0].T * np.sqrt(3000)
    choice = choose_rank(
        0.7 * rng.normal(size=(200, 2)) @ U + rng.normal(size=(200, 3000)), random_state=0
    )
    assert choice.rank == 2
    assert choice.gains[:2].min() > 0.08
