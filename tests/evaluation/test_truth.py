from pathlib import Path

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.evaluation.masks import classify, counts_from_0, open_truth
from bgsub.video.images import write_image

SAMPLES = Path(__file__).parents[2] / "sample_videos"
LEVELS = np.array([[0, 50, 85, 170, 255]], np.uint8)


@pytest.fixture
def cdnet(tmp_path):
    """A sequence in CDnet's layout, its region of interest without the last column."""
    root = tmp_path / "highway"
    (root / "groundtruth").mkdir(parents=True)
    (root / "input").mkdir()
    for number in range(1, 7):
        write_image(root / "groundtruth" / f"gt{number:06d}.png", LEVELS)
        write_image(root / "input" / f"in{number:06d}.png", LEVELS)
    write_image(root / "ROI.bmp", np.array([[255, 255, 255, 255, 0]], np.uint8))
    write_image(root / "ROI.jpg", np.full((1, 5, 3), 120, np.uint8))
    (root / "temporalROI.txt").write_text("3 5")
    return root


def test_levels_have_the_meaning_of_cdnet():
    assert classify(LEVELS, "x").tolist() == [[0, 0, 2, 2, 1]]
    assert classify(LEVELS.astype(np.uint16) * 257, "x").tolist() == [[0, 0, 2, 2, 1]]


def test_a_threshold_scores_everything():
    assert classify(LEVELS, "x", 128).tolist() == [[0, 0, 0, 1, 1]]
    assert classify(np.array([[0, 1]], np.uint8), "x", 1).tolist() == [[0, 1]]


@pytest.mark.parametrize(("level", "advice"), [(1, 1), (120, 120), (250, 128)])
def test_other_levels_are_an_error(level, advice):
    expected = rf"gt7\.png: holds grey level {level}, .*--truth-threshold {advice} "
    with pytest.raises(InputError, match=expected):
        classify(np.array([[0, level]], np.uint8), "gt7.png")


@pytest.mark.parametrize("inside", [False, True])
def test_the_layout_of_cdnet(cdnet, inside):
    truth = open_truth(str(cdnet / "groundtruth" if inside else cdnet))
    assert truth.name == "highway"
    assert truth.numbers.tolist() == [1, 2, 3, 4, 5, 6]
    assert truth.scored().tolist() == [False, False, True, True, True, False]
    assert truth.roi.tolist() == [[True, True, True, True, False]]
    assert Path(truth.footage) == cdnet / "input"
    assert not truth.counts_from_0
    assert not truth.is_video


def test_a_photograph_is_no_region_of_interest(cdnet):
    (cdnet / "ROI.bmp").unlink()
    truth = open_truth(str(cdnet))
    assert truth.roi is None
    assert "ROI.jpg is a picture" in truth.notes[0]
    write_image(cdnet / "ROI.jpg", np.full((1, 5), 255, np.uint8))
    assert open_truth(str(cdnet)).roi.all()


def test_a_grey_region_of_interest_is_an_error(cdnet):
    write_image(cdnet / "ROI.bmp", np.full((1, 5), 120, np.uint8))
    with pytest.raises(InputError, match=r"ROI\.bmp: must be black and white"):
        open_truth(str(cdnet))


@pytest.mark.parametrize("text", ["", "470", "a b", "9 3", "1 2 3"])
def test_temporal_roi_that_is_not_understood(cdnet, text):
    (cdnet / "temporalROI.txt").write_text(text)
    with pytest.raises(InputError, match=r"temporalROI\.txt"):
        open_truth(str(cdnet))


def test_plain_images_with_a_region_among_them(tmp_path):
    for name in ("gt2.png", "gt4.png", "ROI.png"):
        write_image(tmp_path / name, np.zeros((2, 3), np.uint8))
    truth = open_truth(str(tmp_path))
    assert truth.numbers.tolist() == [2, 4]
    assert not truth.roi.any()


def test_hand_drawn_masks_count_from_0(tmp_path):
    folder = tmp_path / "waving_trees"
    folder.mkdir()
    write_image(folder / "b00247.png", LEVELS)
    truth = open_truth(str(folder / "b00247.png"))
    assert (truth.name, truth.numbers.tolist(), truth.counts_from_0) == (
        "waving_trees",
        [247],
        True,
    )
    assert open_truth(str(folder)).counts_from_0_by_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("b00247.png", True),
        ("hand_segmented_00247.BMP", True),
        ("gt000247.png", False),
        ("b247.png", False),
        ("bin00247.png", False),
    ],
)
def test_names_that_count_from_0(name, expected):
    assert counts_from_0(Path(name)) is expected


def test_a_video_numbers_its_frames(tmp_path):
    truth = open_truth(str(SAMPLES / "water_masks.mkv"))
    assert truth.is_video
    assert truth.numbers[[0, -1]].tolist() == [1, 633]
    assert truth.name == "water_masks"


def test_what_is_not_there(tmp_path):
    with pytest.raises(InputError, match="no such ground truth"):
        open_truth(str(tmp_path / "none"))
    with pytest.raises(InputError, match="holds no images"):
        open_truth(str(tmp_path))
    write_image(tmp_path / "ROI.png", LEVELS)
    with pytest.raises(InputError, match="holds no images of ground truth"):
        open_truth(str(tmp_path))


def test_names_with_numbers_of_20_digits_are_refused(tmp_path):
    for name in ("1", "12345678901234567890"):
        write_image(tmp_path / f"{name}.png", np.zeros((4, 4), np.uint8))
    with pytest.raises(InputError, match="a number of 20 digits in its name"):
        open_truth(str(tmp_path))
