"""Hold the reconstruction errors of frames as a table; read and write errors.csv."""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, writing
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF
from bgsub.outliers.scene_change import SceneChange
from bgsub.runtime.files import open_csv, write_rows

# Columns that every errors.csv has.
COLUMNS = ("frame", "time_s", "error", "rmse", "score", "outlier")
# Columns that follow them; files of earlier versions lack some or all.
LATER_COLUMNS = ("doubtful", "local", "flag")
# What made a frame an outlier: its error as a whole, the place that fits least, or both.
WHOLE, PLACE, BOTH = "whole", "place", "both"
_MAX_FRAME = 2.0**53  # above this not every whole number is a float
_MOST_PIXELS = 2.0**40


@dataclass(frozen=True, eq=False)
class ErrorTable:
    """Errors of the frames of one input, in order.

    Attributes
    ----------
    frames : ndarray of shape (n,), int64
        Frame numbers in the input, counted from 1, increasing.
    times : ndarray of shape (n,), float64
        Seconds since the input's beginning.
    errors : ndarray of shape (n,), float64
        r_i in grey levels², summed over the pixels.
    pixels : int
        p, the pixels summed over.
    scores : ndarray of shape (n,), float64
        Of the frames as a whole, see `bgsub.outliers.frame_scorer`.
    cutoff : float
        Frames of which either score is higher are outliers.
    scene_change : SceneChange, optional
        A lasting change of the scene.
    marked : ndarray of shape (n,), bool, optional
        Outliers as marked by somebody else, where they do not follow from scores and cut-off.
    doubtful : ndarray of shape (n,), bool, optional
        Frames whose pictures may be wrong, as they depend on damaged ones; None if none.
    local : ndarray of shape (n,), float64, optional
        Scores of the place of each frame that fits least; None in files of earlier versions.
    """

    frames: NDArray[np.int64]
    times: NDArray[np.float64]
    errors: NDArray[np.float64]
    pixels: int
    scores: NDArray[np.float64]
    cutoff: float = DEFAULT_CUTOFF
    scene_change: SceneChange | None = None
    marked: NDArray[np.bool_] | None = None
    doubtful: NDArray[np.bool_] | None = None
    local: NDArray[np.float64] | None = None

    @property
    def doubts(self) -> NDArray[np.bool_]:
        """Which frames are doubtful, shape (n,)."""
        return np.zeros(self.frames.size, dtype=bool) if self.doubtful is None else self.doubtful

    def __repr__(self) -> str:
        flagged = int(self.outliers.sum())
        return f"<ErrorTable of {self.frames.size} frames: {flagged} above cut-off {self.cutoff:g}>"

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """Which frames are outliers, shape (n,)."""
        return self.highest > self.cutoff if self.marked is None else self.marked

    @property
    def highest(self) -> NDArray[np.float64]:
        """The higher of both scores, shape (n,)."""
        return self.scores if self.local is None else np.maximum(self.scores, self.local)

    @property
    def flags(self) -> list[str]:
        """What made each frame an outlier; empty for one that is none, or that somebody marked."""
        whole = self.scores > self.cutoff
        place = np.zeros_like(whole) if self.local is None else self.local > self.cutoff
        names = np.array(["", WHOLE, PLACE, BOTH])[whole + 2 * place]
        return [str(name) for name in np.where(self.outliers, names, "")]

    @property
    def rmse(self) -> NDArray[np.float64]:
        """Root mean square error per pixel, √(r/p), in grey levels, shape (n,)."""
        return np.asarray(np.sqrt(self.errors / self.pixels))


def write_csv(table: ErrorTable, path: Path) -> None:
    """Write errors.csv, in place of one that exists; OutputError if that fails."""

    # Ten digits are more than a sum of float64 squares is worth, eight than a ratio.
    def numbers(values: NDArray[np.float64], digits: int) -> Iterator[str]:
        return (f"{value:.{digits}g}" for value in values.tolist())

    columns: dict[str, Iterable[int | str]] = {
        "frame": table.frames.tolist(),
        "time_s": numbers(table.times, 10),
        "error": numbers(table.errors, 10),
        "rmse": numbers(table.rmse, 8),
        "score": numbers(table.scores, 8),
        "outlier": table.outliers.astype(int).tolist(),
        "doubtful": table.doubts.astype(int).tolist(),
    }
    if table.local is not None:
        columns |= {"local": numbers(table.local, 8), "flag": table.flags}
    with writing(path):
        write_rows(path, chain([tuple(columns)], zip(*columns.values(), strict=True)))


