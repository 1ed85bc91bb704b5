"""Check what a path leads to before it is opened: a pipe would make everybody wait for ever."""

from __future__ import annotations

import errno
import os
import stat

from bgsub.errors import InputError

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_plain(path: str | os.PathLike[str]) -> None:
    """Raise InputError for what cannot be read like a file, or never ends.

    Folders pass, and so does what does not exist: whoever opens it says more about that.

    Raises
    ------
    InputError
        For a pipe, a device or a socket, and for a name that the system refuses.
    """
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
