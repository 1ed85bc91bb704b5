"""Separate the background of footage by robust PCA (TRPCA): masks, backgrounds and errors."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from bgsub.version import __version__

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel
    from bgsub.errors import BgsubError
    from bgsub.options import RunOptions, SourceOptions
    from bgsub.outliers.errors_table import ErrorTable
    from bgsub.outliers.events import Event, find_events
    from bgsub.pipeline.outcome import RunResult, load_results
    from bgsub.pipeline.run import apply, fit_errors, masks, model_errors
    from bgsub.robustpca.online import OnlineTRPCA
    from bgsub.robustpca.trpca import TRPCA
    from bgsub.segmenter.subtractor import Subtractor
    from bgsub.segments.run import run
    from bgsub.tracking.events import SceneEvent
    from bgsub.tracking.tables import Track, objects
    from bgsub.tracking.tracker import Observation
    from bgsub.video.source import FrameSource, open_source

__all__ = ["BgsubError", "RunOptions", "SourceOptions", "__version__"]
__all__ += ["FrameSource", "apply", "fit_errors", "masks", "model_errors", "open_source", "run"]
__all__ += ["ErrorTable", "Event", "RunResult", "find_events", "load_results"]
__all__ += ["Observation", "SceneEvent", "Track", "objects"]
__all__ += ["TRPCA", "BackgroundModel", "OnlineTRPCA", "Subtractor"]

# Names are imported on first use, so that `bgsub --help` does not wait for NumPy and OpenCV.
_NAMES = {
    "background.model": "BackgroundModel",
    "errors": "BgsubError",
    "options": "RunOptions SourceOptions",
    "outliers.errors_table": "ErrorTable",
    "outliers.events": "Event find_events",
    "pipeline.outcome": "RunResult load_results",
    "pipeline.run": "apply fit_errors masks model_errors",
    "robustpca.online": "OnlineTRPCA",
    "robustpca.trpca": "TRPCA",
    "segmenter.subtractor": "Subtractor",
    "segments.run": "run",
    "tracking.events": "SceneEvent",
    "tracking.tables": "Track objects",
    "tracking.tracker": "Observation",
    "video.source": "FrameSource open_source",
}
_HOME = {name: f"bgsub.{module}" for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'bgsub' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
