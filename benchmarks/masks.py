"""Masks against the truth, ours beside classical subtractors: ``python -m benchmarks.masks DATA``.

DATA holds a folder per sequence: ``groundtruth`` beside ``input`` (CDnet, SBI), or one hand-drawn
mask ``b00247.png`` beside ``frames`` or a video (Wallflower). Every method decodes the footage and
writes masks without loss; the milliseconds are processor time of all of it, a frame. Sequences are
measured in two processes side by side. With ``--synthetic`` they are what `benchmarks.scenes` makes
of DATA instead, with ``--staying`` those in which somebody or something stays, with ``--varied``
the variants of `benchmarks.varied`: such scenes have a table and means of their own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import cv2
import numpy as np

from benchmarks.footage import Footage, pictures, sequences
from benchmarks.scenes import SCENES, STAYING, make
from benchmarks.varied import VARIANTS
from benchmarks.varied import make as vary
from bgsub.evaluation import EvaluationOptions
from bgsub.evaluation.evaluate import Pair, SequenceScore, evaluate
from bgsub.evaluation.measures import Counts
from bgsub.options import RunOptions
from bgsub.pipeline.run import run
from bgsub.robustpca.spaces import column_median
from bgsub.segmenter.masks import LEAST_AREA
from bgsub.video.frames import Bytes, Layout
from bgsub.video.images import write_image
from bgsub.video.sink import open_sink
from bgsub.video.source import open_source

_MEDIAN_FRAMES = 250
_PANEL = (240, 180)


def ours(**wanted: Any) -> Callable[[Footage, Path], Path]:
    """Masks of a whole run with some options, the others as they are by default."""

    def masks(footage: Footage, out: Path) -> Path:
        folder = out.with_suffix("")
        outputs = frozenset({"mask"})
        run(footage.frames, folder, RunOptions(outputs=outputs, format="mkv", **wanted))
        return folder / "mask.mkv"

    return masks


def without(part: str, instead: object) -> Callable[[Footage, Path], Path]:
    """Masks of a whole run in which a part of the program is replaced, to see what it brings."""

    def masks(footage: Footage, out: Path) -> Path:
        with mock.patch(part, instead):
            return ours()(footage, out)

    return masks


def written(path: Path, shown: Iterator[Bytes]) -> Path:
    """Write grey pictures without loss."""
    sink = None
    for picture in shown:
        if sink is None:
            sink = open_sink(path, "mask", layout=Layout("gray", *picture.shape), kind="mkv")
        sink.write(picture, 0.0)
    if sink is not None:
        sink.close()
    return path


def live(make: Callable[[], cv2.BackgroundSubtractor]) -> Callable[[Footage, Path], Path]:
    """Masks of one of OpenCV's subtractors, shadows left out, through a 5×5 median filter."""

    def masks(footage: Footage, out: Path) -> Path:
        subtractor = make()
        found = (subtractor.apply(picture) for picture in pictures(footage.frames))
        return written(out, (cv2.medianBlur((m == 255) * np.uint8(255), 5) for m in found))

    return masks


def median_scores(footage: Footage, out: Path) -> Path:
    """Differences to the temporal median through a 5×5 median filter, to be thresholded."""
    total = sum(1 for _ in open_source(footage.frames))
    wanted = set(np.linspace(0, total - 1, min(total, _MEDIAN_FRAMES)).astype(int).tolist())
    kept = [one for i, one in enumerate(pictures(footage.frames)) if i in wanted]
    middle = column_median(np.stack(kept).reshape(len(kept), -1)).reshape(kept[0].shape)
    away = (cv2.absdiff(one, middle).max(axis=2) for one in pictures(footage.frames))
    return written(out, (np.asarray(cv2.medianBlur(one, 5), np.uint8) for one in away))


