"""Measure whether background, foreground and masks of a run tell one story.

python -m benchmarks.backgrounds DATA [NAME ...]

For every labelled sequence: mean |x − x_b| outside the mask, in grey levels, and the share of it
above 30; within true objects, the share of the mask's pixels that the foreground shows above 3 σ,
with the σ of run.json and with that of |x − x_b| outside the mask; and of the others, with the
first σ, the share whose background is within 3 σ of the median of the 25 frames nearest in time
that show the pixel outside their masks, and the share whose frame is: there the object has the
colours of its place, or the mask reaches out. Then composites of
`benchmarks.plates`, whose background is known, and sequences with people who stay, where the labels
tell it: mean error of the background of every frame, of the latter within masks alone, and of the
median of the film. Of the latter, too, how far both are from the frames beside the masks, where the
place is seen: the truth is one picture, and the light of the frames is not. NAMEs choose sequences.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.footage import Footage, pictures, sequences
from benchmarks.plates import PEOPLE, Frames, cover, footage, labelled
from bgsub.evaluation.masks import MaskFiles, classify, match, open_truth
from bgsub.evaluation.measures import FOREGROUND
from bgsub.options import RunOptions
from bgsub.pipeline.run import run
from bgsub.robustpca.spaces import NORMAL_MAD
from bgsub.video.frames import Bytes
from bgsub.video.source import open_source

_FAR, _SIGMAS = 30, 3
_NEAREST, _LOOKED_AT = 25, 400
_BESIDE = np.ones((7, 7), np.uint8)
_AROUND = np.ones((31, 31), np.uint8)

Flags = NDArray[np.bool_]


def complete(of: str | Frames, folder: Path) -> float:
    """Write background and masks without loss, and give the noise of the film in grey levels."""
    outputs = frozenset({"background", "mask"})
    run(of, folder, RunOptions(outputs=outputs, format="mkv", force=True))
    states = json.loads((folder / "run.json").read_text())["mask_states"]
    return float(states[0]["noise"])


def truths(one: Footage) -> dict[int, Bytes]:
    """Return the labels of frames by their place in the film."""
    truth = open_truth(one.truth)
    total = sum(1 for _ in open_source(one.frames))
    masks = MaskFiles(one.frames, truth.pictures, np.arange(1, total + 1))
    pairs = match(masks, truth, footage=one.frames, common=True)
    labels = (classify(given, one.truth) for given in truth.pictures.pick(pairs.truths.tolist()))
    return dict(zip(pairs.masks.tolist(), labels, strict=True))


def grey(path: Path) -> Iterator[Bytes]:
    """Read masks."""
    return (np.asarray(one[..., 0]) for one in pictures(str(path)))


class Clean:
    """Frames of a film, 400 to 800 of a long one, and where they show no object."""

    def __init__(self, frames: Sequence[Bytes], masks: Sequence[Bytes]) -> None:
        self._every = max(len(frames) // _LOOKED_AT, 1)
        self._frames = np.stack(frames[:: self._every])
        self._free = np.stack([cv2.dilate(one, _BESIDE) == 0 for one in masks[:: self._every]])

    def behind(self, at: int, where: Flags) -> NDArray[np.float64]:
        """Return the median of the frames nearest to one of them that show some pixels, (m, c)."""
        y, x = np.nonzero(where)
        near = np.argsort(np.abs(np.arange(len(self._frames)) * self._every - at), kind="stable")
        free = self._free[near][:, y, x]
        free &= np.cumsum(free, axis=0) <= _NEAREST
        shown = self._frames[near][:, y, x].astype(np.float64)
        shown[~free] = np.nan
        return np.asarray(np.nanmedian(shown, axis=0))


def scene_row(one: Footage) -> str:
    """Measure a labelled sequence."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "out"
        sigma = complete(one.frames, folder)
        frames = list(pictures(one.frames))
        behind = list(pictures(str(folder / "background.mkv")))
        masks = list(grey(folder / "mask.mkv"))
    labels, clean = truths(one), Clean(frames, masks)
    outside = np.zeros(256, np.int64)
    inside = np.zeros(256, np.int64)
    counts = np.zeros(3, np.int64)
    for at, (seen, back, mask) in enumerate(zip(frames, behind, masks, strict=True)):
        away = np.asarray(cv2.absdiff(seen, back)).max(axis=2)
        outside += np.bincount(away[mask == 0], minlength=256)
        if at in labels:
            marked = (mask > 0) & (labels[at] == FOREGROUND)
            inside += np.bincount(away[marked], minlength=256)
            faint = marked & (away <= int(_SIGMAS * sigma))
            place = clean.behind(at, faint)
            near = [
                np.abs(one[faint] - place).max(axis=1) <= _SIGMAS * sigma for one in (back, seen)
            ]
            counts += [np.count_nonzero(faint), *map(np.count_nonzero, near)]
    mean = float(outside @ np.arange(256)) / outside.sum()
    far = 100 * outside[_FAR + 1 :].sum() / outside.sum()
    cells = [f"{mean:9.2f} {far:9.2f} %"]
    rest = float(np.searchsorted(np.cumsum(outside), outside.sum() / 2)) / NORMAL_MAD
    for noise in (sigma, rest):
        above = int(np.floor(_SIGMAS * noise)) + 1
        clear = 100 * inside[above:].sum() / np.maximum(inside.sum(), 1)
        cells.append(f"{_SIGMAS * noise:8.1f} {clear:9.1f} %")
    shares = 100 * counts[1:] / max(counts[0], 1)
    return " ".join([*cells, *(f"{share:7.1f} %" for share in shares)])


