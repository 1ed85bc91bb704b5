"""Write the folders and files that commands are asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.errors import OutputError, cannot_write

if TYPE_CHECKING:
    from bgsub.pipeline.directory import ResultsDirectory


def make_folder(folder: Path) -> None:
    """Make a folder that somebody named, unless it is there; raises OutputError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{folder}: the folder cannot be made ({error.strerror}); choose another"
        raise OutputError(message) from error


def write(results: ResultsDirectory, name: str, data: str | bytes) -> None:
    """Write a file of the results; raises OutputError if it cannot be written."""
    raw = data.encode() if isinstance(data, str) else data
    try:
        results.stage(name).write_bytes(raw)
    except OSError as error:
        advice = "free some space or choose another folder with --out"
        raise cannot_write(results.path / name, error, advice) from error


def preamble(command: str, options: dict[str, Any]) -> dict[str, Any]:
    """Give what run.json begins with, whatever the command."""
    from bgsub.pipeline import manifest as manifests
    from bgsub.pipeline.schema import SCHEMA_VERSION
    from bgsub.version import __version__

    return {
        "schema_version": SCHEMA_VERSION,
        "bgsub_version": __version__,
        "command": command,
        "options": options,
        "seed": options.get("seed"),
        "versions": manifests.versions(),
    }


def check_free(path: Path, *, force: bool) -> None:
    """Raise OutputError if a file is there that may not be replaced."""
    # Path.is_file raises for names that are too long; whoever writes the file says so.
    if os.path.isfile(path) and not path.is_symlink() and not force:
        raise OutputError(f"{path}: exists; replace it with --force or choose another name")
