"""Files: what can be read like one, and temporary names that do not outlive their process.

What has a temporary name is locked by the process that made it, so that the next one in the same
folder can tell what a killed process left from what another one is working on.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import errno
import json
import mmap
import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from bgsub.errors import InputError, OutputError, writing

if sys.platform != "win32":
    import fcntl

T = TypeVar("T")

_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
_KINDS |= dict.fromkeys((stat.S_IFCHR, stat.S_IFBLK), "a device")


def check_plain(path: str | os.PathLike[str]) -> None:
    """Raise InputError for what cannot be read like a file; folders and missing files pass."""
    try:
        kind = _KINDS.get(stat.S_IFMT(os.stat(path).st_mode))  # noqa: PTH116 - Path("") is the folder
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EACCES}:
            return
        raise _unreadable(path, error.strerror or str(error)) from error
    except ValueError as error:  # a zero byte
        raise _unreadable(path, "no file has such a name") from error
    if kind is not None:
        raise InputError(f"{os.fspath(path)}: is {kind} and no file; save what it gives to a file")


def _unreadable(path: str | os.PathLike[str], reason: str) -> InputError:
    name = os.fspath(path)
    shown = name if len(name) <= 80 else f"{name[:60]}… ({len(name)} letters)"
    return InputError(f"{shown}: cannot be read ({reason.lower()}); check the path")


PREFIX = ".bgsub-partial-"  # what temporary names begin with
_PATIENCE_S = 5.0  # another process locks what it has named in microseconds, clears up in seconds


@dataclass
class Claim:
    """A file or folder under a temporary name, locked until its descriptor is closed or killed."""

    path: Path
    descriptor: int

    def close(self) -> None:
        """Release the lock; may be called twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1

    def remove(self) -> None:
        """Remove what is there, if it still is, and give up the lock; never raises."""
        if os.name == "nt":
            self.close()  # what is open cannot be removed there
        if self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
        self.close()


def make_folder(parent: Path) -> Claim:
    """Make a folder that only this user may enter, and lock it; call it inside `alone_in`."""
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return Claim(path, -1)
    _lock(descriptor)
    return Claim(path, descriptor)


def make_file(parent: Path) -> Claim:
    """Make a file for writing, with the usual permissions, and lock it; call it in `alone_in`."""
    path = parent / f"{PREFIX}{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    claim = Claim(path, os.open(path, flags, 0o666))
    _lock(claim.descriptor)
    return claim


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[bool]:
    """Let no other process make or clear up temporary names in a folder; False if that fails."""
    descriptor = -1
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        deadline = time.monotonic() + _PATIENCE_S
        while not (is_alone := _lock(descriptor)) and time.monotonic() < deadline:
            time.sleep(0.01)
    except OSError:
        is_alone = False
    try:
        yield is_alone
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def abandoned(folder: Path) -> Iterator[Claim]:
    """Claim what killed processes of this user left in a folder; call it inside `alone_in`."""
    for path in sorted(folder.glob(f"{PREFIX}*")):
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | _NONBLOCK)
        except OSError:
            continue
        facts = os.fstat(descriptor)
        is_plain = stat.S_ISDIR(facts.st_mode) or stat.S_ISREG(facts.st_mode)
        if is_plain and _is_own(facts) and _lock(descriptor):
            yield Claim(path, descriptor)
        else:
            os.close(descriptor)


_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a pipe of that name must not make anybody wait


def _is_own(facts: os.stat_result, *others: int) -> bool:
    """Return whether a file or folder belongs to this user, or to one of these others."""
    return not hasattr(os, "geteuid") or facts.st_uid in {os.geteuid(), *others}


