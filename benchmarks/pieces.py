"""What each piece of the local masks brings: ``python -m benchmarks.pieces DATA``.

Leave-one-out: each piece is switched off alone, models are fitted anew to the same sample, and all
rows are scored on the same frames: all that have a truth, of sequences with more than 300 of them
(highway) every twelfth. DATA is as for `benchmarks.masks`. Figures are F, or false pixels where
there is nothing to find.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.masks import Footage, pictures, sequences, shown
from bgsub.evaluation.confusion import Counts, count, judge
from bgsub.evaluation.mask_files import MaskFiles
from bgsub.evaluation.pairing import match
from bgsub.evaluation.truth import classify, open_truth
from bgsub.local import cleanup as blobs
from bgsub.local import model, scene
from bgsub.local import scoring as matching
from bgsub.local.clean_frames import CleanFrames, find_clean_frames
from bgsub.local.layers import Layers
from bgsub.local.light import Light, explained
from bgsub.local.objects import Verdict
from bgsub.local.params import MaskOptions
from bgsub.local.sampling import PictureSample
from bgsub.local.scene import Scene, fit_scene
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes, Layout

_MOST_TRUTHS, _EVERY = 300, 12


@dataclass(frozen=True)
class Case:
    """A sequence in memory: its frames, those with a truth, and their truths."""

    name: str
    frames: list[Bytes]
    at: list[int]
    truths: list[Bytes]


def load(footage: Footage) -> Case:
    """Read a sequence, numbered as `bgsub evaluate` does."""
    frames = list(pictures(footage.frames))
    truth = open_truth(footage.truth)
    numbers = np.arange(1, len(frames) + 1)
    # Only the numbers of the masks count: there are no files of them.
    masks = MaskFiles(footage.frames, truth.pictures, numbers)
    pairs = match(masks, truth, footage=footage.frames, common=True)
    step = _EVERY if len(pairs.truths) > _MOST_TRUTHS else 1
    chosen = pairs.truths[::step].tolist()
    truths = [classify(one, footage.truth) for one in truth.pictures.pick(chosen)]
    if truth.roi is not None:
        truths = [np.where(truth.roi, one, np.uint8(2)) for one in truths]
    return Case(footage.name, frames, pairs.masks[::step].tolist(), truths)


def one_state(thumbnails: Bytes) -> NDArray[np.int64]:
    return np.zeros(len(thumbnails), np.int64)


def same_light(seen: Bytes, clean: Any, sigma: float, **_: int) -> Light:
    share = explained(seen, clean, sigma)
    return Light(np.ones(3, np.float32), np.zeros(3, np.float32), share)


def one_color(shown_: Bytes, **given: Any) -> Scene:
    found = fit_scene(shown_, **given)
    return replace(found, colors=found.colors[:1], band=None, palette=None)


def all_clean(luma: Bytes, **given: Any) -> CleanFrames:
    found = find_clean_frames(luma, **given)
    return replace(found, supports=[np.full_like(one, 255) for one in found.supports])


def no_changes(_: Bytes, layers: Layers, __: float) -> Verdict:
    none = np.zeros(layers.colors.shape[:3], np.bool_)
    return Verdict(none, none, [])


def majority(score: Bytes) -> Bytes:
    above = (score > matching.UNIT).view(np.uint8)
    return np.asarray(cv2.medianBlur(above, 5), dtype=np.uint8)


def as_it_is(mask: Bytes, *_: Bytes) -> Bytes:
    return mask


@dataclass(frozen=True)
class Piece:
    """What is switched off: by patches of names in modules, by options, or by grey frames."""

    name: str
    patches: tuple[tuple[Any, str, Any], ...] = ()
    options: MaskOptions = field(default_factory=MaskOptions)
    grey: bool = False


def nothing_turbulent(*_: Any) -> tuple[None, None]:
    return None, None


PIECES = [
    Piece("all pieces"),
    Piece("- scene states", ((model, "find_states", one_state),)),
    Piece("- gain and offset", ((model, "find_light", same_light),)),
    Piece("- further layers", ((model, "fit_scene", one_color),)),
    Piece("- tile support", ((scene, "find_clean_frames", all_clean),)),
    Piece("- arrivals, departures", ((scene, "judge_changes", no_changes),)),
    Piece("- restlessness", ((matching, "RESTLESS", 0.0),)),
    Piece("- turbulent places", ((scene, "_band", nothing_turbulent),)),
    Piece("- shadow test", options=MaskOptions(shadows="keep")),
    Piece("- soft vote (majority)", ((model, "vote", majority),)),
    Piece("- opening, closing", ((blobs, "_OPEN", 1), (blobs, "_CLOSE", 1))),
    Piece("- outlines redrawn", ((model, "with_sharp_outlines", as_it_is),)),
    Piece("- hole filling", options=MaskOptions(fill=False)),
    Piece("- colour", grey=True),
]


def to_grey(picture: Bytes) -> Bytes:
    return np.asarray(cv2.merge([cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)] * 3), dtype=np.uint8)


def measured(case: Case, piece: Piece, workers: Workers) -> Counts:
    """Fit and score a sequence without a piece."""
    change: Callable[[Bytes], Bytes] = to_grey if piece.grey else as_it_is
    height, width = case.frames[0].shape[:2]
    layout = Layout("bgr", height, width)
    with ExitStack() as stack:
        for module, name, instead in piece.patches:
            stack.enter_context(patch.object(module, name, instead))
        sample = PictureSample(layout, len(case.frames), 0)
        for number, frame in enumerate(case.frames):
            sample.add(number, layout.pack(change(frame))[None])
        found = sample.fit(workers).with_options(piece.options)
        return Counts.sum(
            count(judge(found.mask(change(case.frames[at])) > 0, truth))
            for at, truth in zip(case.at, case.truths, strict=True)
        )


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", help="names of sequences")
    given = parser.parse_args()
    wanted = [one for one in sequences(given.data) if not given.only or one.name in given.only]
    cases = [load(one) for one in wanted]
    if not cases:
        print(f"{given.data}: no sequence with a truth is there", file=sys.stderr)
        return 1
    print(f"{'':24s}" + " ".join(f"{one.name:>15s}" for one in cases))
    print(f"{'frames scored':24s}" + " ".join(f"{len(one.at):15d}" for one in cases), flush=True)
    with Workers(1) as workers:
        for piece in PIECES:
            cells = [f"{shown(measured(case, piece, workers)):>15s}" for case in cases]
            print(f"{piece.name:24s}" + " ".join(cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
