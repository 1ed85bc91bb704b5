"""Write a folder of results: aside, renamed when complete, never at the cost of other files.

What an earlier run wrote there is known from its run.json; nothing else may ever be replaced. That
file says everything that is needed to understand a run and to repeat it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.errors import InputError, OutputError, UsageError, cannot_write, writing
from bgsub.options import RunOptions
from bgsub.rules import Facts, File, Integer, ListOf, Nullable, Number, Rule, Text
from bgsub.runtime.files import Claim, abandoned, alone_in, check_plain, make_folder, sync, sync_all
from bgsub.runtime.processes import uninterrupted
from bgsub.version import __version__

if TYPE_CHECKING:
    from bgsub.video.source import Footage

notes = logging.getLogger("bgsub.notes")

MANIFEST = "run.json"
# Within the hidden folder of a run that puts its results in place: those that they replace.
_REPLACED = "replaced"
_ADVICE = "free some space or choose another folder with --out"
# Of an output: ``bytes``, ``sha256`` and, of a folder, the number of its ``pictures``.
OutputFacts = dict[str, int | str]
_OURS = re.compile(
    r"(background|foreground|mask|preview|overlay|scores)(\.mp4|\.mkv|\.zarr)?|input\.mp4|report\.html"
    r"|(errors|spectrum)\.(png|svg)|background\.png"
    r"|clip[0-9]{4,}_[0-9.-]+\.mp4|clips\.csv"
    r"|(objects|tracks|regions|events|activity)\.csv|events\.json|heatmap\.(png|npy)"
    r"|(errors|frame_errors|compare|synthetic|digits|times)\.csv"
    r"|(decomposition|synthetic|digits|times|frames-own|frames-common)\.png"
    r"|(errors-(whole|part)\.png|frame_errors-(whole|part)\.csv)"
    r"|model\.npz|models"
)
_PICTURE = re.compile(r"([0-9]+)\.(png|npz)")
_CHUNK = re.compile(r"\.zarray|\.zattrs|[0-9]+(\.0){2,3}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_output_name(name: str) -> bool:
    """Return whether bgsub writes that name: --force trusts no other name in a run.json."""
    return _OURS.fullmatch(name) is not None


def earlier_outputs(path: Path) -> dict[str, OutputFacts]:
    """Read what the run.json in a folder says was written; OutputError if it is not one of ours."""
    foreign = (
        f"{path / MANIFEST}: was not written by this version of bgsub; move it away or choose "
        "another --out"
    )
    try:
        check_plain(path / MANIFEST)
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (InputError, OSError, ValueError, RecursionError) as error:
        raise OutputError(foreign) from error
    outputs = manifest.get("outputs") if isinstance(manifest, dict) else None
    if not isinstance(outputs, dict) or "bgsub_version" not in manifest:
        raise OutputError(foreign)
    for name, facts in outputs.items():
        plain = facts if isinstance(facts, dict) else {}
        numbers = [plain.get("bytes"), plain.get("pictures", 0)]
        is_digest = _SHA256.fullmatch(str(plain.get("sha256"))) is not None
        if not (is_output_name(name) and is_digest and all(type(one) is int for one in numbers)):
            raise OutputError(foreign)
    return outputs


def describe(path: Path) -> OutputFacts:
    """Return size and SHA-256 of an output; of a folder, of the names and digests within."""
    if not path.is_dir():
        digest, size = digest_of(path)
        return {"bytes": size, "sha256": digest.hex()}
    pictures = sorted(path.iterdir())
    digest, size = digest_of_all(pictures)
    return {"pictures": len(pictures), "bytes": size, "sha256": digest.hex()}


def digest_of(path: Path) -> tuple[bytes, int]:
    """Return SHA-256 and size of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest(), path.stat().st_size


def digest_of_all(paths: Iterable[Path]) -> tuple[bytes, int]:
    """Return SHA-256 of the names and digests of files in their order, and the sum of sizes."""
    found, total = hashlib.sha256(), 0
    for path in paths:
        digest, size = digest_of(path)
        found.update(path.name.encode("utf-8", "surrogateescape") + digest)
        total += size
    return found.digest(), total


def check_unchanged(path: Path, facts: OutputFacts) -> None:
    """Raise OutputError unless a path still holds what the manifest says that bgsub wrote."""
    foreign = path
    if "pictures" not in facts:
        is_same_kind = path.is_file() and not path.is_symlink()
        if is_same_kind and path.stat().st_size == facts["bytes"] and describe(path) == facts:
            return
    elif path.is_dir() and not path.is_symlink():
        strange = [p for p in sorted(path.iterdir()) if not _is_picture(p, int(facts["pictures"]))]
        if not strange and describe(path) == facts:
            return
        foreign = strange[0] if strange else path
    raise OutputError(
        f"{foreign}: is not what bgsub wrote there (it was changed or added since); "
        "move it away or choose another folder with --out"
    )


