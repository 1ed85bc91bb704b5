"""Keep working with standard streams that are closed or cannot show every letter."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import IO


def prepare() -> None:
    """Open what is closed on nothing, and let stdout replace letters that its encoding lacks."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, _nothing(number, mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            # Names of files that are no valid text come out of UTF-8 as they are.
            is_utf8 = stream.encoding.lower().replace("-", "") == "utf8"
            stream.reconfigure(errors="surrogateescape" if is_utf8 else "replace")


def _nothing(number: int, mode: str) -> IO[str]:
    """Open the null device, under the number of the stream if that is free.

    Otherwise the next file that is opened would get that number, and with it all that native code
    writes to the stream.
    """
    with contextlib.suppress(OSError):
        os.fstat(number)
        return open(os.devnull, mode, encoding="utf-8")
    descriptor = os.open(os.devnull, os.O_RDWR)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
    return open(number, mode, encoding="utf-8", closefd=False)
