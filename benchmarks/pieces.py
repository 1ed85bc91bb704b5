"""What each piece of the local masks brings: ``python -m benchmarks.pieces DATA``.

Leave-one-out: each piece is switched off alone by a parameter, models are fitted anew to the same
sample where the fit depends on it, and all rows are scored on the same frames. DATA is as for
`benchmarks.masks`. Figures are F, or false pixels where there is nothing to find.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cases import Setting, mean_f, table
from benchmarks.masks import sequences, shown
from bgsub.local.params import DEFAULTS, MaskOptions


def without(**numbers: Any) -> Setting:
    """Give the shipped parameters but for some numbers."""
    return Setting(replace(DEFAULTS, **numbers))


def drawn_without(**numbers: Any) -> Setting:
    """Give the same for numbers that no fit depends on: one model serves them all."""
    return Setting(replace(DEFAULTS, **numbers), fitted=DEFAULTS)


PIECES = {
    "all pieces": Setting(),
    "- light in parts": drawn_without(light_block=0),
    "- contrast of the film": drawn_without(contrast_share=0.0),
    "- shadow test": Setting(options=MaskOptions(shadows="keep")),
    "- texture of the place": drawn_without(texture_kept=1.1),
    "- opening, closing": drawn_without(open_px=1, close_px=1),
    "- outlines redrawn": drawn_without(outline_edge=0.0),
    "- bays closed": drawn_without(bay_share=1.1),
    "- hole filling": Setting(options=MaskOptions(fill=False)),
    "- scene states": without(state_share=1.1),
    "- gain and offset": without(light_bonus=1.1),
    "- further layers": without(kept_layers=1),
    "- clean frames of tiles": without(clean_fraction=1.0),
    "- arrivals, departures": without(change_area=1.1),
    "- prior of the majority": without(majority_weight=0.0),
    "- colours that move": without(color_balance=2.1),
    "- who walked in": without(walk_weight=0.0),
    "- what came back": without(return_weight=0.0),
    "- turbulent places": without(turbulent_place=1.1),
    "- mean of 3×3 pixels": without(smooth_px=1),
    "- noise beside edges": without(noise_texture=0.0, noise_restless=0.0),
    "- edges that moved": without(edge_moved=1.1),
    "- depth of shadows": without(shadow_mode=1.1),
    "- colour": Setting(grey=True),
}


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", help="names of sequences")
    given = parser.parse_args()
    wanted = [one for one in sequences(given.data) if not given.only or one.name in given.only]
    if not wanted:
        print(f"{given.data}: no sequence with a truth is there", file=sys.stderr)
        return 1
    print(f"{'':24s}" + " ".join(f"{one.name:>16s}" for one in wanted) + "   mean F")
    for name, row in zip(PIECES, table(wanted, PIECES.values()), strict=True):
        cells = " ".join(f"{shown(one):>16s}" for one in row)
        print(f"{name:24s}{cells}   {mean_f(row):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
