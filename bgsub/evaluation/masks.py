"""Read masks, scores and ground truth by frame number, and find which belong together.

Unlike a `FrameSource`, readers keep 16 bits, know numbers in names, and miss no picture.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.evaluation.measures import BACKGROUND, FOREGROUND, UNSCORED
from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline.results import MANIFEST, has_results, load_manifest, recorded_path
from bgsub.runtime.files import check_plain
from bgsub.video import pyav
from bgsub.video.arrays import ArraySource, is_zarr
from bgsub.video.images import Image, count_pages, is_image_name, read_image
from bgsub.video.sink import find_written
from bgsub.video.source import is_there, list_directory, listed_images, open_source

Kind = Literal["mask", "scores"]
Numbers = NDArray[np.int64]
_DEEP = re.compile(r"gray(?:9|10|12|14|16)(?:le|be)")
# The Wallflower sequences: b00247.bmp is the frame, hand_segmented_00247.BMP its mask.
_COUNTS_FROM_0 = re.compile(r"(?:b|hand_segmented_)[0-9]{5}", re.IGNORECASE)
_FOLDER = "groundtruth"
# What the grey levels of ground truth mean.
_LEVELS = {0: BACKGROUND, 50: BACKGROUND, 85: UNSCORED, 170: UNSCORED, 255: FOREGROUND}
_UNKNOWN = 255
_TABLE = np.full(256, _UNKNOWN, dtype=np.uint8)
_TABLE[list(_LEVELS)] = list(_LEVELS.values())


def numbers_of(files: Sequence[Path]) -> list[int | None]:
    """Return the number in each name: s3_008_v2.png, s3_9_v2.png have the differing 8 and 9."""
    groups = [re.findall(r"[0-9]+", file.stem) for file in files]
    differing = [-1]
    if len({len(group) for group in groups}) == 1:
        columns = enumerate(zip(*groups, strict=True))
        differing += [at for at, column in columns if len({*column}) > 1]
    return [int(group[differing[-1]]) if group else None for group in groups]


class GreyImages:
    """Image files in the order of the numbers in their names; each is read when it is asked for."""

    def __init__(self, path: str, files: Sequence[Path]) -> None:
        self.path = path
        numbered: dict[int, Path] = {}
        for file, number in zip(files, numbers_of(files), strict=True):
            if number is None:
                raise InputError(f"{file}: has no number in its name to match it by; rename it")
            if number >= 1 << 63:
                digits = len(str(number))
                raise InputError(f"{file}: has a number of {digits} digits in its name; rename it")
            if number in numbered:
                message = f"{file}: has the same number as {numbered[number].name}, {number}"
                raise InputError(f"{message}; every image needs a number of its own")
            numbered[number] = file
        self.files = [numbered[number] for number in sorted(numbered)]
        self.numbers = np.array(sorted(numbered), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.files)

    def label(self, position: int) -> str:
        """Return the path of an image."""
        return str(self.files[position])

    def pick(self, positions: Sequence[int]) -> Iterator[Image]:
        """Yield the images at increasing positions, (h, w) of 8 or 16 bits."""
        return (to_grey(read_image(self.files[position])) for position in positions)


class GreyVideo:
    """The luma of a video or an array; its frames are decoded from the beginning each time."""

    numbers = None  # a video has no names

    def __init__(self, path: str) -> None:
        self.path = path
        self._source = source = open_source(path, color="gray")
        self._count = source.input_frames or 0
        if source.kind == "video":  # counting packets is much quicker than decoding them
            with pyav.open_input(path) as container:
                stream = container.streams.best("video")
                self._count = sum(packet.size > 0 for packet in container.demux(stream))

    def __len__(self) -> int:
        return self._count

    def label(self, position: int) -> str:
        """Return the name of a frame, counted from 1."""
        return f"{self.path} frame {position + 1}"

    def pick(self, positions: Sequence[int]) -> Iterator[Image]:
        """Yield frames at increasing positions, 8 or 16 bits; InputError if one is lost."""
        source = self._source
        if isinstance(source, ArraySource) and source.pixel_format == "gray16":
            yield from (source.values(position) for position in positions)
            return
        frames: Iterable[tuple[int, Image]] = ((f.number - 1, f.luma) for f in source)
        if _DEEP.fullmatch(source.pixel_format):
            frames = self._deep()
        wanted = list(positions)[::-1]
        for number, image in frames:
            if wanted and number == wanted[-1]:
                yield image
                wanted.pop()
            if not wanted or number > wanted[-1]:
                break
        if wanted:
            message = f"{self.label(wanted[-1])}: cannot be decoded"
            raise InputError(f"{message}; the file is cut off or damaged, create it again")

    def _deep(self) -> Iterator[tuple[int, Image]]:
        try:
            with pyav.open_input(self.path) as container:
                for number, frame in enumerate(container.decode(video=0)):
                    if not frame.is_corrupt:
                        yield number, frame.to_ndarray().astype(np.uint16, copy=False)
        except av.FFmpegError:
            return  # the frame that is asked for next is missed


GreyPictures = GreyImages | GreyVideo


def open_grey(path: str) -> GreyPictures:
    """Open images (folder, glob, printf pattern, file), a video or an array as grey frames."""
    place = Path(path)
    if files := listed_images(path):
        return GreyImages(path, files)
    if place.is_file() and is_image_name(place) and count_pages(place) < 2:
        return GreyImages(path, [place])
    return GreyVideo(path)


def to_grey(image: Image) -> Image:
    """Return a picture as grey, (h, w), with as many bits as it has."""
    grey: Any = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return grey  # type: ignore[no-any-return]


def to_8_bit(image: Image) -> NDArray[np.uint8]:
    """Return a picture with 8 bits, the upper ones of 16."""
    return np.asarray(image >> 8 if image.dtype == np.uint16 else image, dtype=np.uint8)


class MaskFiles(NamedTuple):
    """Masks, scores or ground truth of one sequence, whose name is guessed from the folders.

    `numbers` of frames increase: of a run those of its errors.csv and of a video positions, both
    from 1; of images those in their names (`is_named`). `counts_from_0` says that the first frame
    is number 0, since one is or because names of the kind b00247.png do (`named_from_0`). A run
    (`of_run`) may have `left_out` frames, as --every does; `footage` is there still, and
    `size_note` says why masks may differ in size. Pixels outside of `roi`, (h, w), which comes from
    `roi_path`, are not scored, nor pictures outside of `span`, that of temporalROI.txt.
    """

    path: str
    pictures: GreyPictures
    numbers: Numbers
    name: str = ""
    is_named: bool = False
    counts_from_0: bool = False
    named_from_0: bool = False
    of_run: bool = False
    left_out: bool = False
    footage: str | None = None
    size_note: str = ""
    roi: NDArray[np.bool_] | None = None
    roi_path: str = ""
    span: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Whether each picture is scored, shape (n,)."""
        first, last = self.span or (-1, np.iinfo(np.int64).max)
        return np.asarray((self.numbers >= first) & (self.numbers <= last))


