"""A directory of results: written aside, renamed when whole, never at the cost of other files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bgsub.errors import OutputError

MANIFEST = "run.json"

_PICTURE = re.compile(r"\d{6,}\.png")


class ResultsDirectory:
    """Takes the outputs of one run, and shows them under their names only when all are whole.

    A context manager: outputs are written to `stage` paths in a hidden folder inside the directory;
    `commit` renames them, the manifest last; leaving without a commit removes every trace.

    Parameters
    ----------
    path : Path
        The directory; made if it is missing.
    names : collection of str
        Files and picture folders that the run will write, without the manifest.
    force : bool
        Replace what an earlier run of bgsub wrote. Other files are never touched.

    Raises
    ------
    OutputError
        Before any work: if the directory cannot be written or holds what would be replaced.
    """

    def __init__(self, path: Path, names: list[str], *, force: bool = False) -> None:
        self.path = path
        self._names = names
        self._earlier = _earlier_outputs(path)
        self._check(force=force)
        self._made = [p for p in (path, *path.parents) if not p.exists()]
        self._staging = path / f".bgsub-partial-{os.getpid()}"
        try:
            self._staging.mkdir(parents=True)
        except OSError as error:
            self._remove_made()
            message = (
                f"{path}: the results folder cannot be written ({error.strerror}); "
                "choose another with --out"
            )
            raise OutputError(message) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        self._remove_made()

    def _remove_made(self) -> None:
        for folder in self._made:
            with contextlib.suppress(OSError):  # not empty: the results are in it
                folder.rmdir()

    def _check(self, *, force: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            message = f"{self.path}: is a file, but results need a folder; choose another --out"
            raise OutputError(message)
        # What an earlier run wrote goes with it, so that a folder never mixes two runs.
        present = [
            name for name in {*self._names, *self._earlier, MANIFEST} if self._at(name).exists()
        ]
        for name in sorted(present):
            if name not in self._earlier and name != MANIFEST:
                message = (
                    f"{self._at(name)}: exists, and no finished run of bgsub wrote it; "
                    "move it away or choose another folder with --out"
                )
                raise OutputError(message)
            _check_unchanged(self._at(name), self._earlier.get(name, {}))
        if present and not force:
            message = (
                f"{self.path}: holds the results of an earlier run; replace them with --force or "
                "choose another folder with --out"
            )
            raise OutputError(message)

    def _at(self, name: str) -> Path:
        return self.path / name

    def stage(self, name: str) -> Path:
        """Give the temporary path under which an output is to be written."""
        return self._staging / name

    def commit(self, manifest: dict[str, Any]) -> None:
        """Give all staged outputs their names, and write the manifest last.

        Parameters
        ----------
        manifest : dict
            JSON values; gets ``outputs``: size in bytes (or number of pictures) by name.

        Raises
        ------
        OutputError
            If a file cannot be written or renamed.
        """
        outputs = {name: _describe(self.stage(name)) for name in self._names}
        text = json.dumps({**manifest, "outputs": outputs}, indent=2, allow_nan=False) + "\n"
        staged = self.stage(MANIFEST)
        try:
            with staged.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            with _uninterrupted():
                self._at(MANIFEST).unlink(missing_ok=True)
                for name in self._earlier:
                    _remove(self._at(name))
                for name in [*self._names, MANIFEST]:
                    self.stage(name).rename(self._at(name))
        except OSError as error:
            message = (
                f"{self.path}: the results cannot be written ({error.strerror}); "
                "free some space or choose another folder with --out"
            )
            raise OutputError(message) from error


def is_whole(path: Path) -> bool:
    """Whether a directory holds the results of a finished run: its manifest is there."""
    return (path / MANIFEST).is_file()


def _earlier_outputs(path: Path) -> dict[str, dict[str, int]]:
    """Outputs that the manifest in a directory says an earlier run wrote; plain names only."""
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        return {}
    except (OSError, ValueError) as error:
        raise _foreign_manifest(path) from error
    outputs = manifest.get("outputs") if isinstance(manifest, dict) else None
    if not isinstance(outputs, dict) or "bgsub_version" not in manifest:
        raise _foreign_manifest(path)
    return {name: facts for name, facts in outputs.items() if Path(name).name == name}


def _foreign_manifest(path: Path) -> OutputError:
    return OutputError(
        f"{path / MANIFEST}: is not a manifest of bgsub; move it away or choose another --out"
    )


def _describe(path: Path) -> dict[str, int]:
    if path.is_dir():
        return {"pictures": sum(1 for _ in path.iterdir())}
    return {"bytes": path.stat().st_size}


def _check_unchanged(path: Path, facts: dict[str, int]) -> None:
    """Raise unless the path still is what the manifest says that bgsub wrote."""
    foreign = path
    if "pictures" in facts and path.is_dir():
        strange = [p for p in sorted(path.iterdir()) if not _PICTURE.fullmatch(p.name)]
        if not strange:
            return
        foreign = strange[0]
    elif "bytes" not in facts or (path.is_file() and path.stat().st_size == facts["bytes"]):
        return
    message = (
        f"{foreign}: is not what bgsub wrote there (it was changed or added since); "
        "move it away or choose another folder with --out"
    )
    raise OutputError(message)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold signals back while names change, so that a folder is never half old and half new."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
