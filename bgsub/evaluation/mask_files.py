"""Find masks to be evaluated, bgsub's own or others, and the frames that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.evaluation.grayscale import GreyImages, GreyPictures, numbers_of, open_grey
from bgsub.evaluation.truth import Truth, counts_from_0
from bgsub.files import check_plain
from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline.directory import MANIFEST, has_results
from bgsub.pipeline.manifest import load_manifest, recorded_path
from bgsub.video.image_files import list_directory
from bgsub.video.source import is_there
from bgsub.video.zarr_frames import is_zarr

Kind = Literal["mask", "scores"]


@dataclass(frozen=True, eq=False)
class MaskFiles:
    """Masks (or scores) of one sequence.

    Attributes
    ----------
    path : str
        As it was given.
    pictures : GreyPictures
    numbers : ndarray of int64, shape (n,)
        Frame numbers, increasing: of a run those of its errors.csv and of a video positions, both
        counted from 1; of images the numbers in their names.
    is_named : bool
        Whether the numbers are those of file names.
    counts_from_0 : bool
        Whether the names number the first frame 0.
    left_out : bool
        Whether the run that made them left frames of its input out, as --every does.
    footage : str, optional
        What they were made of, if it is still there.
    size_note : str
        Why their size may differ from that of the truth.
    """

    path: str
    pictures: GreyPictures
    numbers: NDArray[np.int64]
    is_named: bool = False
    counts_from_0: bool = False
    left_out: bool = False
    footage: str | None = None
    size_note: str = ""


def open_masks(path: str, kind: Kind = "mask") -> MaskFiles:
    """Open masks, or scores.

    Parameters
    ----------
    path : str
        A folder of results of bgsub, its mask (or scores) alone; any other video; or images.
    kind : {"mask", "scores"}
        Which output of a results folder is meant.

    Raises
    ------
    InputError
        If they cannot be read, or it cannot be told which frames they are of.
    """
    check_plain(path)
    place = Path(path)
    if has_results(place):
        return _of_results(path, place, None, kind)
    if place.stem == kind and (place.parent / MANIFEST).is_file():
        return _of_results(path, place.parent, place, kind)
    if place.is_dir():
        _refuse_batch(place)
    pictures = open_grey(path)
    if pictures.numbers is None:
        return MaskFiles(path, pictures, np.arange(1, len(pictures) + 1, dtype=np.int64))
    named = isinstance(pictures, GreyImages) and all(map(counts_from_0, pictures.files))
    from_0 = named or bool(pictures.numbers[0] == 0)
    return MaskFiles(path, pictures, pictures.numbers, is_named=True, counts_from_0=from_0)


def masks_as_truth(path: str) -> Truth | None:
    """Open the masks of a results folder as truth for those of another run; None for all else.

    Raises
    ------
    InputError
        If the folder holds no masks.
    """
    check_plain(path)
    place = Path(path)
    if not has_results(place):
        return None
    masks = _of_results(path, place, None, "mask")
    name = place.resolve().name
    return Truth(path, name, masks.pictures, masks.numbers, footage=masks.footage, of_run=True)


def _refuse_batch(folder: Path) -> None:
    inside = sorted(entry for entry in folder.iterdir() if (entry / MANIFEST).is_file())
    if inside:
        message = f"{folder}: holds the results of several inputs"
        raise InputError(f"{message}; give each with its truth, the first is {inside[0]}")


def _of_results(path: str, folder: Path, chosen: Path | None, kind: Kind) -> MaskFiles:
    manifest = load_manifest(folder)
    if chosen is None:
        chosen = _output(folder, kind)
    pictures = open_grey(str(chosen))
    if "input" not in manifest or "frames" not in manifest:
        raise InputError(f"{folder}: was written by bgsub {manifest['command']}, and has no masks")
    options, bad = manifest["options"]["source"], manifest["bad_frames"]
    used = manifest["frames"]["used"]
    footage = recorded_path(manifest, manifest["input"]["path"])
    picked = any(options.get(name) is not None for name in ("start", "every"))
    numbers = _frame_numbers(folder, chosen, used, len(pictures), plain=not picked and not bad)
    return MaskFiles(
        path,
        pictures,
        numbers,
        left_out=picked or options.get("end") is not None or bool(bad),
        footage=footage if footage is not None and is_there(footage) else None,
        size_note=_size_note(options),
    )


def find_output(folder: Path, kind: Kind) -> Path | None:
    """Find the masks or scores that a run wrote, in whatever format; None if it wrote none."""
    names = (f"{kind}.mkv", f"{kind}.mp4", kind, f"{kind}.zarr")
    return next((folder / name for name in names if (folder / name).exists()), None)


def _output(folder: Path, kind: Kind) -> Path:
    if (found := find_output(folder, kind)) is not None:
        return found
    advice = "run it again " + ("without --only" if kind == "mask" else "with --save-scores")
    raise InputError(f"{folder}: its run wrote no {kind}; {advice}")


def _frame_numbers(
    folder: Path, chosen: Path, used: int, count: int, *, plain: bool
) -> NDArray[np.int64]:
    """Give the frames of the input that the pictures of a run belong to."""
    table = folder / "errors.csv"
    if table.is_file():
        numbers = read_csv(table).frames
    elif plain:
        numbers = np.arange(1, used + 1, dtype=np.int64)
    else:
        message = f"{folder}: has no errors.csv, which numbers the frames of a run that left some"
        raise InputError(f"{message} out; run it again with --only mask,errors")
    if numbers.size != count:
        message = f"{chosen}: holds {count} pictures, but its run had {numbers.size} frames"
        raise InputError(f"{message}; files of two runs are mixed, run it again")
    return numbers


def _size_note(options: dict[str, Any]) -> str:
    """Name the options of a run that made its masks smaller or larger than its input."""
    said = []
    if options.get("scale") not in {None, 1}:
        said.append(f"--scale {options['scale']:g}")
    if options.get("roi"):
        said.append("--roi")
    return f" (made with {' '.join(said)})" if said else ""


def footage_numbers(footage: str | None) -> NDArray[np.int64] | None:
    """Give the numbers in the names of a folder of input images, in the order of its frames.

    None for any other footage, and where the numbers do not grow with the frames.
    """
    if footage is None or not Path(footage).is_dir() or is_zarr(Path(footage)):
        return None
    numbers = numbers_of(list_directory(Path(footage)))
    if any(number is None or number >= 1 << 63 for number in numbers):
        return None
    found = np.array(numbers, dtype=np.int64)
    return found if bool((np.diff(found) > 0).all()) else None