def _plain(path: str, pictures: GreyPictures, **more: Any) -> MaskFiles:
    """Number pictures that no run made by their names, or by their positions in a video."""
    if isinstance(pictures, GreyVideo):
        return MaskFiles(path, pictures, np.arange(1, len(pictures) + 1), **more)
    by_name = all(_COUNTS_FROM_0.fullmatch(file.stem) for file in pictures.files)
    return MaskFiles(
        path,
        pictures,
        pictures.numbers,
        is_named=True,
        counts_from_0=by_name or bool(pictures.numbers[0] == 0),
        named_from_0=by_name,
        **more,
    )


def open_masks(path: str, kind: Kind = "mask") -> MaskFiles:
    """Open masks or scores: a folder of results, its mask alone, any other video, or images."""
    check_plain(path)
    place = Path(path)
    if has_results(place):
        return _of_run(path, place, find_written(place, kind), kind)
    if place.stem == kind and (place.parent / MANIFEST).is_file():
        return _of_run(path, place.parent, place, kind)
    if place.is_dir():
        inside = sorted(entry for entry in place.iterdir() if (entry / MANIFEST).is_file())
        if inside:
            message = f"{place}: holds the results of several inputs"
            raise InputError(f"{message}; give each with its truth, the first is {inside[0]}")
    return _plain(path, open_grey(path))


def _of_run(path: str, folder: Path, chosen: Path | None, kind: Kind) -> MaskFiles:
    manifest = load_manifest(folder)
    if chosen is None:
        advice = "without --only" if kind == "mask" else "with --save-scores"
        raise InputError(f"{folder}: its run wrote no {kind}; run it again {advice}")
    pictures = open_grey(str(chosen))
    if manifest.get("command", "run") not in {"run", "apply"}:
        raise InputError(f"{folder}: was written by bgsub {manifest['command']}, and has no masks")
    plain, bad = manifest["options"]["source"], manifest["bad_frames"]
    options = {name: value for name, value in plain.items() if value is not None}
    table = folder / "errors.csv"
    if table.is_file():
        numbers = read_csv(table).frames
    elif bad or {*options} & {"start", "every"}:
        message = f"{folder}: has no errors.csv, which numbers the frames of a run that left some"
        raise InputError(f"{message} out; run it again with --only mask,errors")
    else:
        numbers = np.arange(1, manifest["frames"]["used"] + 1, dtype=np.int64)
    if numbers.size != len(pictures):
        message = f"{chosen}: holds {len(pictures)} pictures, but its run had {numbers.size} frames"
        raise InputError(f"{message}; files of two runs are mixed, run it again")
    scale = options.get("scale")
    resized = [f"--scale {scale:g}"] if scale not in {None, 1} else []
    resized += ["--roi"] if options.get("roi") else []
    footage = recorded_path(manifest, manifest["input"]["path"])
    return MaskFiles(
        path,
        pictures,
        numbers,
        name=folder.resolve().name,
        of_run=True,
        left_out=bool(bad or {*options} & {"start", "every", "end"}),
        footage=footage if footage is not None and is_there(footage) else None,
        size_note=f" (made with {' '.join(resized)})" if resized else "",
    )


