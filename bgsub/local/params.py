"""How masks are drawn from a local model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sensitivity = Literal["low", "normal", "high"]
Shadows = Literal["drop", "keep"]

SENSITIVITIES: dict[str, float] = {"low": 1.5, "normal": 1.0, "high": 0.7}
"""Factor on the threshold."""

_SAMPLE_BYTES = 100_000_000


@dataclass(frozen=True)
class MaskOptions:
    """How masks are drawn.

    Attributes
    ----------
    shadows : {"drop", "keep"}
        Whether cast shadows are background.
    sensitivity : {"low", "normal", "high"}
    min_area : int or None
        Pixels; None is 0.08 % of the picture.
    fill : bool
        Fill holes of objects.
    """

    shadows: Shadows = "drop"
    sensitivity: Sensitivity = "normal"
    min_area: int | None = None
    fill: bool = True
