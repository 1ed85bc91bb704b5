"""How long a run will take, told beforehand from what it will do."""

from __future__ import annotations

from bgsub.fit.demand import Demand, Road

# Processor seconds on one core, as seen on a server; the decoder is measured, not assumed.
_ENCODE_S_PER_PIXEL = 3.5e-9
_MATRIX_OPERATIONS_PER_S = 3e10
_PICTURE_S_PER_PIXEL = 1.2e-8

_DECODED_TIMES: dict[Road, int] = {"memory": 1, "spill": 1, "again": 3, "sample": 3}


def run_seconds(demand: Demand, road: Road, fit_frames: int, decode_s: float) -> float:
    """Wall-clock seconds of a run, good to a factor of two or so.

    Parameters
    ----------
    demand : Demand
    road : Road
    fit_frames : int
        Frames that are fitted.
    decode_s : float
        Seconds that decoding all frames once took.

    Returns
    -------
    float
    """
    frames, pixels = demand.frames, demand.pixels
    products = float(fit_frames**2 * pixels)
    work = 0.0
    if demand.pictures or fit_frames < frames:
        products += 4.0 * frames * (demand.k + 1) * demand.size
    if demand.videos:
        each = demand.videos * _ENCODE_S_PER_PIXEL + _PICTURE_S_PER_PIXEL
        work += frames * pixels * each
    work += products / _MATRIX_OPERATIONS_PER_S
    return _DECODED_TIMES[road] * decode_s + work / demand.threads
