"""Match the pictures of the truth with masks, by number.

The truth's number t belongs to the frame f = t + offset. Where no offset is given it follows from
the first of these rules that applies:

1. The masks are of images that have names with numbers, and all numbers of the truth are among
   them: a mask has the number of the image it was made of, whatever its position.
2. Masks and truth are as many, with the same gaps between their numbers: the first belongs to the
   first.
3. The truth counts from 0, for one is numbered 0 or the names are those of Wallflower (b00247.png,
   hand_segmented_00247.bmp), and the masks count from 1: offset 1.
4. Equal numbers belong together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.evaluation.mask_files import MaskFiles, footage_numbers
from bgsub.evaluation.truth import Truth

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Matching:
    """Masks and pictures of the truth that belong together, in increasing order.

    Attributes
    ----------
    masks, truths : ndarray of int64, shape (n,)
        Positions in `MaskFiles.pictures` and `Truth.pictures`.
    frames : ndarray of int64, shape (n,)
        Frame numbers of the masks.
    offset : int or None
        What is added to the truth's number to give the frame's; None where the names of the input
        decide.
    rule : str
        How it was found, for people.
    unmatched : int
        Pictures of the truth that are to be scored but have no mask.
    """

    masks: Numbers
    truths: Numbers
    frames: Numbers
    offset: int | None
    rule: str
    unmatched: int


def match(
    masks: MaskFiles,
    truth: Truth,
    *,
    offset: int | None = None,
    footage: str | None = None,
    common: bool = False,
) -> Matching:
    """Find out which picture of the truth belongs to which mask.

    Parameters
    ----------
    masks : MaskFiles
    truth : Truth
    offset : int, optional
        Frame number of the masks less number of the truth.
    footage : str, optional
        What the masks were made of; what they know themselves and what lies beside the truth by
        default.
    common : bool
        Let either have pictures that the other lacks.

    Raises
    ------
    InputError
        If no number is in both, or some number is missing in one of them; names both.
    """
    keys, offset, rule = _keys(masks, truth, offset, footage)
    wanted = truth.scored()
    if not wanted.any():
        message = f"{truth.path}: temporalROI.txt wants {truth.first}–{truth.last}"
        raise InputError(f"{message}, but the truth is {_span(truth.numbers)}; check both")
    numbers = truth.numbers[wanted]
    _, at_mask, at_truth = np.intersect1d(keys, numbers, return_indices=True)
    if not at_mask.size:
        message = f"{_both(masks, truth)}: no frame is in both, matched {rule}"
        raise InputError(f"{message}; give the difference of the numbers as --offset")
    if not common:
        _check_whole(masks, truth, keys, numbers, rule)
    return Matching(
        at_mask.astype(np.int64),
        np.flatnonzero(wanted)[at_truth].astype(np.int64),
        masks.numbers[at_mask],
        offset,
        rule,
        numbers.size - at_truth.size,
    )


def _keys(
    masks: MaskFiles, truth: Truth, offset: int | None, footage: str | None
) -> tuple[Numbers, int | None, str]:
    """Give the number of the truth for each mask, the offset and the rule that gave it."""
    if offset is not None:
        return masks.numbers - offset, offset, f"by number with offset {offset}"
    named = _by_footage(masks, truth, footage)
    if named is not None:
        return named, None, "by the names of the input's images"
    found, rule = _find_offset(masks, truth)
    return masks.numbers - found, found, rule


def _by_footage(masks: MaskFiles, truth: Truth, footage: str | None) -> Numbers | None:
    """Number masks by the names of the input's images, where these match the truth."""
    if truth.of_run:
        return None
    names = footage_numbers(footage or masks.footage or truth.footage)
    if masks.is_named or names is None or masks.numbers[-1] > names.size:
        return None
    # A video that nothing is known of must at least have as many frames.
    if masks.footage is None and masks.numbers.size != names.size:
        return None
    if not np.isin(truth.numbers[truth.scored()], names).all():
        return None
    return np.asarray(names[masks.numbers - 1])


def _find_offset(masks: MaskFiles, truth: Truth) -> tuple[int, str]:
    if truth.of_run and not masks.is_named:
        return 0, "by equal numbers"
    ours, theirs = masks.numbers, truth.numbers
    if ours.size > 1 and np.array_equal(np.diff(ours), np.diff(theirs)):
        shift = int(ours[0] - theirs[0])
        rule = f"in their order, as there are as many of both (offset {shift})"
        return shift, rule if shift else "by equal numbers"
    inside = masks.is_named and not truth.counts_from_0_by_name and np.isin(ours, theirs).all()
    if truth.counts_from_0 and not masks.counts_from_0 and not inside:
        return 1, "by number, where the truth counts from 0 (offset 1)"
    return 0, "by equal numbers"


def _check_whole(
    masks: MaskFiles, truth: Truth, keys: Numbers, numbers: Numbers, rule: str
) -> None:
    """Raise unless every picture of the truth has its mask, and each mask its frame of a video."""
    lost = numbers[~np.isin(numbers, keys)]
    if lost.size and not masks.left_out:
        what = f"the truth's {lost[0]} has no mask"
    elif truth.is_video and not np.isin(keys, truth.numbers).all():
        what = f"frame {masks.numbers[~np.isin(keys, truth.numbers)][0]} has no truth"
    else:
        return
    advice = "give --offset, --input if its images are numbered otherwise, or --common"
    raise InputError(f"{_both(masks, truth)}: {what}, matched {rule}; {advice}")


def _both(masks: MaskFiles, truth: Truth) -> str:
    ours, theirs = _span(masks.numbers), _span(truth.numbers[truth.scored()])
    return f"{masks.path} holds masks {ours}, {truth.path} truth {theirs}"


def _span(numbers: Numbers) -> str:
    """Put numbers into words.

    Examples
    --------
    >>> _span(np.array([1, 2, 3])), _span(np.array([2, 6])), _span(np.array([7]))
    ('1–3', '2–6 (2 of them)', '7')
    """
    first, last = int(numbers[0]), int(numbers[-1])
    if first == last:
        return str(first)
    several = "" if last - first + 1 == numbers.size else f" ({numbers.size} of them)"
    return f"{first}–{last}{several}"
