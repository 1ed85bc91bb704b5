import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.evaluation.masks import MaskFiles, Truth, match
from bgsub.video.images import write_image


class Stub:
    """Stands for pictures of which only the numbers matter."""

    def __init__(self, numbers=None):
        self.numbers = numbers


def masks_of(numbers, **more):
    return MaskFiles("masks", Stub(), np.array(numbers, np.int64), **more)


def truth_of(numbers, *, video=False, **more):
    numbers = np.array(numbers, np.int64)
    from_0 = more.pop("counts_from_0", bool(numbers[0] == 0))
    return Truth(
        "truth", "t", Stub(None if video else numbers), numbers, counts_from_0=from_0, **more
    )


def matched(matching, masks, truth):
    """Number of the truth by frame."""
    frames = masks.numbers[matching.masks].tolist()
    assert matching.frames.tolist() == frames
    return dict(zip(frames, truth.numbers[matching.truths].tolist(), strict=True))


@pytest.mark.parametrize(
    ("masks", "truth", "expected", "offset"),
    [
        (masks_of([1, 2, 3]), truth_of([1, 2, 3]), {1: 1, 2: 2, 3: 3}, 0),
        (masks_of([1, 2, 3, 4]), truth_of([2, 4]), {2: 2, 4: 4}, 0),
        (masks_of([1, 2, 3]), truth_of([0, 1, 2]), {1: 0, 2: 1, 3: 2}, 1),
        (masks_of([1, 2, 3, 4]), truth_of([0, 3]), {1: 0, 4: 3}, 1),
        (masks_of([1, 2, 3]), truth_of([301, 302, 303]), {1: 301, 2: 302, 3: 303}, -300),
        (
            masks_of([100, 101, 102], left_out=True),
            truth_of([1, 2, 3]),
            {100: 1, 101: 2, 102: 3},
            99,
        ),
        (masks_of(range(1, 9)), truth_of([5], counts_from_0=True), {6: 5}, 1),
        (masks_of([0, 1, 2], is_named=True, counts_from_0=True), truth_of([0, 2]), {0: 0, 2: 2}, 0),
        (masks_of([1, 2], is_named=True), truth_of([0, 1, 2, 3]), {1: 1, 2: 2}, 0),
        (masks_of([2, 4], left_out=True), truth_of([1, 2, 3, 4], video=True), {2: 2, 4: 4}, 0),
    ],
)
def test_found(masks, truth, expected, offset):
    matching = match(masks, truth, common=masks.is_named)
    assert matched(matching, masks, truth) == expected
    assert matching.offset == offset


def test_hand_drawn_names_count_from_0_whatever_the_masks_are_called():
    masks = masks_of(range(1, 9), is_named=True)
    truth = truth_of([5], counts_from_0=True, counts_from_0_by_name=True)
    assert matched(match(masks, truth), masks, truth) == {6: 5}


def test_a_given_offset_decides():
    masks, truth = masks_of(range(1, 9)), truth_of([5], counts_from_0=True)
    matching = match(masks, truth, offset=-2)
    assert matched(matching, masks, truth) == {3: 5}
    assert "-2" in matching.rule


def test_names_of_the_input_decide(tmp_path):
    for number in range(0, 12, 2):
        write_image(tmp_path / f"in{number:06d}.png", np.zeros((2, 2), np.uint8))
    truth = truth_of([2, 4, 10])
    expected = {2: 2, 3: 4, 6: 10}
    for masks in (masks_of(range(1, 7), footage=str(tmp_path)), masks_of(range(1, 7))):
        matching = match(masks, truth, footage=str(tmp_path))
        assert matched(matching, masks, truth) == expected
        assert matching.offset is None
    beside = truth_of([2, 4, 10], footage=str(tmp_path))
    assert matched(match(masks_of(range(1, 7)), beside), masks, beside) == expected
    # Five masks of six images: nothing says which of them.
    with pytest.raises(InputError, match="truth's 10 has no mask"):
        match(masks_of(range(1, 6)), beside)


def test_only_the_temporal_roi_is_scored():
    masks, truth = masks_of([1, 2, 3, 4]), truth_of([1, 2, 3, 4, 5, 6], first=2, last=4)
    assert matched(match(masks, truth), masks, truth) == {2: 2, 3: 3, 4: 4}
    with pytest.raises(InputError, match=r"temporalROI\.txt wants 9–12"):
        match(masks, truth_of([1, 2], first=9, last=12))


@pytest.mark.parametrize(
    ("masks", "truth", "what"),
    [
        (
            masks_of(range(1, 5)),
            truth_of(range(1, 7)),
            r"masks 1–4, .* 1–6: .*5 has no mask",
        ),
        (
            masks_of(range(1, 7)),
            truth_of(range(1, 5), video=True),
            r"1–4: frame 5 has no truth",
        ),
        (
            masks_of([1, 2]),
            truth_of([70, 80, 91]),
            r"masks 1–2, .* 70–91 \(3 of them\): no",
        ),
        (masks_of([7]), truth_of([9]), r"masks 7, truth truth 9: no frame is in both"),
    ],
)
def test_numbers_that_do_not_match_are_named(masks, truth, what):
    with pytest.raises(InputError, match=what):
        match(masks, truth)


def test_what_is_common_is_scored_on_request():
    masks, truth = masks_of(range(1, 5)), truth_of(range(3, 8))
    matching = match(masks, truth, common=True)
    assert matched(matching, masks, truth) == {3: 3, 4: 4}
    assert matching.unmatched == 3


def test_a_run_may_leave_frames_out():
    masks, truth = masks_of([2, 4], left_out=True), truth_of(range(1, 6))
    matching = match(masks, truth)
    assert matched(matching, masks, truth) == {2: 2, 4: 4}
    assert matching.unmatched == 3
