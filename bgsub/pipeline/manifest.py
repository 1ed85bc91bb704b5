"""run.json, which says everything that is needed to understand a run and to repeat it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.errors import InputError, OutputError, UsageError
from bgsub.options import RunOptions
from bgsub.pipeline.results import MANIFEST, digest_of, digest_of_all, recover
from bgsub.rules import Facts, File, Integer, ListOf, Nullable, Number, Rule, Text
from bgsub.runtime.files import check_plain
from bgsub.version import __version__

if TYPE_CHECKING:
    from bgsub.video.source import Footage

_LARGEST = 64 << 20

_LIBRARIES = ("numpy", "scipy", "opencv-python-headless", "av", "matplotlib")


class Stopwatch:
    """Wall-clock seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.seconds[name] = round(self.seconds.get(name, 0.0) + elapsed, 4)


def input_identity(footage: Footage) -> dict[str, Any]:
    """Return path, absolute path, name, size in bytes and SHA-256 of an input.

    The digest of images or of a Zarr store runs over the names and contents of these files in their
    order, and that of an array, which has no path, over its values. Size and digest are None where
    nothing is there, or a file cannot be read.
    """
    if not isinstance(footage, (str, os.PathLike)):
        values = hashlib.sha256()
        for frame in footage:
            values.update(frame.tobytes())
        size = int(footage.nbytes)
        nowhere = {"path": None, "absolute_path": None, "name": "array"}
        return {**nowhere, "size_bytes": size, "sha256": values.hexdigest()}
    path = os.fsdecode(footage)
    root = Path(path)
    name = root.name or root.resolve().name
    absolute = os.path.abspath(path)  # noqa: PTH100 - Path.absolute keeps the dots
    facts: dict[str, Any] = {"path": path, "absolute_path": absolute, "name": name}
    facts |= {"size_bytes": None, "sha256": None}
    # What cannot be read is for the source to complain about: it may be a picture not selected.
    with contextlib.suppress(OSError, InputError):
        if root.is_file():
            digest, size = digest_of(root)
        else:
            from bgsub.video.source import listed_images  # OpenCV comes with it

            parts = listed_images(path)
            if not parts:  # a store
                inside = root.resolve(strict=True).rglob("*")
                parts = sorted(entry for entry in inside if entry.is_file())
            digest, size = digest_of_all(parts)
        facts |= {"size_bytes": size, "sha256": digest.hex()}
    return facts


