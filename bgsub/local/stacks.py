"""Compare several small frames with a scene at once, one above the other.

In a picture of a few thousand pixels a call of OpenCV or NumPy takes longer than its arithmetic.
Frames that lie above each other are one picture; rows between them that mirror their own first and
last rows let windows see there what they see at the borders of a frame alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from bgsub.local.cleanup import VOTE_WINDOW, mean_score
from bgsub.local.params import LocalParams
from bgsub.local.scoring import LIGHT_WINDOW, SceneMatcher
from bgsub.runtime.threads import scratch
from bgsub.video.frames import Bytes

_PIXELS = 40_000
"""Pixels of a stack, about: of more the arithmetic takes longer than the calls."""

_MOST = 16


def frames_of_stack(height: int, width: int, params: LocalParams) -> int:
    """Give the number of frames that are best compared together; 1 where that saves nothing.

    A window of an even number of pixels has no middle, and would not see the same in mirrored rows.
    """
    if params.smooth_px % 2 == 0:
        return 1
    return max(1, min(_MOST, _PIXELS // (height * width)))


class SceneStack:
    """A scene several times, in the form in which as many frames are compared with it.

    Parameters
    ----------
    matcher : SceneMatcher
    frames : int
    params : LocalParams
    """

    def __init__(self, matcher: SceneMatcher, frames: int, params: LocalParams) -> None:
        self._height, self._width = matcher.scene.restless.shape
        self._most = params.vote_most
        self._border = VOTE_WINDOW // 2 + max(LIGHT_WINDOW, params.smooth_px) // 2
        mirrored = range(-self._border, self._height + self._border)
        rows = [cv2.borderInterpolate(y, self._height, cv2.BORDER_REFLECT_101) for y in mirrored]
        self._rows, self._frames = np.array(rows), frames
        self._matcher = matcher.at_rows(np.tile(rows, frames))

    def compare(
        self, pictures: Sequence[Bytes], sigma: float
    ) -> list[tuple[Bytes, Bytes, Bytes, Bytes]]:
        """Compare frames with the scene.

        Parameters
        ----------
        pictures : sequence of ndarray of uint8, shape (h, w, 3)
            At most as many as the stack has frames, in the scene's light.
        sigma : float
            Their noise.

        Returns
        -------
        list of tuple of ndarray of uint8, shape (h, w)
            Of each frame what `SceneMatcher.score` gives, and its mean score. New memory.
        """
        step = self._rows.size
        stack = scratch("local stack", (self._frames * step, self._width, 3), np.uint8)
        for i, picture in enumerate(pictures):
            np.take(picture, self._rows, axis=0, out=stack[i * step : (i + 1) * step], mode="clip")
        score, own, index = self._matcher.score(stack, sigma)
        mean = mean_score(score, self._most)
        score, own, index = (plane.copy() for plane in (score, own, index))
        starts = range(self._border, len(pictures) * step, step)
        parts = [slice(start, start + self._height) for start in starts]
        return [(score[part], own[part], index[part], mean[part]) for part in parts]