def open_truth(path: str) -> MaskFiles:
    """Open ground truth.

    A folder of images, or one that holds them in a folder ``groundtruth`` (CDnet, SBI), with
    ``ROI.bmp``, ``temporalROI.txt`` and ``input`` beside it; an image; a glob; a video; an array
    (.npy, .npz, .zarr); or a folder that another run of bgsub wrote, with its masks.
    """
    check_plain(path)
    place = Path(path)
    if has_results(place):
        return _of_run(path, place, find_written(place, "mask"), "mask")
    if not place.exists() and not glob.has_magic(path) and "%" not in path:
        raise InputError(f"{path}: no such ground truth; check the path")
    whole = place.resolve()
    if not place.is_dir() or is_zarr(place):
        # Hand-drawn masks are named after the folder that they are in.
        by_folder = not whole.is_dir() and _COUNTS_FROM_0.fullmatch(whole.stem)
        name = whole.parent.name if by_folder else whole.name if whole.is_dir() else whole.stem
        return _plain(path, open_grey(path), name=name or whole.stem)
    root = whole.parent if whole.name == _FOLDER and not (place / _FOLDER).is_dir() else place
    folder = place / _FOLDER if (place / _FOLDER).is_dir() else place
    files = [file for file in list_directory(folder) if file.stem.lower() != "roi"]
    if not files:
        raise InputError(f"{folder}: holds no images of ground truth; check the path")
    roi, roi_path, notes = _find_roi(root)
    return _plain(
        path,
        GreyImages(path, files),
        name=root.resolve().name,
        roi=roi,
        roi_path=roi_path,
        span=_read_temporal_roi(root / "temporalROI.txt"),
        footage=str(root / "input") if (root / "input").is_dir() else None,
        notes=notes,
    )


def _read_temporal_roi(file: Path) -> tuple[int, int] | None:
    if not file.is_file():
        return None
    try:
        first, last = map(int, file.read_text(encoding="ascii").split())
    except (OSError, ValueError) as error:
        message = f"{file}: must hold two frame numbers, the first and the last to be scored"
        raise InputError(message) from error
    if not 0 <= first <= last:
        raise InputError(f"{file}: the last frame, {last}, lies before the first, {first}")
    return first, last


def _find_roi(root: Path) -> tuple[NDArray[np.bool_] | None, str, tuple[str, ...]]:
    """Read the region of interest; CDnet's own ROI.jpg is a photograph and no mask."""
    for name in ("ROI.bmp", "ROI.png", "ROI.jpg"):
        file = root / name
        if not file.is_file():
            continue
        image = to_8_bit(to_grey(read_image(file)))
        between = np.count_nonzero((image > 32) & (image < 223))
        if between <= 0.01 * image.size:
            return image >= 128, str(file), ()
        if name == "ROI.jpg":
            return None, "", (f"{file} is a picture and not a mask; it is not used",)
        message = f"{file}: must be black and white, but has {between} pixels between"
        raise InputError(f"{message}; repair or remove it")
    return None, "", ()


def classify(image: Image, label: str, threshold: float | None = None) -> NDArray[np.uint8]:
    """Return what each pixel of ground truth is, by a threshold or by `_LEVELS`; uint8."""
    levels = to_8_bit(image)
    if threshold is not None:
        return (levels >= threshold).astype(np.uint8)
    classes = _TABLE[levels]
    strange = levels[classes == _UNKNOWN]
    if strange.size:
        highest = strange.max()
        message = f"{label}: holds grey level {highest}, which is none of 0, 50, 85, 170, 255"
        advice = f"--truth-threshold {min(128, highest)} makes that and brighter foreground"
        raise InputError(f"{message}; {advice}")
    return classes


class Matching(NamedTuple):
    """Masks and pictures of the truth that belong together: their places, in increasing order.

    `frames` are the masks' numbers, to which `offset` leads from the truth's unless the names of
    the input decide, as `rule` says; `unmatched` pictures of the truth have no mask.
    """

    masks: Numbers
    truths: Numbers
    frames: Numbers
    offset: int | None
    rule: str
    unmatched: int


