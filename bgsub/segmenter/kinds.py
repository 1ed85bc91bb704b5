"""The segmenters that there are, by their names among the values of ``--model``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bgsub.segmenter.masks import MaskModel
from bgsub.segmenter.protocol import Segmenter
from bgsub.segmenter.residual import ResidualSegmenter

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel

SEGMENTERS: dict[str, type[Segmenter]] = {one.name: one for one in (MaskModel, ResidualSegmenter)}


def saved_kind(model: BackgroundModel, threshold: float | None) -> type[Segmenter]:
    """Return the kind of masks of a saved model; a threshold that is given asks for the paper's."""
    return ResidualSegmenter if model.local is None or threshold is not None else MaskModel
