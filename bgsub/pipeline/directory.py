"""Write a directory of results: aside, renamed when complete, never at the cost of other files."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bgsub.errors import OutputError, cannot_write
from bgsub.pipeline.earlier import (
    MANIFEST,
    Facts,
    check_unchanged,
    describe,
    earlier_outputs,
    is_output_name,
)
from bgsub.runtime.files import Claim, abandoned, alone_in, make_folder, sync, sync_all
from bgsub.runtime.signals import uninterrupted

__all__ = ["MANIFEST", "ResultsDirectory", "has_results", "is_complete", "recover"]

notes = logging.getLogger("bgsub.notes")

# Within the hidden folder of a run that puts its results in place: those that they replace.
_REPLACED = "replaced"


class ResultsDirectory:
    """Takes the outputs of one run, and shows them under their names only when all are whole.

    A context manager: outputs are written to `stage` paths in a hidden folder inside the directory;
    `commit` renames them, the manifest last; leaving without a commit removes every trace.

    Parameters
    ----------
    path : Path
        The directory; made if it is missing. What a killed run left there is removed, or put in
        place if it was whole, and that is said.
    names : collection of str
        Files and picture folders that the run will write, without the manifest; names that
        `bgsub.pipeline.earlier.is_output_name` knows.
    force : bool
        Replace what an earlier run of bgsub wrote. Other files are never touched.

    Raises
    ------
    OutputError
        Before any work: if the directory cannot be written or holds what would be replaced.
    """

    def __init__(self, path: Path, names: list[str], *, force: bool = False) -> None:
        unknown = [name for name in names if not is_output_name(name)]
        if unknown:
            message = f"{unknown[0]!r} is not among the names of bgsub.pipeline.earlier"
            raise ValueError(message)
        self.path = path
        self._names = names
        self._force = force
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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

    def _check(self) -> dict[str, Facts]:
        """Raise if a file would be lost that must not be; give what an earlier run wrote."""
        if self.path.exists() and not self.path.is_dir():
            message = f"{self.path}: is a file, but results need a folder; choose another --out"
            raise OutputError(message)
        earlier = earlier_outputs(self.path)
        # What an earlier run wrote goes with it, so that a folder never mixes two runs.
        present = [name for name in sorted({*self._names, *earlier}) if self._is_there(name)]
        for name in present:
            if name not in earlier:
                message = (
                    f"{self._at(name)}: exists, and no finished run of bgsub wrote it; "
                    "move it away or choose another folder with --out"
                )
                raise OutputError(message)
        if not self._force and (present or self._is_there(MANIFEST)):
            message = (
                f"{self.path}: holds the results of an earlier run; replace them with --force or "
                "choose another folder with --out"
            )
            raise OutputError(message)
        for name in present:
            check_unchanged(self._at(name), earlier[name])
        return earlier

    def _is_there(self, name: str) -> bool:
        return os.path.lexists(self._at(name))

    def _at(self, name: str) -> Path:
        return self.path / name

    def stage(self, name: str) -> Path:
        """Give the temporary path under which an output is to be written."""
        return self._claim.path / name

    def commit(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Give all staged outputs their names, and write the manifest last.

        Parameters
        ----------
        manifest : dict
            JSON values.

        Returns
        -------
        dict
            The manifest with ``outputs``: size in bytes, SHA-256 (and number of pictures) by name.

        Raises
        ------
        OutputError
            If a file cannot be written or renamed, or somebody else has put files there meanwhile.

        Notes
        -----
        Signals wait from here to the end of the context; the KeyboardInterrupt that they raise then
        says that the results are complete.
        What it replaces goes only when the new results are on the disk. A kill at any moment leaves
        one of the two whole, in place or, until the next run on that folder, aside.
        """
        try:
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
        except OSError as error:
            advice = "free some space or choose another folder with --out"
            raise cannot_write(self.path, error, advice) from error
        return whole


def is_complete(path: Path) -> bool:
    """Say whether a directory holds the results of a finished run: its manifest is there."""
    return (path / MANIFEST).is_file()


def has_results(path: Path) -> bool:
    """Say whether a folder holds complete results; what a killed run was putting there is put."""
    if not (path / MANIFEST).is_file() and any(path.glob(f".bgsub-partial-*/{_REPLACED}")):
        recover(path)
    return (path / MANIFEST).is_file()


def recover(path: Path) -> None:
    """Clear up what killed runs left in a results folder, and say so.

    Results that were whole and about to be put in place are; all else is removed. What another
    process is working on, or another user left, stays.
    """
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


def _put_in_place(
    path: Path, staging: Path, names: Iterable[str], earlier: Mapping[str, Facts]
) -> None:
    """Exchange results for those that are whole in another folder; goes on where a kill ended it.

    Raises
    ------
    OSError, OutputError
        If that cannot be done; then all is as it was before.
    """
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


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        message = f"{path}: has appeared meanwhile; move it away"
        raise OutputError(message)
