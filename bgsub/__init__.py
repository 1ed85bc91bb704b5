"""Background subtraction by robust PCA (TRPCA): video in; background, masks and errors out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bgsub.background.config import RunOptions, SourceOptions
    from bgsub.background.errors_table import ErrorTable
    from bgsub.background.model import BackgroundModel
    from bgsub.background.outcome import RunResult
    from bgsub.background.outliers import Event, find_events
    from bgsub.background.pipeline import apply, fit_errors, model_errors, run
    from bgsub.errors import BgsubError
    from bgsub.robustpca.trpca import TRPCA
    from bgsub.video.source import FrameSource, open_source

__version__ = "0.1.0"

__all__ = [
    "TRPCA",
    "BackgroundModel",
    "BgsubError",
    "ErrorTable",
    "Event",
    "FrameSource",
    "RunOptions",
    "RunResult",
    "SourceOptions",
    "__version__",
    "apply",
    "find_events",
    "fit_errors",
    "model_errors",
    "open_source",
    "run",
]

# Names are imported on first use, so that `bgsub --help` does not wait for NumPy and OpenCV.
_HOME = {
    "TRPCA": "bgsub.robustpca.trpca",
    "BackgroundModel": "bgsub.background.model",
    "BgsubError": "bgsub.errors",
    "ErrorTable": "bgsub.background.errors_table",
    "Event": "bgsub.background.outliers",
    "FrameSource": "bgsub.video.source",
    "RunOptions": "bgsub.background.config",
    "RunResult": "bgsub.background.outcome",
    "SourceOptions": "bgsub.background.config",
    "apply": "bgsub.background.pipeline",
    "find_events": "bgsub.background.outliers",
    "fit_errors": "bgsub.background.pipeline",
    "model_errors": "bgsub.background.pipeline",
    "open_source": "bgsub.video.source",
    "run": "bgsub.background.pipeline",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    message = f"module 'bgsub' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