def versions() -> dict[str, str]:
    """Versions of bgsub, Python and the libraries that decide a result."""
    from importlib import metadata

    found = {"bgsub": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found


def preamble(command: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what run.json begins with, whatever the command."""
    return {
        "schema_version": SCHEMA_VERSION,
        "bgsub_version": __version__,
        "command": command,
        "options": options,
        "seed": options.get("seed"),
        "versions": versions(),
    }


def peak_memory() -> int | None:
    """Return the peak resident memory of this process, bytes; None if the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def load_manifest(folder: Path) -> dict[str, Any]:
    """Read the run.json of a results folder, or that file; InputError if it is none of bgsub."""
    check_plain(folder)
    path = folder / MANIFEST if folder.is_dir() else folder
    if path != folder and not path.exists():
        recover(folder)  # a run that was killed as it put its results in place
    check_plain(path)
    try:
        if path.stat().st_size > _LARGEST:
            message = "is larger than any run.json of bgsub; it is damaged or another file"
            raise _not_read(path, message)
        manifest = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except FileNotFoundError as error:
        message = f"{folder}: holds no finished results (no {MANIFEST}); run `bgsub run` first"
        raise InputError(message) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        message = f"is not JSON ({error}); it is damaged or was not written by bgsub"
        raise _not_read(path, message) from error
    if not isinstance(manifest, dict) or "schema_version" not in manifest:
        raise InputError(f"{path}: was not written by bgsub; name a folder that bgsub run wrote")
    if manifest["schema_version"] != SCHEMA_VERSION:
        message = (
            f"{path}: has schema version {manifest['schema_version']!r}, but this bgsub reads "
            f"version {SCHEMA_VERSION}; run it with the bgsub that wrote it"
        )
        raise InputError(message)
    try:
        return check_facts(manifest)
    except UsageError as error:
        message = f"{path}: {error}; it is damaged, or of another version of bgsub"
        raise InputError(message) from error


def _not_read(path: Path, message: str) -> InputError:
    """Return the error of a manifest that cannot be read, or of a video in its place."""
    if path.suffix != ".json":
        message = "is no folder of results, and no run.json; name the one that bgsub run wrote"
    return InputError(f"{path}: {message}")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def recorded_path(manifest: Mapping[str, Any], typed: str | None) -> str | None:
    """Find a recorded path from any folder; as it was typed where nothing is there any more."""
    if typed is None or "directory" not in manifest:
        return typed
    there = os.path.normpath(Path(manifest["directory"]) / typed)
    return typed if os.path.exists(typed) and not os.path.exists(there) else there  # noqa: PTH110 - Path.exists raises for some


SCHEMA_VERSION = 1


class _Options(Rule):
    """Options of a run, by what `bgsub.options` declares; a folder of them may be gone."""

    meaning = "the options of a run"

    def _read(self, name: str, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("source"), dict):
            self.refuse(name, type(value).__name__)
        RunOptions.from_json({**value, "temp": None})
        if value.get("temp") is not None:
            File().read("--temp", value["temp"])
        return value


_COUNT, _FRAME, _DIGEST = Integer(0), Integer(1), Text("[0-9a-f]{64}", "a SHA-256")
_SECONDS = Number("a finite number of seconds")
_RATE = Text(r"[0-9]{1,18}(/[1-9][0-9]{0,17})?", "a rate such as 25 or 30000/1001")

_BASE = Facts({"bgsub_version": Text(), "command": Text()}, frozenset({"command"}))
"""Of every command."""

_WORDS = ("codec", "pixel_format", "unseen_damage")

_EVENT = Facts(
    {
        **dict.fromkeys(("number", "first_frame", "last_frame", "peak_frame", "n_frames"), _FRAME),
        **dict.fromkeys(("start_s", "end_s", "peak_time_s"), _SECONDS),
        "peak_score": Number("a finite number"),
    }
)

_OPTIONAL: dict[str, Rule] = {
    **dict.fromkeys(("components", "mask_shake_pixels", "peak_memory_bytes"), _COUNT),
    **dict.fromkeys(("memory", "outputs", "stages_s", "versions"), Facts({})),
    **dict.fromkeys(
        ("findings", "fit_warnings", "hints", "mask_notes", "warnings"), ListOf(Text())
    ),
    "frame_size": ListOf(_FRAME, 2),
    "mask_model": Text(),
    "mask_states": ListOf(Facts({})),
    "mask_trust": ListOf(ListOf(Number("a number from 0 to 1e12", 0, 1e12), 3)),
    "events": ListOf(_EVENT),
    "model_sha256": _DIGEST,
}
"""What may be null, or not be there."""

RUN = Facts(
    {
        "options": _Options(),
        "input": Facts(
            {
                "path": Nullable(File()),
                "absolute_path": Nullable(File()),
                "name": Text(),
                "size_bytes": Nullable(_COUNT),
                "sha256": Nullable(_DIGEST),
                "width": _FRAME,
                "height": _FRAME,
                "frames": Nullable(_COUNT),
                "rate": Nullable(_RATE),
                **dict.fromkeys(_WORDS, Nullable(Text())),
            },
            frozenset({"absolute_path", "width", "height", "frames", "rate", *_WORDS}),
        ),
        "directory": File(),
        "frames": Facts(
            {"used": _COUNT, "bad": Nullable(_COUNT), "doubtful": Nullable(_COUNT)},
            frozenset({"bad", "doubtful"}),
        ),
        "cutoff": Nullable(Number("a number from -1e9 to 1e9", -1e9, 1e9)),
        "scene_change": Nullable(Facts({"first_frame": _FRAME, "first_time_s": _SECONDS})),
        "bad_frames": ListOf(Facts({"frame": _FRAME, "time_s": _SECONDS, "reason": Text()})),
        "model": File(),
        **{name: Nullable(rule) for name, rule in _OPTIONAL.items()},
    },
    frozenset({"model", "directory", *_OPTIONAL}),
)
"""Of `bgsub run` and `bgsub apply`."""


def check_facts(manifest: Any) -> dict[str, Any]:
    """Return a manifest if it is one; raise UsageError, which names what is wrong."""
    found: dict[str, Any] = _BASE.read("", manifest)
    if found.get("command", "run") in {"run", "apply"}:
        try:
            RUN.read("", found)
        except OutputError as error:
            raise UsageError(str(error)) from error
    return found