def composite_row(frames: Frames, truth: NDArray[np.float64] | Frames, known: Flags | None) -> str:
    """Measure a film whose background is known: everywhere, or where it is and a mask hides it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "out"
        complete(np.ascontiguousarray(frames[..., ::-1]), folder)
        middle = np.median(frames, axis=0).astype(np.float32)
        sums, counts = np.zeros((2, 2)), np.zeros(2)
        shown = pictures(str(folder / "background.mkv")), grey(folder / "mask.mkv")
        for at, (behind, mask) in enumerate(zip(*shown, strict=True)):
            true = (truth[at] if truth.ndim == 4 else truth).astype(np.float32)
            where = np.ones(mask.shape, bool) if known is None else known & (mask > 0)
            free = cv2.dilate(mask, _BESIDE) == 0
            beside = (cv2.dilate(mask, _AROUND) > 0) & free & (known is not None)
            for row, (seen, there) in enumerate(
                ((true, where), (frames[at].astype(np.float32), beside))
            ):
                sums[row] += [np.abs(one - seen)[there].sum() for one in (behind, middle)]
                counts[row] += there.sum() * true.shape[2]
    means = sums / np.maximum(counts, 1)[:, None]
    return "  ".join(f"{one:8.2f}" for one in means[: 1 if known is None else 2].ravel())


def main() -> None:
    """Print both tables."""
    data, names = Path(sys.argv[1]), set(sys.argv[2:])
    print(
        f"{'sequence':18} {'outside':>9} {'over 30':>11} "
        + 2 * f" {'3 sigma':>8} {'above it':>11}"
        + f" {'right':>9} {'like it':>9}"
    )
    for one in sequences(data):
        if not names or one.name in names:
            print(f"{one.name:18} {scene_row(one)}", flush=True)
    print(f"\n{'composite':18} {'seen':>5}" + 2 * f"  {'here':>8}  {'median':>8}")
    for name, frames in footage(data).items():
        for visible in (0.5, 0.8):
            if not names or name in names:
                row = composite_row(cover(frames, visible), frames, None)
                print(f"{name:18} {100 * visible:4.0f} %  {row}", flush=True)
    for name in PEOPLE:
        if not names or name in names:
            print(f"{name:25}  {composite_row(*labelled(data / name))}", flush=True)


if __name__ == "__main__":
    main()
