"""What a run will need, told beforehand from the size of the input."""

from __future__ import annotations

import os
from dataclasses import dataclass

from bgsub.background.config import DEFAULT_OUTPUTS

_PROGRAM_BYTES = 140_000_000
_PLOT_BYTES = 40_000_000
_STREAMS = ("background", "foreground", "mask", "preview")

# An H.264 encoder holds this many pictures for its look-ahead and references.
_ENCODER_PICTURES = 25
_ENCODER_BYTES_PER_PIXEL = 2.5

# Processor seconds on one core, as seen on a server; the decoder is measured, not assumed.
_ENCODE_S_PER_PIXEL = 3.5e-9
_MATRIX_OPERATIONS_PER_S = 3e10
_PICTURE_S_PER_PIXEL = 1.2e-8


@dataclass(frozen=True)
class Estimate:
    """What a run will need.

    Attributes
    ----------
    memory_bytes : int
        Peak resident memory of the process.
    seconds : float
        Wall-clock time, good to a factor of two.
    """

    memory_bytes: int
    seconds: float


def estimate(
    pixels: int,
    frame_bytes: int,
    frames: int,
    *,
    k: int = 10,
    outputs: frozenset[str] = DEFAULT_OUTPUTS,
    decode_s: float = 0.0,
    threads: int | None = None,
) -> Estimate:
    """Estimate memory and time of a run.

    Parameters
    ----------
    pixels : int
        Of a frame, as it is fitted.
    frame_bytes : int
        Of a frame as it is kept: `pixels` for grey, 1.5 times that for 4:2:0, 4 times for others.
    frames : int
    k : int
        Components.
    outputs : frozenset of str
    decode_s : float
        Seconds that decoding all frames took.
    threads : int, optional
        None is every core that the process may use.

    Returns
    -------
    Estimate
    """
    cores = threads or available_cores()
    streams = len(outputs.intersection(_STREAMS))
    with_pictures = bool(outputs - {"errors", "plot"})
    if not with_pictures:
        frame_bytes = pixels  # errors alone need luma alone
    matrix = frames * frame_bytes
    gram = 2 * 8 * frames**2
    model = 4 * (k + 1) * frame_bytes if with_pictures else 0
    encoders = streams * int(_ENCODER_PICTURES * _ENCODER_BYTES_PER_PIXEL * pixels)
    program = _PROGRAM_BYTES + (_PLOT_BYTES if "plot" in outputs else 0)
    products = frames * frames * pixels
    work = 0.0
    if with_pictures:
        products += 4 * frames * (k + 1) * frame_bytes
        work += frames * pixels * (streams * _ENCODE_S_PER_PIXEL + _PICTURE_S_PER_PIXEL)
    work += products / _MATRIX_OPERATIONS_PER_S
    return Estimate(program + matrix + gram + model + encoders, decode_s + work / cores)


def available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
