"""Scene: the background of a video at the size of its frames, with nothing in front of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.camera import Motion, moved
from bgsub.background.light import Light, lit
from bgsub.background.plates import (
    NOISE_UNIT,
    Background,
    Hypothesis,
    at_working_size,
    working_size,
)
from bgsub.video.frames import Bytes, Part


class Shown(NamedTuple):
    """What a frame shows of a scene: number of the state, from 0, light, and how the frame lies."""

    state: int
    light: Light
    motion: Motion


class Scene:
    """Hypotheses of a background, and what was decided to be the empty scene.

    `plates` show it in each state, (h, w, 3); there are none where only masks are wanted.
    """

    def __init__(self, background: Background, plates: list[Bytes], shape: tuple[int, int]) -> None:
        self.background, self.plates, self.shape = background, plates, shape
        self._enlarged: dict[int, Bytes] = {}
        height, width = working_size(*shape)
        self._factors = shape[1] / width, shape[0] / height  # of frames and the working size

    def shown_in(self, frame: Bytes) -> Shown:
        """Return what a frame, of any size, shows of the scene."""
        return self.shown(self.background.of(at_working_size(frame)))

    def shown(self, found: Hypothesis) -> Shown:
        """Return what the frame of a hypothesis shows of the scene."""
        states = enumerate(self.background.states)
        state = next(i for i, one in states if one is found.plates)
        return Shown(state, found.light, found.aligned.motion.scaled(*self._factors))

    def background_of(self, shown: Shown, part: Part = np.s_[:, :]) -> Bytes:
        """Return the empty scene as a part of a frame would show it, (h, w, 3) BGR."""
        plate = self.plate(shown.state)
        if shown.motion == Motion():
            return lit(plate[part], shown.light)
        return np.asarray(moved(lit(plate, shown.light), shown.motion, back=True), np.uint8)[part]

    def plate(self, state: int = 0) -> Bytes:
        """Return the empty scene in a state, (h, w, 3): the commonest colours if none is kept."""
        if self.plates:
            return self.plates[state]
        if state not in self._enlarged:
            first = self.background.states[state].colors[0]
            large = cv2.resize(first, self.shape[::-1], interpolation=cv2.INTER_CUBIC)
            self._enlarged[state] = np.asarray(large, np.uint8)
        return self._enlarged[state]

    def facts(self) -> dict[str, Any]:
        """Return what was learned of the scene, as JSON values for run.json."""
        states = self.background.states
        total = sum(state.frames for state in states)
        notes = [f"{len(states)} states of the scene"] if len(states) > 1 else []
        return {
            "mask_notes": notes,
            "mask_states": [
                {
                    "sample_frames": state.frames,
                    "share": round(state.frames / total, 4),
                    "noise": round(float(np.median(state.noise)) / NOISE_UNIT, 2),
                    "level": round(float(state.colors[0].mean()), 2),
                }
                for state in states
            ],
            "mask_shake_pixels": round(self.background.shake * max(self._factors)),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was learned as arrays by name, for model.npz."""
        return {
            "mask_shape": np.array(self.shape),
            "mask_plates": np.array(len(self.plates)),
            **{f"mask_plate_{i}": plate for i, plate in enumerate(self.plates)},
            **self.background.arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Scene | None:
        """Return the scene whose `arrays` these are, or None if they are of none.

        KeyError or ValueError if they cannot be.
        """
        if "mask_shape" not in arrays:
            return None
        height, width = (int(side) for side in arrays["mask_shape"])
        background = Background.from_arrays(arrays)
        plates = [arrays[f"mask_plate_{i}"] for i in range(int(arrays["mask_plates"]))]
        fits = background.states[0].noise.shape == working_size(height, width)
        if not fits or int(arrays["mask_plates"]) not in {0, len(background.states)}:
            raise ValueError((height, width))
        for plate in plates:
            if plate.dtype != np.uint8 or plate.shape != (height, width, 3):
                raise ValueError(plate.shape)
        return cls(background, plates, (height, width))


def pixels_inside(
    pixel_mask: NDArray[np.bool_] | None, ignored: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    """Return the pixels that can be foreground: fitted and not ignored, (h, w); None for all."""
    if ignored is None:
        return pixel_mask
    return ~ignored if pixel_mask is None else pixel_mask & ~ignored
