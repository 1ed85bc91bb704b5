"""Find ground truth, the pixels that it scores and the numbers of its pictures.

Grey levels have the meaning that CDnet gave them: 255 is foreground, 0 background, 50 a cast
shadow, which counts as background, 85 (outside the region of interest) and 170 (unknown) are not
scored.
Sequences of SBI use 0, 170 and 255 of these, hand-drawn masks 0 and 255.
"""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.evaluation.confusion import BACKGROUND, FOREGROUND, UNSCORED
from bgsub.evaluation.grayscale import GreyImages, GreyPictures, open_grey, to_grey
from bgsub.files import check_plain
from bgsub.video.image_files import list_directory
from bgsub.video.images import Image, read_image
from bgsub.video.zarr_frames import is_zarr

LEVELS = {0: BACKGROUND, 50: BACKGROUND, 85: UNSCORED, 170: UNSCORED, 255: FOREGROUND}
"""What the grey levels of ground truth mean."""

_UNKNOWN = 255
_TABLE = np.full(256, _UNKNOWN, dtype=np.uint8)
_TABLE[list(LEVELS)] = list(LEVELS.values())

# The Wallflower sequences: b00247.bmp is the frame, hand_segmented_00247.BMP its mask.
_COUNTS_FROM_0 = re.compile(r"(?:b|hand_segmented_)[0-9]{5}", re.IGNORECASE)

_FOLDER = "groundtruth"
_ROI_NAMES = ("ROI.bmp", "ROI.png", "ROI.jpg")
_TEMPORAL = "temporalROI.txt"


@dataclass(frozen=True, eq=False)
class Truth:
    """Ground truth of one sequence.

    Attributes
    ----------
    path : str
        As it was given.
    name : str
        Of the sequence, guessed from the folders.
    pictures : GreyPictures
    numbers : ndarray of int64, shape (n,)
        In the names of its images; positions from 1 in a video.
    counts_from_0 : bool
        Whether the names number the first frame 0: one does, or they are of the kind b00247.png.
    counts_from_0_by_name : bool
        Whether they are of that kind.
    roi : ndarray of bool, shape (h, w), optional
        Pixels outside are not scored.
    roi_path : str
        Where it comes from.
    first, last : int, optional
        Numbers between which pictures are scored, both included, of temporalROI.txt.
    footage : str, optional
        The folder of input images beside it.
    notes : tuple of str
        What a user should know.
    of_run : bool
        Whether a run of bgsub made it, whose masks have frame numbers of their own.
    """

    path: str
    name: str
    pictures: GreyPictures
    numbers: NDArray[np.int64]
    counts_from_0: bool = False
    counts_from_0_by_name: bool = False
    roi: NDArray[np.bool_] | None = None
    roi_path: str = ""
    first: int | None = None
    last: int | None = None
    footage: str | None = None
    notes: tuple[str, ...] = ()
    of_run: bool = False

    @property
    def is_video(self) -> bool:
        """Say whether it is a video, which has a picture for every frame."""
        return self.pictures.numbers is None

    def scored(self) -> NDArray[np.bool_]:
        """Find the pictures within temporalROI.txt, shape (n,)."""
        low = -1 if self.first is None else self.first
        high = np.iinfo(np.int64).max if self.last is None else self.last
        inside: NDArray[np.bool_] = (self.numbers >= low) & (self.numbers <= high)
        return inside


def open_truth(path: str) -> Truth:
    """Open ground truth.

    Parameters
    ----------
    path : str
        A folder of images, or one that holds them in a folder ``groundtruth`` (CDnet, SBI), with
        ``ROI.bmp``, ``temporalROI.txt`` and ``input`` beside it; an image; a glob; a video; or an
        array (.npy, .npz, .zarr).

    Raises
    ------
    InputError
        If it cannot be read or is not understood.
    """
    check_plain(path)
    place = Path(path)
    if not place.exists() and not glob.has_magic(path) and "%" not in path:
        raise InputError(f"{path}: no such ground truth; check the path")
    if not place.is_dir() or is_zarr(place):
        pictures = open_grey(path)
        return Truth(path, _sequence_name(place), pictures, *_numbering(pictures))
    if (place / _FOLDER).is_dir():
        root, folder = place, place / _FOLDER
    elif place.resolve().name == _FOLDER:
        root, folder = place.resolve().parent, place
    else:
        root, folder = place, place
    files = [file for file in list_directory(folder) if file.stem.lower() != "roi"]
    if not files:
        raise InputError(f"{folder}: holds no images of ground truth; check the path")
    pictures = GreyImages(path, files)
    first, last = _read_temporal_roi(root / _TEMPORAL)
    roi, roi_path, notes = _find_roi(root)
    return Truth(
        path,
        _sequence_name(root),
        pictures,
        *_numbering(pictures),
        roi=roi,
        roi_path=roi_path,
        first=first,
        last=last,
        footage=str(root / "input") if (root / "input").is_dir() else None,
        notes=notes,
    )