def match(
    masks: MaskFiles,
    truth: MaskFiles,
    *,
    offset: int | None = None,
    footage: str | None = None,
    common: bool = False,
) -> Matching:
    """Find which picture of the truth belongs to which mask; with `common` either may lack some.

    `offset` is the number of a mask less that of its truth. The footage is by default what the
    masks know themselves, or what lies beside the truth.
    """
    rule = f"by number with offset {offset}"
    named = None if offset is not None else _by_footage(masks, truth, footage)
    if named is not None:
        keys, rule = named, "by the names of the input's images"
    else:
        if offset is None:
            offset, rule = _find_offset(masks, truth)
        keys = masks.numbers - offset
    wanted = truth.scored
    if truth.span is not None and not wanted.any():
        message = f"{truth.path}: temporalROI.txt wants {truth.span[0]}–{truth.span[1]}"
        raise InputError(f"{message}, but the truth is {_span(truth.numbers)}; check both")
    numbers = truth.numbers[wanted]
    ours, theirs = _span(masks.numbers), _span(numbers)
    both = f"{masks.path} holds masks {ours}, {truth.path} truth {theirs}"
    _, at_mask, at_truth = np.intersect1d(keys, numbers, return_indices=True)
    if not at_mask.size:
        message = f"{both}: no frame is in both, matched {rule}"
        raise InputError(f"{message}; give the difference of the numbers as --offset")
    if not common and (lacks := _lacking(masks, truth, keys, numbers)):
        advice = "give --offset, --input if its images are numbered otherwise, or --common"
        raise InputError(f"{both}: {lacks}, matched {rule}; {advice}")
    return Matching(
        at_mask.astype(np.int64),
        np.flatnonzero(wanted)[at_truth].astype(np.int64),
        masks.numbers[at_mask],
        offset,
        rule,
        numbers.size - at_truth.size,
    )


def _by_footage(masks: MaskFiles, truth: MaskFiles, footage: str | None) -> Numbers | None:
    """Number masks by the names of the input's images, where these match the truth."""
    if truth.of_run:
        return None
    names = footage_numbers(footage or masks.footage or truth.footage)
    if masks.is_named or names is None or masks.numbers[-1] > names.size:
        return None
    # A video that nothing is known of must at least have as many frames.
    is_whole = masks.footage is not None or masks.numbers.size == names.size
    fits = is_whole and np.isin(truth.numbers[truth.scored], names).all()
    return np.asarray(names[masks.numbers - 1]) if fits else None


def footage_numbers(footage: str | None) -> Numbers | None:
    """Return the numbers in the names of a folder of images; None where they do not grow."""
    if footage is None or not Path(footage).is_dir() or is_zarr(Path(footage)):
        return None
    numbers = numbers_of(list_directory(Path(footage)))
    if any(number is None or number >= 1 << 63 for number in numbers):
        return None
    found = np.array(numbers, dtype=np.int64)
    return found if bool((np.diff(found) > 0).all()) else None


def _find_offset(masks: MaskFiles, truth: MaskFiles) -> tuple[int, str]:
    if truth.of_run and not masks.is_named:
        return 0, "by equal numbers"
    ours, theirs = masks.numbers, truth.numbers
    if ours.size > 1 and np.array_equal(np.diff(ours), np.diff(theirs)):
        shift = int(ours[0] - theirs[0])
        rule = f"in their order, as there are as many of both (offset {shift})"
        return shift, rule if shift else "by equal numbers"
    inside = masks.is_named and not truth.named_from_0 and np.isin(ours, theirs).all()
    if truth.counts_from_0 and not masks.counts_from_0 and not inside:
        return 1, "by number, where the truth counts from 0 (offset 1)"
    return 0, "by equal numbers"


def _lacking(masks: MaskFiles, truth: MaskFiles, keys: Numbers, numbers: Numbers) -> str:
    """Name a picture of the truth without a mask, or a mask without its frame of a video."""
    lost = numbers[~np.isin(numbers, keys)]
    if lost.size and not masks.left_out:
        return f"the truth's {lost[0]} has no mask"
    extra = masks.numbers[~np.isin(keys, truth.numbers)]
    if isinstance(truth.pictures, GreyVideo) and extra.size:
        return f"frame {extra[0]} has no truth"
    return ""


def _span(numbers: Numbers) -> str:
    """Write numbers as words: "7", "1–3", "2–6 (2 of them)"."""
    first, last = int(numbers[0]), int(numbers[-1])
    if first == last:
        return str(first)
    several = "" if last - first + 1 == numbers.size else f" ({numbers.size} of them)"
    return f"{first}–{last}{several}"
