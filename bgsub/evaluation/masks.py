"""Read grey pictures of 8 or 16 bits by their position: masks, ground truth and scores.

Unlike a `FrameSource` it keeps 16-bit values, knows the numbers in file names, and lets no picture
that is asked for be missing.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.evaluation.measures import BACKGROUND, FOREGROUND, UNSCORED
from bgsub.files import check_plain
from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline.directory import MANIFEST, has_results
from bgsub.pipeline.manifest import load_manifest, recorded_path
from bgsub.video.arrays import ArraySource, is_zarr
from bgsub.video.image_files import is_printf, list_directory, list_glob, list_printf
from bgsub.video.images import Image, count_pages, is_image_name, read_image
from bgsub.video.source import FrameSource, is_there, open_source

_DEEP = re.compile(r"gray(?:9|10|12|14|16)(?:le|be)")


class GreyPictures(Protocol):
    """Pictures of one input in a fixed order, each with a position from 0.

    Attributes
    ----------
    path : str
        As it was given.
    numbers : ndarray of int64, shape (n,), or None
        The numbers in the file names, increasing; None for a video, which has no names.
    """

    path: str
    numbers: NDArray[np.int64] | None

    def __len__(self) -> int: ...

    def label(self, position: int) -> str:
        """Name a picture for people."""
        ...

    def pick(self, positions: Sequence[int]) -> Iterator[Image]:
        """Return the pictures at some positions, in increasing order, as (h, w) of 8 or 16 bits."""
        ...


def open_grey(path: str) -> GreyPictures:
    """Open images (folder, glob, printf pattern, file), a video or an array as grey frames."""
    place = Path(path)
    if place.is_dir() and not is_zarr(place):
        return GreyImages(path, list_directory(place))
    if not place.exists() and is_printf(place.name):
        return GreyImages(path, list_printf(place))
    if not place.exists() and glob.has_magic(path):
        return GreyImages(path, list_glob(path))
    if place.is_file() and is_image_name(place) and count_pages(place) < 2:
        return GreyImages(path, [place])
    return GreyVideo(path)


def numbers_of(files: Sequence[Path]) -> list[int | None]:
    """Return the number in each file's name: of the last group of digits that tells them apart.

    Examples
    --------
    >>> numbers_of([Path("in000012.jpg")]), numbers_of([Path("s3_008_v2.png"), Path("s3_9_v2.png")])
    ([12], [8, 9])
    """
    groups = [re.findall(r"[0-9]+", file.stem) for file in files]
    which = -1
    if len({len(group) for group in groups}) == 1:
        columns = list(zip(*groups, strict=True))
        differing = [place for place, column in enumerate(columns) if len(set(column)) > 1]
        which = differing[-1] if differing else -1
    return [int(group[which]) if group else None for group in groups]


def to_grey(image: Image) -> Image:
    """Return a picture as grey, (h, w), with as many bits as it has."""
    if image.ndim == 2:
        return image
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    if image.dtype == np.uint8:
        return grey.astype(np.uint8, copy=False)
    return grey.astype(np.uint16, copy=False)


class GreyImages:
    """Image files, ordered by the numbers in their names; each is read when it is asked for."""

    def __init__(self, path: str, files: Sequence[Path]) -> None:
        self.path = path
        numbered: dict[int, Path] = {}
        for file, number in zip(files, numbers_of(files), strict=True):
            if number is None:
                message = f"{file}: has no number in its name to match it by; rename it"
                raise InputError(message)
            if number >= 1 << 63:
                message = (
                    f"{file}: has a number of {len(str(number))} digits in its name; rename it"
                )
                raise InputError(message)
            if number in numbered:
                message = f"{file}: has the same number as {numbered[number].name}, {number}"
                raise InputError(f"{message}; every image needs a number of its own")
            numbered[number] = file
        self.files = [numbered[number] for number in sorted(numbered)]
        self.numbers: NDArray[np.int64] | None = np.array(sorted(numbered), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.files)

    def label(self, position: int) -> str:
        """Return the path of an image."""
        return str(self.files[position])

    def pick(self, positions: Sequence[int]) -> Iterator[Image]:
        """Read the images at some positions."""
        return (to_grey(read_image(self.files[position])) for position in positions)


class GreyVideo:
    """The luma of a video file, or of an array; frames are decoded from the beginning each time."""

    numbers: NDArray[np.int64] | None = None

    def __init__(self, path: str) -> None:
        self.path = path
        self._source: FrameSource = open_source(path, color="gray")
        self._is_deep = _DEEP.fullmatch(self._source.pixel_format) is not None
        self._array = self._source if isinstance(self._source, ArraySource) else None
        self._count = _count(self._source)

    def __len__(self) -> int:
        return self._count

    def label(self, position: int) -> str:
        """Name a frame, counted from 1."""
        return f"{self.path} frame {position + 1}"

    def pick(self, positions: Sequence[int]) -> Iterator[Image]:
        """Decode, and give the frames at some positions; InputError if one is damaged or missing.

        16-bit grey video and arrays come out with their 16 bits, everything else with 8.
        """
        if self._array is not None and self._array.pixel_format == "gray16":
            yield from (self._array.values(position) for position in positions)
            return
        wanted = iter(positions)
        position = next(wanted, None)
        with closing(self._deep() if self._is_deep else self._luma()) as frames:
            while position is not None:
                number, image = next(frames, (None, None))
                if image is None or number is None or number > position:
                    message = f"{self.label(position)}: cannot be decoded"
                    raise InputError(f"{message}; the file is cut off or damaged, create it again")
                if number == position:
                    yield image
                    position = next(wanted, None)

    def _luma(self) -> Generator[tuple[int, Image], None, None]:
        for frame in self._source:
            yield frame.number - 1, frame.luma

    def _deep(self) -> Generator[tuple[int, Image], None, None]:
        import av

        from bgsub.video import pyav

        try:
            with pyav.open_input(self.path) as container:
                for number, frame in enumerate(container.decode(video=0)):
                    if not frame.is_corrupt:
                        yield number, frame.to_ndarray().astype(np.uint16, copy=False)
        except av.FFmpegError:
            return  # the frame that is asked for next is missed


def _count(source: FrameSource) -> int:
    """Count the frames: of a video by its packets, which is much quicker than decoding it."""
    if source.kind != "video":
        return source.input_frames or 0
    from bgsub.video import pyav

    with pyav.open_input(source.path) as container:
        stream = container.streams.best("video")
        return sum(packet.size > 0 for packet in container.demux(stream))


def footage_pictures(path: str, frames: Sequence[int]) -> dict[int, NDArray[np.uint8]]:
    """Return some frames of footage as pictures of three channels in OpenCV's order.

    Parameters
    ----------
    path : str
        As for `bgsub.video.source.open_source`.
    frames : sequence of int
        Frame numbers counted from 1.

    Returns
    -------
    dict
        By frame number; without those that the footage does not have.
    """
    wanted = set(frames)
    source = open_source(path, start=min(wanted), end=max(wanted), exact_color=True)
    found: dict[int, NDArray[np.uint8]] = {}
    for frame in source:
        if frame.number in wanted:
            picture = frame.layout.to_bgr(frame.data)
            if picture.ndim == 2:
                picture = np.repeat(picture[:, :, None], 3, axis=2)
            found[frame.number] = picture.copy()
    return found


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
        """Return whether it is a video, which has a picture for every frame."""
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
    """Return whether a name is one of those that are known to number the first frame 0.

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


Kind = Literal["mask", "scores"]


@dataclass(frozen=True, eq=False)
class MaskFiles:
    """Masks (or scores) of one sequence.

    Attributes
    ----------
    path : str
        As it was given.
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
    """Open the masks of a results folder as truth for those of another run; None for all else."""
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
    """Return the frames of the input that the pictures of a run belong to."""
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
    """Return the numbers in the names of a folder of input images, in the order of its frames.

    None for any other footage, and where the numbers do not grow with the frames.
    """
    if footage is None or not Path(footage).is_dir() or is_zarr(Path(footage)):
        return None
    numbers = numbers_of(list_directory(Path(footage)))
    if any(number is None or number >= 1 << 63 for number in numbers):
        return None
    found = np.array(numbers, dtype=np.int64)
    return found if bool((np.diff(found) > 0).all()) else None


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
    offset : int, optional
        Frame number of the masks less number of the truth.
    footage : str, optional
        What the masks were made of; what they know themselves and what lies beside the truth by
        default.
    common : bool
        Let either have pictures that the other lacks.
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
    """Return the number of the truth for each mask, the offset and the rule that gave it."""
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
