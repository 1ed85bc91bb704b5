"""A directory of results: written aside, renamed when whole, never at the cost of other files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bgsub.errors import OutputError

MANIFEST = "run.json"

_PICTURE = re.compile(r"([0-9]+)\.png")

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


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
        self._force = force
        self._made: list[Path] = []
        try:
            self._earlier = self._check()
            self._made = [p for p in (path, *path.parents) if not p.exists()]
            path.mkdir(parents=True, exist_ok=True)
            # Not named by the process alone: a killed one of that number may have left its own.
            self._staging = Path(tempfile.mkdtemp(prefix=".bgsub-partial-", dir=path))
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

    def _check(self) -> dict[str, dict[str, int]]:
        """Raise if a file would be lost that must not be; give what an earlier run wrote."""
        if self.path.exists() and not self.path.is_dir():
            message = f"{self.path}: is a file, but results need a folder; choose another --out"
            raise OutputError(message)
        earlier = _earlier_outputs(self.path)
        # What an earlier run wrote goes with it, so that a folder never mixes two runs.
        names = sorted({*self._names, *earlier, MANIFEST})
        present = [name for name in names if os.path.lexists(self._at(name))]
        for name in present:
            if name == MANIFEST:
                continue
            if name not in earlier:
                message = (
                    f"{self._at(name)}: exists, and no finished run of bgsub wrote it; "
                    "move it away or choose another folder with --out"
                )
                raise OutputError(message)
            _check_unchanged(self._at(name), earlier[name])
        if present and not self._force:
            message = (
                f"{self.path}: holds the results of an earlier run; replace them with --force or "
                "choose another folder with --out"
            )
            raise OutputError(message)
        return earlier

    def _at(self, name: str) -> Path:
        return self.path / name

    def stage(self, name: str) -> Path:
        """Give the temporary path under which an output is to be written."""
        return self._staging / name

    def commit(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Give all staged outputs their names, and write the manifest last.

        Parameters
        ----------
        manifest : dict
            JSON values.

        Returns
        -------
        dict
            The manifest with ``outputs``: size in bytes (and number of pictures) by name.

        Raises
        ------
        OutputError
            If a file cannot be written or renamed, or somebody else has put files there meanwhile.
        """
        outputs = {name: _describe(self.stage(name)) for name in self._names}
        whole = {**manifest, "outputs": outputs}
        text = json.dumps(whole, indent=2, allow_nan=False) + "\n"
        staged = self.stage(MANIFEST)
        try:
            with staged.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            self._earlier = self._check()
            with _uninterrupted():
                self._replace()
        except OSError as error:
            message = (
                f"{self.path}: the results cannot be written ({error.strerror}); "
                "free some space or choose another folder with --out"
            )
            raise OutputError(message) from error
        return whole

    def _replace(self) -> None:
        self._at(MANIFEST).unlink(missing_ok=True)
        for name in self._earlier:
            _remove(self._at(name))
        named: list[Path] = []
        try:
            for name in [*self._names, MANIFEST]:
                self.stage(name).rename(self._at(name))
                named.append(self._at(name))
        except OSError:
            for path in named:
                _remove(path)
            raise


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
    if not all(_is_output(name, facts) for name, facts in outputs.items()):
        raise _foreign_manifest(path)
    return outputs


def _is_output(name: str, facts: object) -> bool:
    """Whether a manifest's entry is a plain name with whole numbers."""
    is_plain = Path(name).name == name and name not in {"", ".."}
    counts = facts.values() if isinstance(facts, dict) else [None]
    return is_plain and all(isinstance(count, int) for count in counts)


def _foreign_manifest(path: Path) -> OutputError:
    return OutputError(
        f"{path / MANIFEST}: is not a manifest of bgsub; move it away or choose another --out"
    )


def _describe(path: Path) -> dict[str, int]:
    if path.is_dir():
        sizes = [picture.stat().st_size for picture in path.iterdir()]
        return {"pictures": len(sizes), "bytes": sum(sizes)}
    return {"bytes": path.stat().st_size}


def _check_unchanged(path: Path, facts: dict[str, int]) -> None:
    """Raise unless the path still is what the manifest says that bgsub wrote."""
    foreign = path
    if "pictures" not in facts:
        if path.is_file() and not path.is_symlink() and path.stat().st_size == facts.get("bytes"):
            return
    elif path.is_dir() and not path.is_symlink():
        strange = [p for p in sorted(path.iterdir()) if not _is_ours(p, facts["pictures"])]
        if not strange and _describe(path) == facts:
            return
        foreign = strange[0] if strange else path
    message = (
        f"{foreign}: is not what bgsub wrote there (it was changed or added since); "
        "move it away or choose another folder with --out"
    )
    raise OutputError(message)


def _is_ours(path: Path, pictures: int) -> bool:
    """Whether a file in a folder of that many pictures has the name of one of them."""
    match = _PICTURE.fullmatch(path.name)
    number = int(match[1]) if match else 0
    is_named = 1 <= number <= pictures and path.name == f"{number:06d}.png"
    return is_named and path.is_file() and not path.is_symlink()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold signals back while names change, so that a folder is never half old and half new.

    Blocking them for this thread would not do: the system would hand them to another one, and
    Python would still run their handler in this one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread alone
        return
    came: list[int] = []
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in numbers}
    handlers = {number: own for number, own in handlers.items() if own is not None}
    for number in handlers:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, own in handlers.items():
            signal.signal(number, own)
        for number in came[:1]:
            signal.raise_signal(number)
