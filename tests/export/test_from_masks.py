"""Objects of masks that exist already."""

from fractions import Fraction

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.export.from_masks import follow_masks
from bgsub.export.run_data import load_run
from bgsub.tracking.recorder import ObjectOptions
from bgsub.tracking.tables import read_objects
from bgsub.video.images import write_image


@pytest.fixture
def masks(tmp_path):
    folder = tmp_path / "masks"
    folder.mkdir()
    for number in range(20):
        mask = np.zeros((40, 60), np.uint8)
        mask[10:20, number : number + 9] = 255
        write_image(folder / f"m{number:04d}.png", mask)
    return folder


def test_images_that_count_from_0_are_frames_from_1(masks, tmp_path):
    found, notes = follow_masks(str(masks), tmp_path / "o", ObjectOptions(), rate=Fraction(10))
    assert len(found.tracks) == 1
    seen = list(read_objects(tmp_path / "o" / "objects.csv"))
    assert [each.frame for each in seen] == list(range(1, 21))
    assert seen[3].box == (3, 10, 9, 10)
    assert seen[3].time_s == pytest.approx(0.3)
    assert notes == ["the film is not at hand: objects are told apart by motion"]


def test_a_rate_that_is_not_known_is_said(masks, tmp_path):
    _, notes = follow_masks(str(masks), tmp_path / "o", ObjectOptions())
    assert any("give it with --fps" in note for note in notes)


def test_the_tables_can_be_exported(masks, tmp_path):
    follow_masks(str(masks), tmp_path / "o", ObjectOptions(), rate=Fraction(10))
    run = load_run(tmp_path / "o")
    assert (run.width, run.height, run.rate) == (60, 40, 10)
    assert len(run.objects()) == 20


def test_masks_of_two_sizes_are_refused_by_name(masks, tmp_path):
    write_image(masks / "m0007.png", np.zeros((20, 20), np.uint8))
    with pytest.raises(InputError, match=r"20×20"):
        follow_masks(str(masks), tmp_path / "o", ObjectOptions())
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("fading", [False, True])
def test_a_film_is_no_masks(masks, tmp_path, fading):
    for number in range(20):
        rng = np.random.default_rng(number)
        light = number / 19 if fading else 1
        write_image(
            masks / f"m{number:04d}.png", (light * rng.integers(0, 255, (40, 60))).astype(np.uint8)
        )
    with pytest.raises(InputError, match=r"is a picture, and no mask: give bgsub run the film"):
        follow_masks(str(masks), tmp_path / "o", ObjectOptions(), rate=Fraction(10))
    assert not (tmp_path / "o").exists()


def test_masks_may_have_shadows_unknown_parts_and_noise(masks, tmp_path):
    rng = np.random.default_rng(0)
    for number in range(20):
        mask = np.full((40, 60), 127, np.uint8)
        mask[:15], mask[15:20] = 85, 170
        mask[10:20, number : number + 9] = 255
        mask[20:25] = rng.integers(0, 255, (5, 60))
        write_image(masks / f"m{number:04d}.png", mask)
    found, _ = follow_masks(str(masks), tmp_path / "o", ObjectOptions(), rate=Fraction(10))
    assert found.tracks
