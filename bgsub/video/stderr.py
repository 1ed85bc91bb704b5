"""Keep C libraries from writing to standard error about pictures that are damaged.

libtiff, libpng and libjpeg say what they find wrong straight to the file descriptor, beside the
error that they return, which bgsub tells in its own words; OpenCV has a log of its own.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import cv2

_STDERR = 2
_LIBRARIES = re.compile(
    rb"((libpng (warning|error)|(Corrupt|Premature|Invalid|Unsupported|Bogus) .*JPEG.*|JPEGLib"
    rb"|tempfile\.tif|_?TIFF\w*|EstimateStripByteCounts|MissingRequired|CheckDirCount|OJPEG\w*"
    rb"|ChopUp\w+|InitCCITT\w+|Fax\w+|Predictor\w+|[A-Za-z0-9]+(Decode|Setup)\w*): "
    rb"|Invalid SOS parameters|Inconsistent progression sequence|Unknown Adobe color transform"
    rb"|Application transferred too few|Warning: unknown JFIF revision)"
)

# The descriptor belongs to the process.
_one_at_a_time = threading.Lock()


@contextmanager
def libraries_quiet() -> Iterator[list[bytes]]:
    """Take the lines of picture libraries; what other threads write meanwhile comes out at the end.

    Costs some hundredths of a millisecond.

    Yields
    ------
    list of bytes
        At the end the lines that were taken: for libjpeg the only word about damage that it hides.
    """
    taken: list[bytes] = []
    with _one_at_a_time, _opencv_quiet():
        try:
            kept = os.dup(_STDERR)
        except OSError:  # closed: something has to be there, or the next file that is opened is
            kept = None
            null = os.open(os.devnull, os.O_WRONLY)
            if null != _STDERR:
                os.dup2(null, _STDERR)
                os.close(null)
        with tempfile.TemporaryFile(prefix="bgsub-stderr-") as caught:
            os.dup2(caught.fileno(), _STDERR)
            try:
                yield taken
            finally:
                if kept is None:
                    os.close(_STDERR)
                else:
                    os.dup2(kept, _STDERR)
                    os.close(kept)
                caught.seek(0)
                for line in caught:
                    if _LIBRARIES.match(line):
                        taken.append(line)
                    elif kept is not None:
                        os.write(_STDERR, line)


@contextmanager
def _opencv_quiet() -> Iterator[None]:
    logging = cv2.utils.logging
    level = logging.getLogLevel()
    logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        logging.setLogLevel(level)
