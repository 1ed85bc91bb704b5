"""Move objects between the pixels of masks and those of the input's pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bgsub.tracking.tracker import Observation


@dataclass(frozen=True)
class View:
    """Where the pixels of masks lie in the input's pictures.

    Attributes
    ----------
    size : tuple of int
        Width and height of the input's pictures.
    region : tuple of four ints
        x, y, width and height of the part that the masks show.
    mask_size : tuple of int
        Width and height of the masks.
    """

    size: tuple[int, int]
    region: tuple[int, int, int, int]
    mask_size: tuple[int, int]

    @property
    def scale(self) -> tuple[float, float]:
        """Pixels of the input for one of a mask, across and down."""
        return self.region[2] / self.mask_size[0], self.region[3] / self.mask_size[1]

    def on_mask(self, seen: Observation) -> Observation:
        """Move an object from the input's picture back into the mask."""
        (x0, y0), (across, down) = self.region[:2], self.scale
        x, y, width, height = seen.box
        return replace(
            seen, box=((x - x0) / across, (y - y0) / down, width / across, height / down)
        )

    def place(self, seen: Observation) -> Observation:
        """Move an object from the mask into the input's picture."""
        (x0, y0), (across, down) = self.region[:2], self.scale
        x, y, width, height = seen.box
        return Observation(  # `replace` takes twice as long, and this is done for each row
            seen.frame,
            seen.time_s,
            seen.track,
            (x0 + across * x, y0 + down * y, across * width, down * height),
            x0 + across * seen.cx,
            y0 + down * seen.cy,
            across * down * seen.area,
            seen.score,
            seen.sign,
            seen.merged,
        )
