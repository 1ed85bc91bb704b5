"""Choose among the models of a film in segments the one that knows new footage best."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from bgsub.errors import InputError
from bgsub.options import RunOptions
from bgsub.pipeline.inputs import load_for, open_input
from bgsub.runtime.threads import Workers
from bgsub.video.glimpses import glimpse
from bgsub.video.source import Footage

_GLIMPSES = 24
"""Frames of the footage by which models are compared."""

_MODEL = re.compile(r"[0-9]{4,}\.npz")


def models_in(folder: Path) -> list[Path]:
    """List the models of a folder of results or of models, in order; empty if there are none."""
    place = folder / "models" if (folder / "models").is_dir() else folder
    found = [path for path in place.iterdir() if _MODEL.fullmatch(path.name)]
    return sorted(found, key=lambda path: int(path.stem))


def choose_model(models: list[Path], footage: Footage, options: RunOptions) -> Path:
    """Choose the model that leaves the least of the footage unexplained.

    Parameters
    ----------
    models : list of Path
        At least one, all of one film.
    footage : path or ndarray
    options : RunOptions

    Returns
    -------
    Path
        That with the lowest median error on frames that are spread over the footage; the first
        of equals.

    Raises
    ------
    InputError
        If a model is damaged, or of another size than the footage.
    """
    if len(models) == 1:
        return models[0]
    source = open_input(footage, options, like=load_for(models[0], options))
    rows = np.stack([frame.data for frame in glimpse(source, _GLIMPSES)])
    found = []
    with Workers(options.threads, options.jobs) as workers:
        for path in models:
            model = load_for(path, options)
            if model.layout.size != rows.shape[1]:
                message = f"{source.path}: its frames have another size than those of {path}"
                raise InputError(f"{message}; use footage of that size, or --scale or --roi")
            errors = model.project(rows, workers)[1]
            found.append(float(np.median(np.sqrt(errors))))
    return models[int(np.argmin(found))]
