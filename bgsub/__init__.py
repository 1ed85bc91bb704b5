"""Background subtraction by robust PCA (TRPCA)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bgsub.robustpca.trpca import TRPCA

__version__ = "0.1.0"

__all__ = ["TRPCA", "__version__"]

# Names are imported on first use, so that `bgsub --help` does not wait for NumPy and OpenCV.
_HOME = {"TRPCA": "bgsub.robustpca.trpca"}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    message = f"module 'bgsub' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