def _is_picture(path: Path, pictures: int) -> bool:
    """Return whether a file is one of so many images or models, or of a Zarr array."""
    if path.parent.suffix == ".zarr":
        is_named = _CHUNK.fullmatch(path.name) is not None
    else:
        match = _PICTURE.fullmatch(path.name)
        number = int(match[1]) if match and len(match[1]) < 20 else 0
        names = {f"{number:06d}.png", f"{number:04d}.npz"}
        is_named = 1 <= number <= pictures and path.name in names
    return is_named and path.is_file() and not path.is_symlink()


class ResultsDirectory(contextlib.AbstractContextManager["ResultsDirectory"]):
    """Takes the outputs of one run, and shows them under their names only when all are whole.

    Outputs are written to `stage` paths in a hidden folder inside the directory,
    which is made if it is missing; `commit` renames them, the manifest last; leaving without a
    commit removes every trace. What a killed run left there is removed, or put in place if it was
    whole, and that is said. `force` replaces what an earlier run of bgsub wrote, and never other
    files. OutputError, before any work, if the directory cannot be written or holds what would be
    replaced.
    """

    def __init__(self, path: Path, names: list[str], *, force: bool = False) -> None:
        unknown = [name for name in names if not is_output_name(name)]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not among the names of bgsub.pipeline.results")
        self.path, self._names, self._force = path, names, force
        self._made: list[Path] = []
        self._held = contextlib.ExitStack()
        self._is_in_place = False
        try:
            recover(path)
            self._earlier = self._check()
            self._made = [p for p in (path, *path.parents) if not p.exists()]
            path.mkdir(parents=True, exist_ok=True)
            with alone_in(path):
                self._claim = make_folder(path)
        except OSError as error:
            self._remove_made()
            raise cannot_write(path, error, "choose another folder with --out") from error

    def __exit__(self, *_: object) -> None:
        self._claim.remove()
        self._remove_made()
        try:
            self._held.close()
        except KeyboardInterrupt as error:
            if not self._is_in_place:
                raise
            message = f"interrupted, but the results are complete, in {self.path}"
            raise KeyboardInterrupt(message) from error

    def _remove_made(self) -> None:
        for folder in self._made:
            with contextlib.suppress(OSError):  # not empty: the results are in it
                folder.rmdir()

    def _check(self) -> dict[str, OutputFacts]:
        """Raise if a file would be lost that must not be; give what an earlier run wrote."""
        if self.path.exists() and not self.path.is_dir():
            message = f"{self.path}: is a file, but results need a folder; choose another --out"
            raise OutputError(message)
        earlier = earlier_outputs(self.path)
        # What an earlier run wrote goes with it, so that a folder never mixes two runs.
        names = sorted({*self._names, *earlier})
        present = [name for name in names if os.path.lexists(self.path / name)]
        for name in present:
            if name not in earlier:
                raise OutputError(
                    f"{self.path / name}: exists, and no finished run of bgsub wrote it; "
                    "move it away or choose another folder with --out"
                )
        if not self._force and (present or os.path.lexists(self.path / MANIFEST)):
            raise OutputError(
                f"{self.path}: holds the results of an earlier run; replace them with --force or "
                "choose another folder with --out"
            )
        for name in present:
            check_unchanged(self.path / name, earlier[name])
        return earlier

    def stage(self, name: str) -> Path:
        """Return the temporary path under which an output is to be written."""
        return self._claim.path / name

    def write(self, name: str, data: str | bytes) -> None:
        """Write an output; OutputError if that fails."""
        with writing(self.path / name, _ADVICE):
            self.stage(name).write_bytes(data.encode() if isinstance(data, str) else data)

    def commit(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Rename all staged outputs and write the manifest last; return it with facts of each.

        Signals wait from here to the end of the context; the KeyboardInterrupt that they raise then
        says that the results are complete. What it replaces goes only when the new results are on
        the disk. A kill at any moment leaves one of the two whole, in place or, until the next run
        on that folder, aside. OutputError if a file cannot be written or renamed, or somebody else
        has put files there.
        """
        with writing(self.path, _ADVICE):
            outputs = {name: describe(self.stage(name)) for name in self._names}
            whole = {**manifest, "outputs": outputs}
            text = json.dumps(whole, indent=2, allow_nan=False) + "\n"
            self.stage(MANIFEST).write_text(text, encoding="utf-8")
            sync_all([self.stage(name) for name in [*self._names, MANIFEST]])
            sync(self._claim.path)
            self._earlier = self._check()
            self._held.enter_context(uninterrupted())
            _put_in_place(self.path, self._claim.path, self._names, self._earlier)
            self._is_in_place = True
        return whole


def is_complete(path: Path) -> bool:
    """Return whether a directory holds the results of a finished run: its manifest is there."""
    return (path / MANIFEST).is_file()


def has_results(path: Path) -> bool:
    """Return whether a folder holds complete results; what a killed run finished is put there."""
    if not is_complete(path) and any(path.glob(f".bgsub-partial-*/{_REPLACED}")):
        recover(path)
    return is_complete(path)


def recover(path: Path) -> None:
    """Put whole results of killed runs in place, remove what else these left, and say so."""
    if not path.is_dir():
        return
    with alone_in(path) as is_alone:
        for left in abandoned(path) if is_alone else ():
            try:
                if _finish(path, left):
                    notes.info("%s: put results in place that a killed run had finished", path)
                else:
                    notes.info("%s: removed what a killed run had left there", path)
            except (OSError, OutputError) as error:
                left.close()
                message = "%s: stays, it holds results that a killed run had finished (%s)"
                notes.warning(message, left.path, error)
            else:
                left.remove()


def _finish(path: Path, left: Claim) -> bool:
    """Put results in place if a killed run had begun to; False if there is nothing to finish."""
    replaced = left.path / _REPLACED
    has_begun = replaced.is_dir() and not is_complete(path)  # the old manifest goes first
    if not has_begun or not is_complete(left.path):
        return False
    names = list(earlier_outputs(left.path))
    _put_in_place(path, left.path, names, earlier_outputs(replaced))
    return True


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise OutputError(f"{path}: has appeared meanwhile; move it away")


def _put_in_place(
    path: Path, staging: Path, names: Iterable[str], earlier: Mapping[str, OutputFacts]
) -> None:
    """Exchange results for whole ones, even where a kill ended it; undo all if that fails."""
    replaced = staging / _REPLACED
    replaced.mkdir(exist_ok=True)
    sync(staging)
    moved: list[tuple[Path, Path]] = []

    def move(name: str, source: Path, target: Path) -> None:
        (source / name).rename(target / name)
        moved.append((source / name, target / name))

    try:
        for name in [MANIFEST, *earlier]:
            # One that is no longer aside is the new one already.
            is_old = name not in {MANIFEST, *names} or os.path.lexists(staging / name)
            if is_old and os.path.lexists(path / name):
                if name != MANIFEST:
                    check_unchanged(path / name, earlier[name])
                move(name, path, replaced)
        for name in names:
            if os.path.lexists(staging / name):
                _check_free(path / name)
                move(name, staging, path)
        sync(path)
        move(MANIFEST, staging, path)
        sync(path)
    except (OSError, OutputError):
        for source, target in reversed(moved):
            with contextlib.suppress(OSError):
                target.rename(source)
        with contextlib.suppress(OSError):
            replaced.rmdir()
        raise


_LARGEST = 64 << 20  # bytes of a run.json
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
_COUNT, _FRAME, _DIGEST = Integer(0), Integer(1), Text("[0-9a-f]{64}", "a SHA-256")
_SECONDS = Number("a finite number of seconds")
_RATE = Text(r"[0-9]{1,18}(/[1-9][0-9]{0,17})?", "a rate such as 25 or 30000/1001")

_WORDS = ("codec", "pixel_format", "unseen_damage")
# Of every command.
_BASE = Facts({"bgsub_version": Text(), "command": Text()}, frozenset({"command"}))
_EVENT = Facts(
    {
        **dict.fromkeys(("number", "first_frame", "last_frame", "peak_frame", "n_frames"), _FRAME),
        **dict.fromkeys(("start_s", "end_s", "peak_time_s"), _SECONDS),
        "peak_score": Number("a finite number"),
    }
)
_OPTIONAL: dict[str, Rule] = {  # what may be null, or not be there
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
RUN = Facts(  # of `bgsub run` and `bgsub apply`
    {
        "options": Facts({"source": Facts({}), "temp": Nullable(File())}, frozenset({"temp"})),
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


def check_facts(manifest: Any) -> dict[str, Any]:
    """Return a manifest if it is one; raise UsageError, which names what is wrong."""
    found: dict[str, Any] = _BASE.read("", manifest)
    if found.get("command", "run") in {"run", "apply"}:
        RUN.read("", found)
        RunOptions.from_json({**found["options"], "temp": None})  # a folder that may be gone
    return found
