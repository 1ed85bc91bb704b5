"""Learn and look in a process that has nothing but what another one asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.local.clustering import strip_bytes
from bgsub.local.drawing import Seen
from bgsub.local.history import Moment
from bgsub.local.learning import Learned, learn_scenes
from bgsub.local.model import LocalModel
from bgsub.local.params import LocalParams, MaskOptions
from bgsub.local.scoring import comparing_bytes
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes, Layout

_PROGRAM = 60_000_000
"""Bytes of a process that has imported this and has no model: measured."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a scene is learned from; see `LocalModel.fit`.

    Attributes
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    seed : int
    moments : sequence of (int, float or None) or None
    params : LocalParams
    threads : int
        To use.
    """

    pictures: Bytes
    seed: int
    moments: Sequence[Moment] | None
    params: LocalParams
    threads: int


def make_learner() -> Callable[[Lesson], Learned]:
    """Give what learns a scene."""

    def learn(lesson: Lesson) -> Learned:
        with Workers(lesson.threads) as workers:
            found = learn_scenes(
                lesson.pictures, workers, lesson.seed, lesson.moments, lesson.params
            )
        give_back()
        return found

    return learn


def make_looker(
    arrays: Mapping[str, NDArray[Any]],
    options: MaskOptions,
    layout: Layout,
    inside: NDArray[np.bool_] | None,
    *,
    with_scores: bool,
) -> Callable[[Bytes], list[Seen]]:
    """Give what says of frames, shape (m, size), what each shows.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Those of `LocalModel.arrays`.
    options : MaskOptions
    layout : Layout
        Of the frames.
    inside : ndarray of bool, shape (h, w), or None
        Pixels outside are never foreground.
    with_scores : bool
    """
    model = LocalModel.from_arrays(arrays, options)

    def look(rows: Bytes) -> list[Seen]:
        pictures = [layout.seen(row) for row in rows]
        return model.look_all(pictures, inside, with_scores=with_scores)

    return look


def looking_bytes(sample: int, height: int, width: int) -> int:
    """Give the memory of a process that helps to learn from a sample, and looks at frames."""
    return _PROGRAM + max(strip_bytes(sample, height, width), comparing_bytes(height, width, 1))
