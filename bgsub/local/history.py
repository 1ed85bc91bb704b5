"""Keep what fitting a scene decided, in plain values, for run.json and with the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.scene import Scene
from bgsub.local.scoring import thresholds
from bgsub.local.trust import BLIND, seen_for_certain
from bgsub.robustpca.median import median

MOST_REGIONS = 50
"""Regions that are listed, the largest ones."""

Moment = tuple[int, float | None]
"""Number of a frame in the film, and its time in seconds if it is known."""


@dataclass(frozen=True)
class History:
    """What a fit decided, as JSON values.

    Attributes
    ----------
    notes : list of str
        In words.
    states : list of dict
        Of each state of the scene: ``sample_frames``, their ``share`` of all that were learned
        from, in grey levels the ``noise`` (σ), the mean ``level`` of the background, the
        ``contrast`` of what moves and the ``threshold`` of most places, the ``trust`` that masks
        deserve (1 where what moves has four thresholds or more), and ``relit_frames``, those that
        had another light.
    regions : list of dict
        The `MOST_REGIONS` largest places with two lasting states, see `decisions.Region.to_json`.
    regions_left_out : int
        Those that are not listed.
    params : dict of float
        The parameters of the fit, see `params.LocalParams`.
    shake_pixels : int
        How far frames of the sample lay from their place at most, across or down; 0 for a camera
        that stands still.
    """

    notes: list[str] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)
    regions: list[dict[str, Any]] = field(default_factory=list)
    regions_left_out: int = 0
    params: dict[str, float] = field(default_factory=dict)
    shake_pixels: int = 0

    @classmethod
    def of(
        cls,
        scenes: Sequence[Scene],
        moments: Sequence[Sequence[Moment]],
        relit: Sequence[int],
        params: LocalParams = DEFAULTS,
        left_out: int = 0,
    ) -> Self:
        """Tell of a fit.

        Parameters
        ----------
        scenes : sequence of Scene
        moments : sequence of sequence of (int, float or None)
            Number and time of the sample's frames that show each scene.
        relit : sequence of int
            How many of them had another light.
        params : LocalParams, optional
            What was fitted with.
        left_out : int, optional
            Frames of the sample in far less light than the others, or far more.
        """
        total = sum(map(len, moments))
        notes = [f"{len(scenes)} states of the scene"] if len(scenes) > 1 else []
        if left_out:
            notes.append(
                f"not learned from: {left_out} of {total + left_out} sampled frames, which show "
                "the place in less than half of the light, or more than twice as much"
            )
        states, regions = [], []
        for state, (scene, shown, count) in enumerate(zip(scenes, moments, relit, strict=True)):
            notes += scene.notes
            threshold = float(median(thresholds(scene, params)))
            if threshold > max(BLIND, scene.contrast / 2):
                notes.append(
                    f"noise: what differs by less than {threshold:.0f} grey levels cannot be found "
                    f"at most places of state {state + 1}; masks may miss most of what moves"
                )
            states.append(
                {
                    "sample_frames": len(shown),
                    "share": round(len(shown) / total, 4),
                    "noise": round(scene.grain or scene.sigma, 3),
                    "level": round(float(scene.colors[0].mean()), 2),
                    "contrast": round(scene.contrast, 2),
                    "threshold": round(threshold, 2),
                    "trust": round(seen_for_certain(scene.contrast, threshold), 3),
                    "relit_frames": count,
                }
            )
            regions += [region.to_json(state, *shown[region.sample]) for region in scene.regions]
        regions.sort(key=lambda region: -int(region["pixels"]))
        unlisted = max(0, len(regions) - MOST_REGIONS)
        return cls(notes, states, regions[:MOST_REGIONS], unlisted, params.to_json())

    def to_json(self) -> dict[str, Any]:
        """Give it under the names that it has in run.json."""
        return {f"mask_{name}": value for name, value in asdict(self).items()}

    def to_array(self) -> NDArray[np.str_]:
        """Give it as an array for an .npz file."""
        return np.array(json.dumps(asdict(self)))

    @classmethod
    def from_array(cls, array: NDArray[Any]) -> Self:
        """Give the history that `to_array` wrote.

        Raises
        ------
        TypeError, ValueError
            If it is none.
        """
        found = cls(**json.loads(str(array)))
        lists = (found.notes, found.states, found.regions)
        if not all(isinstance(one, list) for one in lists):
            raise TypeError(found)
        return found
