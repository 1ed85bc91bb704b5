"""A run's masks look ahead and back: what flashes up where it is is in none, what walks in all."""

import numpy as np
import pytest

from bgsub.pipeline.run import apply, run
from bgsub.pipeline.streaming import masks

COUNT, HEIGHT, WIDTH = 60, 60, 80
FLASHES = range(30, 33)


@pytest.fixture(scope="module")
def flashing(tmp_path_factory):
    """A film with a walker, and something beside him that is in sight for three frames."""
    rng = np.random.default_rng(4)
    ground = rng.normal(120, 12, (HEIGHT // 4, WIDTH // 4, 1)).repeat(4, 0).repeat(4, 1)
    frames = np.empty((COUNT, HEIGHT, WIDTH, 3), np.uint8)
    for i in range(COUNT):
        frame = np.repeat(ground, 3, axis=2)
        if i >= 10:
            frame[35:50, i : i + 8] = 20
        if i in FLASHES:
            frame[10:15, 52:57] = 240  # below eight least areas: what is larger stays
        frames[i] = np.clip(frame + rng.normal(0, 2.5, frame.shape), 0, 255)
    path = tmp_path_factory.mktemp("flashing") / "film.npy"
    np.save(path, frames)
    return str(path)


@pytest.fixture(scope="module")
def found(flashing, tmp_path_factory):
    from tests.conftest import make_options

    out = tmp_path_factory.mktemp("found") / "r"
    run(flashing, out, make_options(outputs={"mask", "model"}, format="mkv", fps=25))
    return out


def shown(video, out):
    return np.array([frame[..., 0] > 0 for frame in video(out / "mask.mkv")])


def test_what_flashes_up_is_in_no_mask_and_who_walks_in_all(found, video):
    seen = shown(video, found)
    assert len(seen) == COUNT
    assert not seen[:, 5:21, 47:63].any()
    assert seen[10:, 32:53].any(axis=(1, 2)).all()


def test_a_least_area_that_is_given_keeps_it(flashing, options):
    seen = [mask for _, mask in masks(flashing, options(fps=25, min_area=12))]
    assert [i for i, mask in enumerate(seen) if mask[5:21, 47:63].any()] == list(FLASHES)


@pytest.mark.parametrize("rows", [1, 3])
def test_blocks_of_any_size_wait_for_the_same_masks(
    flashing, found, video, options, monkeypatch, rows
):
    monkeypatch.setattr("bgsub.fit.blocks.RENDER_ROWS", rows)
    seen = [(frame.number, mask > 0) for frame, mask in masks(flashing, options(fps=25))]
    assert [number for number, _ in seen] == list(range(1, COUNT + 1))
    np.testing.assert_array_equal([mask for _, mask in seen], shown(video, found))


def test_a_saved_model_gives_the_same_masks(flashing, found, tmp_path, video, options):
    apply(
        found / "model.npz",
        flashing,
        tmp_path / "a",
        options(outputs={"mask"}, format="mkv", fps=25, threads=2),
    )
    np.testing.assert_array_equal(shown(video, tmp_path / "a"), shown(video, found))
