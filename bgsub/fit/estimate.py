"""Estimate how long a run takes, from what it will do."""

from __future__ import annotations

from bgsub.fit.memory_need import MemoryNeed, Storage

# Processor seconds on one core, as seen on a server; the decoder is measured, not assumed.
_ENCODE_S_PER_PIXEL = 3.5e-9
_MATRIX_OPERATIONS_PER_S = 3e10
_PICTURE_S_PER_PIXEL = 2e-8

# Of local models, on four films of 160x128 to 640x360: learning took 78 to 218 ns a pixel of the
# sample, a mask 26 to 60 ns a pixel.
_LEARN_S_PER_PIXEL = 1.3e-7
_MASK_S_PER_PIXEL = 3.5e-8

# Until the libraries are imported, and to draw the plot.
_START_S = 1.0

_DECODED_TIMES: dict[Storage, int] = {"memory": 1, "spill": 1, "sample": 3}


def run_seconds(need: MemoryNeed, storage: Storage, fit_frames: int, decode_s: float) -> float:
    """Estimate the wall-clock seconds of a run, to a factor of two or so.

    Parameters
    ----------
    need : MemoryNeed
    storage : Storage
    fit_frames : int
        Frames that are fitted.
    decode_s : float
        Seconds that decoding all frames once took.

    Returns
    -------
    float
    """
    frames, pixels = need.frames, need.pixels
    products = float(fit_frames**2 * pixels)
    work = 0.0
    if need.pictures or fit_frames < frames:
        products += 4.0 * frames * (need.k + 1) * need.size
    if need.videos:
        each = need.videos * _ENCODE_S_PER_PIXEL + _PICTURE_S_PER_PIXEL
        work += frames * pixels * each
    if need.local:
        work += need.local_sample / 3 * _LEARN_S_PER_PIXEL + frames * pixels * _MASK_S_PER_PIXEL
    work += products / _MATRIX_OPERATIONS_PER_S
    return _START_S + _DECODED_TIMES[storage] * decode_s + work / need.threads
