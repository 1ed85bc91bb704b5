"""Write an export under a temporary name, and give it its own when it is complete."""

from __future__ import annotations

import os
from pathlib import Path

from bgsub.errors import OutputError, cannot_write
from bgsub.export.formats import FORMATS
from bgsub.export.run_data import RunData
from bgsub.runtime.temporary import alone_in, make_folder, sync_all


def export(run: RunData, form: str, path: Path, *, force: bool = False) -> None:
    """Write a run's objects or events in one of the formats.

    Parameters
    ----------
    run : RunData
    form : str
        A name in `bgsub.export.formats.FORMATS`.
    path : Path
        The file (or, for YOLO, the folder) to write.
    force : bool
        Replace a plain file of that name; a folder is never replaced.

    Raises
    ------
    OutputError
        If it exists, or cannot be written; nothing is left then.
    InputError, UsageError
        If the run lacks what the format shows, or the format cannot express it.
    """
    _check_free(path, force=force)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(path.parent):
            claim = make_folder(path.parent)
        try:
            staged = claim.path / path.name
            FORMATS[form].write(run, staged)
            sync_all([staged])
            _check_free(path, force=force)
            os.replace(staged, path)  # noqa: PTH105 - replaces on Windows too
        finally:
            claim.remove()
    except OSError as error:
        raise cannot_write(path, error, "choose another place") from error


def _check_free(path: Path, *, force: bool) -> None:
    if not os.path.lexists(path):
        return
    if not path.is_file() or path.is_symlink():
        raise OutputError(f"{path}: exists and is no plain file; choose another name")
    if not force:
        raise OutputError(f"{path}: exists; replace it with --force or choose another name")
