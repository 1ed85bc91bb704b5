"""What each piece of the local masks brings: ``python -m benchmarks.pieces DATA``.

Leave-one-out: each piece is switched off alone by a parameter, models are fitted anew to the same
sample where the fit depends on it. DATA, masks and truths are those of `benchmarks.masks`: nothing
is thinned (see `benchmarks.cases`). Figures are F and its changes, or false pixels where there is
nothing to find.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cases import Setting, mean_f, table
from benchmarks.footage import Footage, sequences
from benchmarks.masks import shown
from bgsub.evaluation.measures import Counts
from bgsub.local.params import DEFAULTS
from bgsub.options import RunOptions
from bgsub.source_options import SourceOptions


def without(**numbers: Any) -> Setting:
    """Give the shipped parameters but for some numbers."""
    return Setting(replace(DEFAULTS, **numbers))


def drawn_without(**numbers: Any) -> Setting:
    """Give the same for numbers that no fit depends on: one model serves them all."""
    return Setting(replace(DEFAULTS, **numbers), fitted=DEFAULTS)


_WORTH = 0.005
"""Change of F that is named."""

PIECES = {
    "none": Setting(),
    # What draws
    "light in parts": drawn_without(light_block=0),
    "contrast of the film": drawn_without(contrast_share=0.0),
    "halos of codecs": drawn_without(halo_noise=1000.0),
    "a pixel's own detail": drawn_without(detail=0.0),
    "shadow test": Setting(options=RunOptions(shadows="keep")),
    "texture of the place": drawn_without(texture_kept=1.1),
    "edges that moved": drawn_without(edge_moved=1.1),
    "soft shade": drawn_without(shade_share=0.0),
    "opening, closing": drawn_without(open_px=1, close_px=1),
    "outlines redrawn": drawn_without(outline_edge=0.0),
    "outlines by three pixels": drawn_without(outline_px=1),
    "bays closed": drawn_without(bay_share=1.1),
    "hole filling": Setting(options=RunOptions(fill_holes=False)),
    # What looks ahead and back
    "look ahead and back": drawn_without(lasting_frames=0),
    "what lasts": drawn_without(lasting_way=0.0),
    "what stands out": drawn_without(lasting_strength=0.0),
    # What learns
    "scene states": without(state_share=1.1),
    "gain and offset": without(light_bonus=1.1),
    "further layers": without(kept_layers=1),
    "clean frames of tiles": without(clean_fraction=1.0),
    "what comes and goes": without(often_near=1.0, often_far=1.0),
    "what moves on": without(passing_share=0.0),
    "arrivals, departures": without(change_area=1.1),
    "prior of the majority": without(majority_weight=0.0),
    "colours that move": without(color_balance=2.1),
    "who walked in": without(walk_weight=0.0),
    "what came back": without(return_weight=0.0),
    "what is rigid": without(rigid_motion=0.0),
    "frames out of a visit": without(stray_share=1.0),
    "turbulent places": without(turbulent_place=1.1),
    "mean of 3×3 pixels": without(smooth_px=1),
    "noise beside edges": without(noise_texture=0.0, noise_restless=0.0),
    "camera that moves": without(shake_share=1.1),
    "depth of shadows": without(shadow_mode=1.1),
    "colour": Setting(options=RunOptions(source=SourceOptions(color="gray"))),
}


def _said(one: Footage, complete: Counts, without: Counts) -> str:
    """Name a scene and how it changes, if it does."""
    if complete.tp + complete.fn == 0:
        return f"{one.name} {shown(without)}" if without.fp != complete.fp else ""
    change = (without.f_measure or 0.0) - (complete.f_measure or 0.0)
    return f"{one.name} {change:+.3f}" if abs(change) >= _WORTH else ""


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", help="names of sequences")
    given = parser.parse_args()
    wanted = [one for one in sequences(given.data) if not given.only or one.name in given.only]
    if not wanted:
        print(f"{given.data}: no sequence with a truth is there", file=sys.stderr)
        return 1
    complete, *rows = table(wanted, PIECES.values())
    print(f"| piece | mean F without it | change | scenes that change by {_WORTH} or more |")
    print(f"|---|---|---|---|\n| none | {mean_f(complete):.4f} | | |")
    for name, row in zip([*PIECES][1:], rows, strict=True):
        change = mean_f(row) - mean_f(complete)
        named = zip(wanted, complete, row, strict=True)
        scenes = [said for one, own, counts in named if (said := _said(one, own, counts))]
        print(f"| {name} | {mean_f(row):.4f} | {change:+.4f} | {', '.join(scenes)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
