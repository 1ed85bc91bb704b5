"""Estimate how long a run takes, from what it will do."""

from __future__ import annotations

from bgsub.fit.memory_need import MemoryNeed, Storage

# Processor seconds on one core, as seen on a server; the decoder is measured, not assumed. Chosen
# on runs with all outputs: 633 frames of 160x128, 287 of 160x120, 300 of 320x240, 60 of 1280x720.
_ENCODE_S_PER_PIXEL = 3.5e-9
_MATRIX_OPERATIONS_PER_S = 3e10
_PICTURE_S_PER_PIXEL = 6e-8
_LEARN_S_PER_PIXEL = 1.3e-7
_MASK_S_PER_PIXEL = 7e-8
_FRAME_S = 2e-3

# Until the libraries are imported; and of work that threads share, such as the random starts.
_START_S = 1.5
_SHARED_S = 2.0

_DECODED_TIMES: dict[Storage, int] = {"memory": 1, "spill": 1, "sample": 3}


def run_seconds(need: MemoryNeed, storage: Storage, fit_frames: int, decode_s: float) -> float:
    """Estimate the wall-clock seconds of a run, to a factor of two or so.

    So many frames are fitted, and decoding all of them once took `decode_s`.
    """
    frames, pixels = need.frames, need.pixels
    products = float(fit_frames**2 * pixels)
    work = _SHARED_S + frames * _FRAME_S
    if need.pictures or fit_frames < frames:
        products += 4.0 * frames * (need.k + 1) * need.size
    if need.videos:
        each = need.videos * _ENCODE_S_PER_PIXEL + _PICTURE_S_PER_PIXEL
        work += frames * pixels * each
    if need.local:
        work += need.local_sample / 3 * _LEARN_S_PER_PIXEL + frames * pixels * _MASK_S_PER_PIXEL
    work += products / _MATRIX_OPERATIONS_PER_S
    return _START_S + _DECODED_TIMES[storage] * decode_s + work / need.threads