def read_csv(path: Path) -> ErrorTable:
    """Read an errors.csv; InputError names the line and what is wrong with it.

    The cut-off is the default, or else one that separates the marked frames from the others; where
    none does, for somebody has edited the file, the marks are kept as `marked`.
    """
    with open_csv(path, "no errors.csv of bgsub, not even a CSV text file") as file:
        columns = _parse(csv.reader(file, strict=True), path)
    frames, times, errors, rmse, scores, marks = (columns[name] for name in COLUMNS)
    marked, seen, local = marks == 1.0, rmse > 0, columns.get("local")
    doubts = columns.get("doubtful", np.zeros(frames.size))
    cutoff = _cutoff_of(scores if local is None else np.maximum(scores, local), marked)
    return ErrorTable(
        frames=frames.astype(np.int64),
        times=times,
        errors=errors,
        # p of error = p · rmse².
        pixels=max(1, round(float(np.median(errors[seen] / rmse[seen] ** 2)))) if seen.any() else 1,
        scores=scores,
        cutoff=DEFAULT_CUTOFF if cutoff is None else cutoff,
        marked=marked if cutoff is None else None,
        doubtful=doubts == 1.0 if doubts.any() else None,
        local=local,
    )


def _parse(rows: Iterator[list[str]], path: Path) -> dict[str, NDArray[np.float64]]:
    """Read and check all lines below the header, as numbers by column."""
    header = next(rows, None)
    if header is None:
        raise InputError(f"{path}: is empty; create it again with `bgsub run`")
    later = header[len(COLUMNS) :]
    known = set(later) <= set(LATER_COLUMNS) and len(set(later)) == len(later)
    if header[: len(COLUMNS)] != list(COLUMNS) or not known:
        names = ",".join(COLUMNS)
        raise InputError(f"{path}: no errors.csv of bgsub; its first line must begin {names}")
    # The word in `flag` follows from the scores.
    columns = {name: array("d") for name in header if name != "flag"}
    last = 0.0
    for line, row in enumerate(rows, start=2):
        try:
            numbers = _parse_row(row, header, last) if row else {}
        except ValueError as error:
            message = f"{path}, line {line}: {error}; repair the line or create the file again"
            raise InputError(message) from error
        last = numbers.get("frame", last)
        for name, number in numbers.items():
            columns[name].append(number)
    if not columns["frame"]:
        raise InputError(f"{path}: holds no frames; create it again with `bgsub run`")
    return {name: np.array(values) for name, values in columns.items()}


def _parse_row(row: list[str], header: list[str], previous: float) -> dict[str, float]:
    """Read the numbers of a line by column; ValueError says what is wrong with it."""
    if len(row) != len(header):
        raise ValueError(f"{len(row)} values, where {len(header)} are needed")
    texts = {name: text for name, text in zip(header, row, strict=True) if name != "flag"}
    numbers: dict[str, float] = {}
    for name, text in texts.items():
        try:
            numbers[name] = float(text)
        except ValueError:
            numbers[name] = math.nan
        if not math.isfinite(numbers[name]):
            raise ValueError(f"{name} {text!r} is not a number")
    for name in ("error", "rmse"):
        if numbers[name] < 0:
            raise ValueError(f"{name} {numbers[name]:g} is negative")
    # p, the ratio, is a count of pixels; sums of rounded numbers may be a little off.
    error, square = numbers["error"], numbers["rmse"] * numbers["rmse"]
    if not square <= error * 1.000_001 or error > square * _MOST_PIXELS:
        raise ValueError(f"error {texts['error']} does not belong to rmse {texts['rmse']}")
    if not 1 <= numbers["frame"] < _MAX_FRAME or numbers["frame"] % 1:
        raise ValueError(f"frame {row[0]} is not a whole number of 1 or more")
    if numbers["frame"] <= previous:
        raise ValueError(f"frame {row[0]} does not come after frame {previous:.0f}")
    for name in ("outlier", "doubtful"):
        if numbers.get(name, 0.0) not in {0.0, 1.0}:
            raise ValueError(f"{name} {texts[name]} is neither 0 nor 1")
    return numbers


def _cutoff_of(scores: NDArray[np.float64], marked: NDArray[np.bool_]) -> float | None:
    """Find a cut-off that gives these marks; None if there is none."""
    if np.array_equal(scores > DEFAULT_CUTOFF, marked):
        return DEFAULT_CUTOFF
    # Unless nothing is marked the default lies outside the gap, whose lower end is the best guess.
    lower = float(scores[~marked].max(initial=np.nextafter(scores.min(), -np.inf)))
    return lower if np.array_equal(scores > lower, marked) else None