METHODS: dict[str, Callable[[Footage, Path], Path]] = {
    "local": ours(),
    "paper": ours(model="paper"),
    "MOG2": live(cv2.createBackgroundSubtractorMOG2),
    "KNN": live(cv2.createBackgroundSubtractorKNN),
    "median*": median_scores,
    "foreground": ours(still_objects="foreground"),
    "unaligned": without("bgsub.background.plates.find_registration", lambda *_: None),
    "one-state": without("bgsub.background.light._MOST_STATES", 1),
}
_USUAL = list(METHODS)[:5]

_EMPTY = "robustness/brightness_change.avi"
"""Footage in which light changes and nothing moves: it needs no truth."""


def scored(footage: Footage, masks: Path, *, scores: bool) -> SequenceScore:
    """Compare with the truth; scores at the threshold that is best for the sequence."""
    pair = Pair(str(masks), footage.truth, footage=footage.frames, name=footage.name)
    return evaluate([pair], EvaluationOptions(scores=scores, common=True)).sequences[0]


def has_objects(counts: Counts) -> bool:
    """Return whether a truth holds as much as the least blob in each frame; else F says nothing."""
    return counts.tp + counts.fn > LEAST_AREA * sum(counts)


def shown(counts: Counts) -> str:
    """F, or the false positives where there is next to nothing to find."""
    if not has_objects(counts):
        return f"{counts.fp} false"
    return f"{counts.f_measure or 0.0:.3f}"


def sheet_row(footage: Footage, methods: list[str], done: list[SequenceScore]) -> Bytes:
    """Frame, truth and masks of the middle one of the frames with a truth."""
    chosen = len(done[0].matching.frames) // 2
    frame = int(done[0].matching.masks[chosen])
    picture = next(one for i, one in enumerate(pictures(footage.frames)) if i == frame)
    panels: list[tuple[str, cv2.typing.MatLike]] = [(footage.name, picture)]
    for method, score in zip(methods, done, strict=True):
        mask = next(score.masks.pictures.pick([int(score.matching.masks[chosen])]))
        level = (mask >= score.threshold) * np.uint8(255)
        panels.append((f"{method} {shown(score.counts)}", cv2.cvtColor(level, cv2.COLOR_GRAY2BGR)))
    truth = _truth(footage, int(done[0].matching.truths[chosen]))
    panels.insert(1, ("truth", cv2.cvtColor(truth, cv2.COLOR_GRAY2BGR)))
    drawn = []
    for caption, panel in panels:
        small = cv2.resize(panel, _PANEL, interpolation=cv2.INTER_NEAREST)
        cv2.putText(small, caption, (4, 14), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (60, 160, 255), 1)
        drawn.append(small)
    return np.asarray(np.hstack(drawn), dtype=np.uint8)


def _truth(footage: Footage, at: int) -> Bytes:
    from bgsub.evaluation.masks import open_truth

    return np.asarray(next(open_truth(footage.truth).pictures.pick([at])), dtype=np.uint8)


@dataclass(frozen=True)
class Row:
    """A sequence's line of the table: counts and milliseconds of every method, and its pictures."""

    name: str
    frames: int
    counts: list[Counts]
    milliseconds: list[float]
    pictures: Bytes


def most_marked(footage: Footage, method: str) -> float:
    """Return the largest share of a frame that a method marks."""
    with tempfile.TemporaryDirectory() as folder:
        path = METHODS[method](footage, Path(folder) / "empty.mkv")
        return max(float((one[..., 0] > 0).mean()) for one in pictures(str(path)))


def _seconds() -> float:
    """Processor time of this process, and of those that it has started and that have ended."""
    return sum(os.times()[:4])


def measured(footage: Footage, methods: list[str]) -> Row:
    """Make and score the masks of some methods."""
    cv2.setNumThreads(1)
    total = sum(1 for _ in open_source(footage.frames))
    done, spent = [], []
    with tempfile.TemporaryDirectory() as folder:
        for method in methods:
            start = _seconds()
            path = METHODS[method](footage, Path(folder) / f"{footage.name}_{method}.mkv")
            spent.append(1000 * (_seconds() - start) / total)
            done.append(scored(footage, path, scores=method == "median*"))
        sheet = sheet_row(footage, methods, done)
    return Row(footage.name, total, [one.counts for one in done], spent, sheet)