def _lock(descriptor: int) -> bool:
    """Lock an open file or folder; False if another process has, or there are no locks there."""
    if sys.platform == "win32":  # nothing tells there whose a leftover is: they stay
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sync(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk; OSError if it fails."""
    is_folder = path.is_dir()
    if os.name == "nt" and is_folder:
        return  # Windows opens no folders, and writes their names at once
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems have no way to ask this of a folder.
        if not is_folder or error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}:
            raise
    finally:
        os.close(descriptor)


def sync_all(paths: Sequence[Path]) -> None:
    """Wait until files, and folders with the files in them, are on the disk.

    Folders of pictures by one call for their file system: one for each of 2500 pictures took 20 s.
    """
    folders = [path for path in paths if path.is_dir()]
    for path in paths:
        if path not in folders:
            sync(path)
    if not folders:
        return
    try:
        syncfs = ctypes.CDLL(None, use_errno=True).syncfs
        descriptor = os.open(folders[0], os.O_RDONLY)
    except (AttributeError, OSError, TypeError):  # not Linux
        if hasattr(os, "sync"):
            os.sync()
        return
    try:
        if syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(descriptor)


def read_json(
    path: Path,
    what: str,
    make: Callable[[Any], T],
    *,
    advice: str = "",
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> T:
    """Read JSON, with `pairs` as its hook, and make something of it; InputError with advice."""
    try:
        return make(json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=pairs))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise InputError(f"{path}: is no {what} ({reason}){advice}") from error


@contextlib.contextmanager
def open_csv(path: Path, otherwise: str) -> Iterator[IO[str]]:
    """Open a CSV file for reading; InputError, which says `otherwise` what it is, if it is none."""
    check_plain(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: {otherwise} ({error})") from error


def write_rows(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write a table with commas."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def write_file(path: Path, data: bytes | mmap.mmap) -> None:
    """Write a file that somebody named, a plain one whole or not at all; OutputError if that fails.

    Devices, pipes and links that are there are written through, as by any other program; a link
    only if it is the user's own or the system's. A plain file keeps its permissions.
    """
    try:
        facts = path.lstat()
    except OSError:
        facts = None
    with writing(path, "check the folder and its space"):
        if facts is None or stat.S_ISREG(facts.st_mode):
            _replace(path, data, facts)
        elif stat.S_ISLNK(facts.st_mode) and not _is_own(facts, 0):
            message = f"{path}: is a link that another user made; remove it or choose another file"
            raise OutputError(message)
        else:
            with path.open("wb") as file:
                file.write(data)


@contextlib.contextmanager
def staged(path: Path, advice: str = "check the folder and its space") -> Iterator[Path]:
    """Yield a path to write to, which takes its place when whole, or is removed; OutputError."""
    with writing(path, advice):
        path.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(path.parent):
            claim = make_folder(path.parent)
        try:
            yield claim.path / path.name
            sync_all([claim.path / path.name])
            os.replace(claim.path / path.name, path)  # noqa: PTH105 - replaces on Windows too
        finally:
            claim.remove()


def check_free(path: Path, *, force: bool, plain: bool = False) -> None:
    """Raise OutputError if a file is there that may not be replaced; `plain`: or anything else."""
    if plain and os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise OutputError(f"{path}: is not a plain file; choose another name")
    # Path.is_file raises for names that are too long; whoever writes the file says so.
    if os.path.isfile(path) and not path.is_symlink() and not force:  # noqa: PTH113 - see above
        raise OutputError(f"{path}: exists; replace it with --force or choose another name")


def write_in(folder: Path, name: str, data: bytes) -> None:
    """Write a file into a folder that somebody named; an earlier plain file is replaced.

    OutputError if it cannot be written, or something else has its name: nobody has asked to write
    through that.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{folder}: the folder cannot be made ({error.strerror}); choose another"
        raise OutputError(message) from error
    check_free(folder / name, force=True, plain=True)
    write_file(folder / name, data)


def _replace(path: Path, data: bytes | mmap.mmap, facts: os.stat_result | None) -> None:
    folder = path.parent
    with alone_in(folder) as is_alone:
        for left in abandoned(folder) if is_alone else ():
            if left.path.is_file():
                left.remove()
            left.close()
        claim = make_file(folder)
    try:
        if facts is not None and hasattr(os, "fchmod"):
            os.fchmod(claim.descriptor, stat.S_IMODE(facts.st_mode))
        with open(claim.descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.fsync(claim.descriptor)
        if os.name == "nt":
            claim.close()
        claim.path.replace(path)
        with contextlib.suppress(OSError):  # a folder that may be written to but not be read
            sync(folder)
    finally:
        claim.remove()
