"""Measure masks against ground truth."""

from __future__ import annotations

import functools

from bgsub.options import Declared, documented, option
from bgsub.rules import Integer, Number, Switch

_scoring = functools.partial(option, "Scoring")


@documented
class EvaluationOptions(Declared):
    """How masks are scored."""

    common: bool = option(
        "Matching",
        False,
        Switch(),
        "Score the frames that both have, even if truth or masks lack some.",
    )
    scores: bool = _scoring(
        False,
        Switch(),
        "MASKS are scores: what --save-scores wrote, or grey images or video of 8 or 16 bits. Find "
        "their best threshold.",
    )
    threshold: float | None = _scoring(
        None,
        Number("a level from 0 to 65535", 0, 65535),
        "Masks are foreground from this level on.",
        metavar="LEVEL",
        unset="128; of scores, the best",
    )
    truth_threshold: float | None = _scoring(
        None,
        Number("a level from 0 to 255", 0, 255),
        "The truth is foreground from this level on, and every pixel is scored.",
        metavar="LEVEL",
        unset="255 is foreground, 0 and 50 are background, 85 and 170 are not scored",
    )
    worst: int = _scoring(
        0,
        Integer(0),
        "Draw the N frames of each sequence with the most wrong pixels, into --out.",
        unset="none",
    )
