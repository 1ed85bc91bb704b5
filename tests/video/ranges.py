"""Tables between limited range (luma 16..235, chroma 16..240) and full range (0..255)."""

import numpy as np


def table(scale, black, center):
    """Tabulate ``round((v - black) * scale + center)`` for every byte v, clipped to 0..255."""
    levels = (np.arange(256) - black) * scale + center
    return np.clip(np.floor(levels + 0.5), 0, 255).astype(np.uint8)


EXPAND_LUMA = table(255 / 219, 16, 0)
EXPAND_CHROMA = table(255 / 224, 128, 128)
COMPRESS_LUMA = table(219 / 255, 0, 16)
COMPRESS_CHROMA = table(224 / 255, 128, 128)
