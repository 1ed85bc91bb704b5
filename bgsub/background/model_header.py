"""Declare what the header of a model.npz holds, so that it is checked before anything is made."""

from __future__ import annotations

from typing import get_args

from bgsub.facts import Facts, ListOf, Nullable
from bgsub.rules import POSITIVE, Choice, Integer, Number
from bgsub.video.frames import LayoutKind, Matrix

_LEVEL = Number("a number of grey levels from 0 to 1e6", 0.0, 1e6)
HEADER = Facts(
    {
        "model_version": Integer(1),
        "layout": Choice(get_args(LayoutKind)),
        "matrix": Choice(get_args(Matrix)),
        "height": Integer(1),
        "width": Integer(1),
        "threshold": _LEVEL,
        "error_location": Number("a number from 0 to 1e12", 0.0, 1e12),
        "error_scale": Number("a number from 0 to 1e12", 0.0, 1e12),
        "cutoff": Number("a number from -1e9 to 1e9", -1e9, 1e9),
        "geometry": Facts(
            {
                "input_size": ListOf(Integer(1), 2),
                "roi": Nullable(ListOf(Integer(0), 4)),
                "scale": POSITIVE,
            },
            frozenset({"input_size", "roi", "scale"}),
        ),
        "facts": Facts({}),
    }
)
"""What the header of a model.npz holds."""