def main() -> int:
    """Measure, print the table and the means, and write the sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sheet", type=Path, default=Path("results/masks.png"))
    parser.add_argument("--only", nargs="*", help="names of sequences")
    parser.add_argument("--synthetic", action="store_true", help="made scenes instead of real ones")
    parser.add_argument("--staying", action="store_true", help="made scenes of who stays")
    parser.add_argument("--varied", nargs="*", choices=VARIANTS, help="variants of real scenes")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=_USUAL)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(given.processes) as pool:
        made = STAYING if given.staying else SCENES if given.synthetic else {}
        found: list[Footage] = []
        if made:
            names = [name for name in made if not given.only or name in given.only]
            making = pool.map(partial(make, data=given.data, folder=Path(folder)), names)
            wanted = list(making)
        else:
            found = list(sequences(given.data))
            wanted = [one for one in found if not given.only or one.name in given.only]
        if given.varied is not None:
            return _vary(wanted, given.varied or list(VARIANTS), given.methods, pool)
        if not wanted:
            print(f"{given.data}: no sequence with a truth is there", file=sys.stderr)
            return 1
        rows = _measure_all(wanted, given.methods, pool)
    print(f"{'mean F':24s} " + " ".join(f"{one:10.3f} {'':6s}" for one in _means(rows)))
    print("* at the threshold that is best for the sequence, chosen on the truth")
    if wanted == found and (given.data / _EMPTY).is_file() and "local" in given.methods:
        empty = Footage(Path(_EMPTY).stem, str(given.data / _EMPTY), "")
        print(f"{_EMPTY}, where nothing moves: {most_marked(empty, 'local'):.2%} of a frame marked")
    given.sheet.parent.mkdir(parents=True, exist_ok=True)
    write_image(given.sheet, np.vstack([row.pictures for row in rows]))
    print(f"contact sheet: {given.sheet}")
    return 0


def _vary(
    wanted: list[Footage], variants: list[str], methods: list[str], pool: ProcessPoolExecutor
) -> int:
    """Measure variants of sequences one after the other; print a table and the means of each."""
    for variant in variants:
        print(f"\n{variant}")
        with tempfile.TemporaryDirectory() as folder:
            making = pool.map(partial(vary, variant=variant, folder=Path(folder)), wanted)
            rows = _measure_all([one for one in making if one is not None], methods, pool)
        print(f"{'mean F':24s} " + " ".join(f"{one:10.3f} {'':6s}" for one in _means(rows)))
    return 0


def _measure_all(wanted: list[Footage], methods: list[str], pool: ProcessPoolExecutor) -> list[Row]:
    """Measure sequences, and print a line for each."""
    names = [f"{name:>10s} {'ms':>6s}" for name in methods]
    print(f"{'sequence':17s}{'frames':>7s} " + " ".join(names), flush=True)
    rows = []
    for row in pool.map(partial(measured, methods=methods), wanted):
        figures = zip(row.counts, row.milliseconds, strict=True)
        cells = [f"{shown(counts):>10s} {spent:6.2f}" for counts, spent in figures]
        print(f"{row.name:17s}{row.frames:7d} " + " ".join(cells), flush=True)
        rows.append(row)
    return rows


def _means(rows: list[Row]) -> list[float]:
    """Mean F of every method, over the sequences in which there is something to find."""
    busy = [row for row in rows if has_objects(row.counts[0])]
    return [
        float(np.mean([row.counts[i].f_measure or 0.0 for row in busy])) if busy else 0.0
        for i in range(len(rows[0].counts))
    ]


if __name__ == "__main__":
    sys.exit(main())
