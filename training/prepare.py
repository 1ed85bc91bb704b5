"""Prepare training examples: hypotheses of the background as in use, frames and their truths."""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.camera import align
from bgsub.background.plates import Background, at_working_size, working_size
from training import scenes
from training.made import CLIP_GROUPS, Made, Sources, make

Bytes = NDArray[np.uint8]

SAMPLE = 100
"""Frames that a background is learned from, at most."""


def example(background: Background, before: Bytes, frame: Bytes, truth: Bytes) -> dict[str, Bytes]:
    """Return what the network sees of a frame, and its truth, at the working size and aligned.

    Parameters
    ----------
    background : Background
    before, frame : ndarray of uint8, shape (h, w, 3)
        The frame and the one before it.
    truth : ndarray of uint8, shape (h, w)
    """
    before, frame = (at_working_size(one) for one in (before, frame))
    found = background.of(frame)
    motion, shape = found.aligned.motion, frame.shape[:2]
    small = scenes.resized(truth, shape[::-1])
    if motion != type(motion)():
        small = cv2.warpAffine(
            small,
            motion.matrix(*shape),
            shape[::-1],
            flags=cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_CONSTANT,
            borderValue=scenes.UNSCORED,
        )
    return {
        "frame": found.aligned.frame,
        "first": found.first,
        "second": found.second,
        "before": align(background.registration, before).frame,
        "shares": found.plates.shares,
        "noise": found.plates.noise,
        "activity": found.plates.activity,
        "order": found.plates.order,
        "truth": np.asarray(small, np.uint8),
    }


def scene_examples(data: Path, name: str, most: int = 100) -> list[dict[str, Bytes]]:
    """Return examples of a scene with truth."""
    film = scenes.Film(data, name)
    picks = np.unique(np.linspace(0, len(film) - 1, min(SAMPLE, len(film))).round().astype(int))
    background = Background.learn(np.stack([at_working_size(film[i]) for i in picks]))
    wanted = list(scenes.truths(data, name, film))
    if len(wanted) > most:
        wanted = [wanted[i] for i in np.linspace(0, len(wanted) - 1, most).round().astype(int)]
    shape = film[0].shape[:2]
    wanted += [
        (i, np.full(shape, scenes.BACKGROUND, np.uint8)) for i in scenes.empty(name, 30, len(film))
    ]
    return [example(background, film[index - 1], film[index], truth) for index, truth in wanted]


def made_examples(made: Made) -> list[dict[str, Bytes]]:
    """Return examples of a made film."""
    background = Background.learn(made.frames)
    return [example(background, one.before, one.frame, one.truth) for one in made.targets]


def save(path: Path, examples: list[dict[str, Bytes]]) -> None:
    """Write examples of one size as one file of arrays."""
    arrays = {key: np.stack([one[key] for one in examples]) for key in examples[0]}
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez(file, **arrays)
    unfinished.rename(path)


def _prepare(job: tuple[Path, str, Path]) -> str:
    data, name, out = job
    cv2.setNumThreads(1)
    examples = scene_examples(data, name)
    save(out / f"real_{name}.npz", examples)
    height, width = working_size(*examples[0]["truth"].shape)
    return f"{name}: {len(examples)} examples of {width}×{height}"


def _make(arguments: argparse.Namespace) -> None:
    """Make films of the plates and objects of some scenes, and prepare them."""
    cv2.setNumThreads(1)
    sources = Sources(arguments.data, arguments.scenes.split(","), arguments.pictures)
    for number in range(arguments.first, arguments.first + arguments.made):
        path = arguments.out / f"made_{arguments.tag}_{number:05d}.npz"
        if not path.exists():
            # The number alone decides what is drawn, so that what was stopped goes on.
            made = make(np.random.default_rng([arguments.seed, number]), sources)
            save(path, made_examples(made))
            print(path.name, made.facts, flush=True)


def main() -> None:
    """Prepare the scenes of a folder, or films made of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scenes", default=",".join(scenes.names()))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--made", type=int, default=0, help="films to make instead")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--groups", help="groups of scenes to use instead, by commas")
    parser.add_argument("--pictures", type=Path, help="photographs and clip art, see SOURCES.md")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.tag = "all"
    if arguments.groups:
        groups = arguments.groups.split(",")
        names = [name for group in groups for name in scenes.GROUPS[group]]
        names += [name for name, group in CLIP_GROUPS.items() if group in groups]
        arguments.scenes, arguments.tag = ",".join(names), "+".join(groups)
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.made:
        _make(arguments)
        return
    jobs = [(arguments.data, name, arguments.out) for name in arguments.scenes.split(",")]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for line in pool.map(_prepare, jobs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
