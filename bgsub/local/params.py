"""Parameters of the local masks: what is learned, what counts as an object, how it is drawn.

Every number has a unit, a range and a reason, all in one place; `LocalParams` checks the ranges.
Lengths are in pixels of a picture of up to 640×360 and grow with it (`clean_frames.coarseness`),
areas are shares of the picture. Sizes of buffers, numbers of rounds and the like change no mask by
intention and stay private constants of their modules.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

Sensitivity = Literal["low", "normal", "high"]
Shadows = Literal["drop", "keep"]

SENSITIVITIES: dict[str, float] = {"low": 1.5, "normal": 1.0, "high": 0.7}
"""Factor on the threshold."""


def _number(default: float, unit: str, span: tuple[float, float], reason: str) -> Any:
    """Declare a parameter with its unit, its range and the reason for its value."""
    return field(default=default, metadata={"unit": unit, "range": span, "reason": reason})


@dataclass(frozen=True)
class LocalParams:
    """Numbers that decide the masks of local models.

    Each field's metadata holds its ``unit``, its ``range`` (both ends allowed) and its ``reason``.

    Raises
    ------
    ValueError
        If a number is not finite or out of its range.
    """

    # A camera that shakes
    shake_px: float = _number(
        0.5, "pixels", (0.25, 16), "frames of a camera at rest are found within this of their place"
    )
    shake_share: float = _number(
        0.1, "share of frames", (0.02, 1.1), "fewer out of place are errors; above 1: they stay"
    )
    # States of the scene
    state_cut: float = _number(
        5.0, "grey levels", (1, 64), "residual between two states that light cannot explain"
    )
    state_share: float = _number(
        0.15, "share of frames", (0, 1.1), "a large object seldom stays so long; above 1: one state"
    )
    light_bonus: float = _number(
        0.03, "share of pixels", (0, 1.1), "more that another light explains; above 1: no light"
    )
    light_block: int = _number(
        16, "pixels", (0, 128), "light changes over wider stretches than objects; 0: no field"
    )
    # Clean frames and layers
    clean_fraction: float = _number(
        0.5, "share of frames", (0.1, 1), "most frames are clean in a small tile; 1: no tiles"
    )
    kept_layers: int = _number(4, "colours", (1, 6), "a branch and what is behind, twice over")
    layer_width: float = _number(3.0, "σ", (1, 8), "holds 99.7 % of a colour's values")
    least_noise: float = _number(
        2.5, "grey levels", (0.5, 16), "what codecs and tremor add to a picture without noise"
    )
    near_share: float = _number(
        0.08, "share of clean frames", (0, 1), "a layer whose colour is seen nearby"
    )
    far_share: float = _number(
        0.25, "share of clean frames", (0, 1), "a layer whose colour is not seen nearby"
    )
    staying_share: float = _number(
        0.16, "share of clean frames", (0, 1), "a layer that stays for long, as people do who stand"
    )
    often_near: float = _number(
        0.07, "share of frames", (0, 1), "a layer that comes and goes, its colour nearby"
    )
    often_far: float = _number(
        0.13, "share of frames", (0, 1), "a layer that comes and goes, its colour not nearby"
    )
    often_absence: float = _number(
        0.2, "share of frames", (0, 1), "longest absence of what comes and goes"
    )
    passing_share: float = _number(
        0.45, "share of chance", (0, 1), "of pixels around that leaves move meanwhile, cars do not"
    )
    longest_absence: float = _number(
        0.3, "share of frames", (0, 1), "longest absence of a layer of the background"
    )
    # Arrivals and departures
    change_area: float = _number(
        0.002, "share of picture", (0, 1.1), "smallest thing that came or went; above 1: none"
    )
    still_share: float = _number(
        0.7, "share of a tenth of the film", (0.5, 1), "a place is still while one layer fills it"
    )
    edge_balance: float = _number(
        0.1, "share of outline", (0, 1.1), "edges along an outline from which it tells the object"
    )
    majority_weight: float = _number(
        0.3, "share of outline", (0, 4), "balance more, for e times the frames, against the most"
    )
    color_balance: float = _number(
        0.3, "share of pixels", (0, 2.1), "colours that move from which they tell; above 2: never"
    )
    walk_weight: float = _number(
        1.0, "share of outline", (0, 2), "balance for who walked in and not out, or the reverse"
    )
    return_weight: float = _number(
        0.5, "share of outline", (0, 2), "balance for what was there before and after the other"
    )
    rigid_motion: float = _number(
        0.1, "pixels", (0, 2), "edges that move less, and not more than without it, are a thing's"
    )
    stray_share: float = _number(
        0.2, "share of an object's frames", (0, 1), "frames of an object outside of its visit"
    )
    # Turbulent places
    turbulent_place: float = _number(
        0.02, "share of picture", (0, 1.1), "a curtain, a shop window; above 1: none"
    )
    turbulent_covered: float = _number(
        0.75, "share of frames", (0, 1), "a calm background's layers explain more"
    )
    turbulent_stay: float = _number(
        1.25, "frames", (1, 8), "a colour of what is turbulent stays no longer, people do"
    )
    # Evidence
    threshold: float = _number(
        3.0, "noise of the place", (1, 12), "0.3 % of normal noise exceed it, and neighbours vote"
    )
    smooth_px: int = _number(
        3, "pixels", (1, 9), "noise of sensors and codecs has no mean over so many pixels"
    )
    detail: float = _number(
        0.4, "factor", (0, 1), "weight of a pixel's own difference beside the mean around it"
    )
    noise_floor: float = _number(
        0.7, "grey levels", (0.3, 8), "rounding alone leaves so much in the mean of 3×3 pixels"
    )
    noise_texture: float = _number(
        0.1, "share of texture", (0, 2), "tremor moves texture: noise beside edges at rest"
    )
    noise_restless: float = _number(
        0.8, "share of texture", (0, 4), "leaves and water show the colours next to them"
    )
    contrast_share: float = _number(
        0.2, "share of the film's contrast", (0, 1), "halos of codecs and soft shadows have less"
    )
    halo_noise: float = _number(
        1.75, "noise of the place", (1, 1000), "most film has less beside objects; 1000: never"
    )
    # Masks
    vote_level: float = _number(
        0.9, "thresholds", (0.3, 1.4), "mean of 5×5 pixels from which the middle one is foreground"
    )
    vote_most: float = _number(
        1.5, "thresholds", (1, 4), "a pixel counts for no more, so that none decides alone"
    )
    least_area: float = _number(
        0.0008, "share of picture", (0, 0.1), "8×8 pixels of 320×240: what is smaller is a speck"
    )
    open_px: int = _number(5, "pixels", (1, 31), "specks in the evidence against a shadow")
    close_px: int = _number(15, "pixels", (1, 63), "holes in the evidence of one object")
    bay_px: int = _number(
        15, "pixels", (1, 61), "gaps in an object that has the colours of its place in parts"
    )
    bay_share: float = _number(
        0.55, "share of the pixels around", (0.5, 1.1), "half beside straight edges; 1.1: not asked"
    )
    bay_outline: float = _number(
        0.65, "share of a bay's outline", (0, 1), "the ground between arm and body is open"
    )
    bay_score: float = _number(
        0.33, "thresholds", (0, 1), "the ground between two people shows nothing"
    )
    shadow_chroma: float = _number(
        2.5, "σ", (0.5, 16), "a shadow takes the same share of every channel"
    )
    shadow_texture: float = _number(
        2.5, "σ", (0.5, 16), "a shadow takes the same share of every pixel around"
    )
    shadow_darkest: float = _number(
        0.6, "share of light", (0, 1), "that lamps and clouds leave in the shadow of somebody"
    )
    shadow_brightest: float = _number(
        1.3, "share of light", (1, 4), "light that a reflection adds to a place"
    )
    shade_share: float = _number(
        0.35, "share of an object's score", (0, 1), "it hides more than it shades; 0: not asked"
    )
    shade_slope: float = _number(
        0.7, "share of a pixel's score", (0, 4), "edges rise by more in three pixels, not shade"
    )
    shade_least: float = _number(
        0.002, "share of what is marked", (0, 1.1), "films with less show it by chance; 1.1: none"
    )
    texture_kept: float = _number(
        0.4,
        "correlation",
        (0, 1.1),
        "an object hides the texture of its place, light and tremor do not; above 1: not asked",
    )
    texture_least: float = _number(
        4.0, "grey levels", (0.5, 64), "noise and codecs leave nothing of weaker texture"
    )
    edge_moved: float = _number(
        0.5,
        "share of energy",
        (0, 1.1),
        "a shift of the background's edge explains most of what differs; above 1: not asked",
    )
    outline_edge: float = _number(
        0.5, "share of an object's difference", (0, 1), "an edge is halfway; 0: not asked"
    )
    outline_px: int = _number(3, "pixels", (1, 8), "that far outside of an edge its blur is marked")
    outline_inside: float = _number(
        0.05, "share of pixels", (0, 1), "weak inside of objects: clothes, so one pixel at most"
    )

    def __post_init__(self) -> None:
        """Check all ranges."""
        for one in fields(self):
            value, (low, high) = getattr(self, one.name), one.metadata["range"]
            if not low <= value <= high:
                message = f"{one.name} {value}: must be from {low} to {high} {one.metadata['unit']}"
                raise ValueError(message)

    def to_json(self) -> dict[str, float]:
        """Give all numbers by name."""
        return asdict(self)

    def to_array(self) -> NDArray[np.str_]:
        """Give all numbers as an array for an .npz file."""
        return np.array(json.dumps(asdict(self)))

    @classmethod
    def from_array(cls, array: NDArray[Any]) -> Self:
        """Give the parameters that `to_array` wrote: those that still exist, others have defaults.

        Raises
        ------
        TypeError, ValueError
            If it is none, or a number is out of its range.
        """
        numbers, names = dict(json.loads(str(array))), {one.name for one in fields(cls)}
        old = {"outline_edge"} if "outline_blur" in numbers else set()  # once a share of scores
        return cls(**{name: numbers[name] for name in (names & numbers.keys()) - old})


DEFAULTS = LocalParams()
"""The parameters that are shipped."""


@dataclass(frozen=True)
class MaskOptions:
    """How masks are drawn.

    Attributes
    ----------
    shadows : {"drop", "keep"}
        Whether cast shadows are background.
    sensitivity : {"low", "normal", "high"}
    min_area : int or None
        Pixels; None is `LocalParams.least_area` of the picture.
    fill : bool
        Fill holes of objects.
    """

    shadows: Shadows = "drop"
    sensitivity: Sensitivity = "normal"
    min_area: int | None = None
    fill: bool = True
