"""Say what a fit decided where a place has two lasting states, and why, in words and figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bgsub.local.changes import LIVELIER, Change
from bgsub.local.layers import Layers
from bgsub.local.objects import Verdict
from bgsub.local.params import DEFAULTS
from bgsub.local.positions import positions
from bgsub.local.telling import RIGID, UNKNOWN
from bgsub.robustpca.median import median

_MOST_OF_IT = 0.5

Background = Literal["before", "after", "both", "most frequent"]
Choice = Literal["object left", "object came", "thing moved", "not decided"]


@dataclass(frozen=True, kw_only=True)
class Region:
    """A place that showed one colour for long and then another, and what was made of it.

    Attributes
    ----------
    x, y, width, height : int
        Box around it, in pixels of the frames.
    pixels : int
        That it covers.
    sample : int
        Frame of the sample, from 0, from about which on it is changed.
    chosen : {"object left", "object came", "thing moved", "not decided"}
    background : {"before", "after", "both", "most frequent"}
        Which state is background for certain; the last means that their frequencies decide.
    edge_balance : float
        See `changes.Change.balance`: above 0 the object was there before, below 0 after.
    edge_motion_px : tuple of float or None
        Displacement of its edges before and after, in pixels; None where there was no time to tell.
    share_before, share_after : float
        Share of the sample's frames that show what was there before, and after.
    overruled_pixels : int
        Where what is seen most often is not the background.
    elsewhere_px : tuple of float or None
        Displacement of edges in the rest of the picture meanwhile, in film that a codec freezes.
    """

    x: int
    y: int
    width: int
    height: int
    pixels: int
    sample: int
    chosen: Choice
    background: Background
    edge_balance: float
    edge_motion_px: tuple[float | None, float | None]
    share_before: float
    share_after: float
    overruled_pixels: int
    elsewhere_px: tuple[float | None, float | None] = (None, None)

    @property
    def reason(self) -> str:
        """Why it was chosen, in a sentence."""
        balance = f"balance {self.edge_balance:+.2f}"
        if self.chosen in ("object left", "object came"):
            return self._of_an_object(balance)
        if self.background != "most frequent":
            return self._of_what_rests()
        if abs(self.edge_balance) < DEFAULTS.edge_balance:
            return f"the edges along its outline do not tell ({balance}): what is seen often stays"
        return (
            f"only the light changed, or it was there at other times too ({balance}): "
            "what is seen often stays"
        )

    def _of_what_rests(self) -> str:
        """Words for a state that does not move, which things and places have in common."""
        until = self._at_rest(0, "until then its edges moved by")
        since = self._at_rest(1, "since then its edges move by")
        parts = {"before": [until], "after": [since]}.get(self.background, [until, since])
        text = " and ".join(filter(None, parts))
        if text and self.elsewhere_px == (None, None):
            text += f", less than the {DEFAULTS.rigid_motion:g} of people"
        if not text:  # a layer is also known from other changes of the same pixels
            text = "it has the colours of what rests at another change"
        if self.chosen == "thing moved":
            return f"{text}: a thing was put there or taken away"
        return f"{text}: that is the place, and what else was there stays if it is seen often"

    def _at_rest(self, side: int, words: str) -> str:
        """Words for one side of the change, if its edges rest; see `changes.Change.is_rigid`."""
        moves, elsewhere = self.edge_motion_px[side], self.elsewhere_px[side]
        if moves is None:
            return ""
        if elsewhere is not None:
            rests = moves < max(LIVELIER * elsewhere, RIGID)
            return f"{words} {moves:.2f} pixels, those elsewhere by {elsewhere:.2f}" * rests
        return f"{words} {moves:.2f} pixels" * (moves < DEFAULTS.rigid_motion)

    def _of_an_object(self, balance: str) -> str:
        left = self.chosen == "object left"
        motion = self.edge_motion_px[0 if left else 1]
        if (self.edge_balance if left else -self.edge_balance) < DEFAULTS.edge_balance:
            text = f"it has the colours of an object of another change ({balance})"
        else:
            text = f"its outline had more edges until then ({balance})"
            if not left:
                text = f"its outline has more edges since then ({balance})"
            if motion is not None:
                text += f", which move by {motion:.2f} pixels"
        text += ": an object was there and left" if left else ": an object came"
        if self.overruled_pixels:
            text += (
                f"; it is what is seen most often at {self.overruled_pixels} pixels, where the "
                "background is what continues the surroundings"
            )
        return text

    def to_json(self, state: int, first_frame: int, first_time_s: float | None) -> dict[str, Any]:
        """Give it as plain JSON values, with the state of the scene and the place in the film."""
        plain = asdict(self)
        del plain["sample"], plain["elsewhere_px"]
        return {
            "state": state,
            "first_frame": first_frame,
            "first_time_s": None if first_time_s is None else round(first_time_s, 6),
            **plain,
            "edge_motion_px": list(self.edge_motion_px),
            "reason": self.reason,
        }


def describe_changes(
    verdict: Verdict, layers: Layers, step: int, shape: tuple[int, ...]
) -> list[Region]:
    """Say of every change what the verdict made of it.

    Parameters
    ----------
    verdict : Verdict
    layers : Layers
        Those that it is about.
    step : int
        They are of every so many pixels, down and across.
    shape : tuple of int
        Height and width of the frames.

    Returns
    -------
    list of Region
    """
    return [_describe(change, verdict, layers, step, shape) for change in verdict.changes]


def _describe(
    change: Change, verdict: Verdict, layers: Layers, step: int, shape: tuple[int, ...]
) -> Region:
    y, x = positions(change.region)
    sides = (change.before[y, x], change.after[y, x])

    def share(which: NDArray[np.bool_], side: NDArray[np.int8]) -> float:
        return float(which[side, y, x].mean())

    was, came = (share(verdict.is_object, side) for side in sides)
    rests = [share(verdict.is_thing, side) >= _MOST_OF_IT for side in sides]
    chosen: Choice = "not decided"
    background: Background = "most frequent"
    if max(was, came) >= _MOST_OF_IT:
        chosen, background = ("object left", "after") if was >= came else ("object came", "before")
    elif any(rests):
        background = "both" if all(rests) else "before" if rests[0] else "after"
        if rests[0 if change.balance > 0 else 1]:
            chosen = "thing moved"
    before, after = (
        float(median(layers.counts[side, y, x])) / len(layers.labels) for side in sides
    )
    left, top = step * int(x.min()), step * int(y.min())
    overruled = int(verdict.is_object[0, y, x].sum())
    return Region(
        x=left,
        y=top,
        width=min(step * (int(x.max()) + 1), shape[1]) - left,
        height=min(step * (int(y.max()) + 1), shape[0]) - top,
        pixels=step**2 * y.size,
        sample=change.frame,
        chosen=chosen,
        background=background,
        edge_balance=round(change.balance, 3),
        edge_motion_px=(_known(change.motion[0]), _known(change.motion[1])),
        share_before=round(before, 3),
        share_after=round(after, 3),
        overruled_pixels=step**2 * overruled,
        elsewhere_px=(_known(change.elsewhere[0]), _known(change.elsewhere[1])),
    )


def _known(motion: float) -> float | None:
    return None if motion == UNKNOWN else round(motion, 3)
