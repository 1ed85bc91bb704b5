"""Read from a file which frames are true outliers.

A CSV file with a header, in one of two forms; other columns are ignored, so that the ``errors.csv``
of a run and the events of ``bgsub errors --format csv`` can be given once they have been checked by
eye:

- ``frame,outlier``: one line a frame, 1 for an outlier and 0 for an ordinary frame. Frames that are
  not listed are not judged.
- ``first,last`` or ``first_frame,last_frame``: one line a span of outliers, both ends included. All
  other frames are ordinary.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.runtime.files import open_csv

UNKNOWN = -1
"""Label of a frame that is not listed."""

_FORMS = (("frame", "outlier"), ("first", "last"), ("first_frame", "last_frame"))


def read_labels(path: Path, numbers: NDArray[np.int64]) -> NDArray[np.int8]:
    """Read the labels of frames, by their numbers: 1 for outliers, 0 for ordinary, `UNKNOWN`."""
    what = "is no CSV text file, which must begin with frame,outlier or first,last"
    with open_csv(path, what) as file:
        labels = _parse(csv.reader(file, strict=True), path, numbers)
    outliers, ordinary = int((labels == 1).sum()), int((labels == 0).sum())
    if not outliers or not ordinary:
        raise InputError(
            f"{path}: marks {outliers} of the {numbers.size} frames compared as outliers and "
            f"{ordinary} as ordinary; some of both are needed"
        )
    return labels


def _parse(lines: Iterator[list[str]], path: Path, numbers: NDArray[np.int64]) -> NDArray[np.int8]:
    header = [name.strip().lower() for name in next(lines, [])]
    names = next((pair for pair in _FORMS if set(pair) <= set(header)), None)
    if names is None:
        raise InputError(f"{path}: its first line must be frame,outlier or first,last")
    columns = [header.index(name) for name in names]
    labels = np.full(numbers.size, UNKNOWN if names == _FORMS[0] else 0, dtype=np.int8)
    for line, row in enumerate(lines, start=2):
        if not any(cell.strip() for cell in row):
            continue
        try:
            first, last = (_whole(row, column, header[column]) for column in columns)
            if names == _FORMS[0]:
                if last not in {0, 1}:
                    raise ValueError(f"outlier {last} is neither 0 nor 1")  # noqa: TRY301 - as below
                labels[numbers == first] = last
            elif last < first:
                raise ValueError(f"last {last} lies before first {first}")  # noqa: TRY301 - as above
            else:
                labels[(numbers >= first) & (numbers <= last)] = 1
        except ValueError as error:
            raise InputError(f"{path}, line {line}: {error}") from error
    return labels


def _whole(row: list[str], column: int, name: str) -> int:
    """Read the number in a column; ValueError says what is wrong with it."""
    if column >= len(row):
        raise ValueError(f"{name} is missing")
    try:
        return int(row[column])
    except ValueError as error:
        raise ValueError(f"{name} {row[column].strip()!r} is not a whole number") from error