def _sequence_name(place: Path) -> str:
    """Name a sequence by its folder; by the file where that is a video."""
    whole = place.resolve()
    if whole.is_dir():
        return whole.name
    parent = whole.parent.name
    return parent if parent and _COUNTS_FROM_0.fullmatch(whole.stem) else whole.stem


def _numbering(pictures: GreyPictures) -> tuple[NDArray[np.int64], bool, bool]:
    """Read numbers from names; say whether they count from 0, and whether their kind says so."""
    if not isinstance(pictures, GreyImages) or pictures.numbers is None:
        return np.arange(1, len(pictures) + 1, dtype=np.int64), False, False
    named = all(counts_from_0(file) for file in pictures.files)
    return pictures.numbers, named or bool(pictures.numbers[0] == 0), named


def counts_from_0(file: Path) -> bool:
    """Say whether a name is one of those that are known to number the first frame 0.

    Examples
    --------
    >>> counts_from_0(Path("b00247.png")), counts_from_0(Path("gt000247.png"))
    (True, False)
    """
    return _COUNTS_FROM_0.fullmatch(file.stem) is not None


def _read_temporal_roi(file: Path) -> tuple[int | None, int | None]:
    if not file.is_file():
        return None, None
    try:
        words = file.read_text(encoding="ascii").split()
        first, last = (int(word) for word in words)
    except (OSError, ValueError) as error:
        message = f"{file}: must hold two frame numbers, the first and the last to be scored"
        raise InputError(message) from error
    if not 0 <= first <= last:
        raise InputError(f"{file}: the last frame, {last}, lies before the first, {first}")
    return first, last


def _find_roi(root: Path) -> tuple[NDArray[np.bool_] | None, str, tuple[str, ...]]:
    """Read the region of interest; CDnet's own ROI.jpg is a photograph and no mask."""
    for name in _ROI_NAMES:
        file = root / name
        if not file.is_file():
            continue
        image = _to_8_bit(to_grey(read_image(file)))
        between = np.count_nonzero((image > 32) & (image < 223))
        if between <= 0.01 * image.size:
            return image >= 128, str(file), ()
        if name != "ROI.jpg":
            message = f"{file}: must be black and white, but has {between} pixels between"
            raise InputError(f"{message}; repair or remove it")
        return None, "", (f"{file} is a picture and not a mask; it is not used",)
    return None, "", ()


def _to_8_bit(image: Image) -> NDArray[np.uint8]:
    if image.dtype == np.uint16:
        return (image >> 8).astype(np.uint8)
    return image.astype(np.uint8, copy=False)


def classify(image: Image, label: str, threshold: float | None = None) -> NDArray[np.uint8]:
    """Class the pixels of a picture of ground truth: foreground, background, not scored.

    Parameters
    ----------
    image : ndarray of uint8 or uint16, shape (h, w)
        Of 16 bits the upper 8 count.
    label : str
        Names the picture in an error.
    threshold : float, optional
        From this level on a pixel is foreground, below it background, and all are scored; without
        it the levels mean what `LEVELS` says.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        `BACKGROUND`, `FOREGROUND` or `UNSCORED`.

    Raises
    ------
    InputError
        If the picture holds a level that has no meaning.
    """
    levels = _to_8_bit(image)
    if threshold is not None:
        return (levels >= threshold).astype(np.uint8)
    classes = _TABLE[levels]
    strange = classes == _UNKNOWN
    if strange.any():
        found = np.unique(levels[strange])
        known = ", ".join(map(str, LEVELS))
        message = f"{label}: holds grey level {found[-1]}, which is none of {known}"
        advice = f"--truth-threshold {min(128, found[-1])} makes that and brighter foreground"
        raise InputError(f"{message}; {advice}")
    return classes
