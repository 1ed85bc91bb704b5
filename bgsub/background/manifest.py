"""run.json: everything that is needed to understand a run and to repeat it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bgsub import __version__
from bgsub.background.results import MANIFEST
from bgsub.errors import InputError

SCHEMA_VERSION = 1

_LIBRARIES = ("numpy", "scipy", "opencv-python-headless", "av", "matplotlib")


class Stopwatch:
    """Wall-clock seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.seconds[name] = round(self.seconds.get(name, 0.0) + elapsed, 4)


def input_identity(path: str) -> dict[str, Any]:
    """Name, size in bytes and SHA-256 of an input.

    Parameters
    ----------
    path : str
        A file; or a folder, glob or pattern of images, whose digest runs over the names and
        contents of the files in sorted order.

    Returns
    -------
    dict
        ``path``, ``name``, ``size_bytes``, ``sha256`` (the last two None for an array in memory).
    """
    root = Path(path)
    facts: dict[str, Any] = {"path": path, "name": root.name, "size_bytes": None, "sha256": None}
    if root.is_file():
        with root.open("rb") as file:
            facts["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
        facts["size_bytes"] = root.stat().st_size
        return facts
    folder = root if root.is_dir() else root.parent
    if folder.is_dir():
        digest, size = hashlib.sha256(), 0
        for file_path in sorted(p for p in folder.iterdir() if p.is_file()):
            digest.update(file_path.name.encode("utf-8", "surrogateescape"))
            with file_path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
            size += file_path.stat().st_size
        facts.update(size_bytes=size, sha256=digest.hexdigest())
    return facts


def versions() -> dict[str, str]:
    """Versions of bgsub, Python and the libraries that decide a result."""
    found = {"bgsub": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found


def peak_memory() -> int | None:
    """Peak resident memory of this process in bytes; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def load_manifest(folder: Path) -> dict[str, Any]:
    """Read the run.json of a results folder (or that file itself).

    Raises
    ------
    InputError
        If it is missing or is not a manifest of bgsub.
    """
    path = folder / MANIFEST if folder.is_dir() else folder
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        message = f"{folder}: holds no finished results (no {MANIFEST}); run `bgsub run` first"
        raise InputError(message) from error
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror})"
        raise InputError(message) from error
    except ValueError as error:
        message = f"{path}: is not JSON ({error}); it is damaged or was not written by bgsub"
        raise InputError(message) from error
    if not isinstance(manifest, dict) or "schema_version" not in manifest:
        message = f"{path}: is not a manifest of bgsub"
        raise InputError(message)
    if manifest["schema_version"] != SCHEMA_VERSION:
        message = (
            f"{path}: has schema version {manifest['schema_version']}, but this bgsub reads "
            f"version {SCHEMA_VERSION}; run it with the bgsub that wrote it"
        )
        raise InputError(message)
    return manifest
