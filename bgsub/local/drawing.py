"""Draw the mask of a frame, part by part: most of a picture shows no object."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.bays import bays
from bgsub.local.clean_frames import Singles
from bgsub.local.cleanup import (
    BlobRule,
    light_evidence,
    shadow_reach,
    solid_parts,
    solid_reach,
)
from bgsub.local.outlines import OUTLINE_REACH, Colors, redraw_outlines
from bgsub.local.params import LocalParams, MaskOptions
from bgsub.local.regions import Box, boxes_of
from bgsub.local.shade import SHADE_REACH, soft_shade
from bgsub.local.tremor import without_moved_edges
from bgsub.video.frames import Bytes

Part = Callable[[slice, slice], Bytes]
"""Gives something of a frame in some rows and columns, (h', w') or (h', w', 3).

The slices may have a step, as those of an array."""

Pixels = Callable[[NDArray[np.intp]], Bytes]
"""Gives something of some pixels of a frame, by their indices, (m,)."""


class Seen(NamedTuple):
    """What a frame shows: the mask of its objects, and the scores it is cut from.

    Attributes
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 255.
    scores : ndarray of uint16, shape (h, w), or None
        See `bgsub.local.model.LocalModel.scores`; None where they were not asked for.
    trust : float or None
        From 0 to 1, see `bgsub.local.trust`; None where nothing says.
    """

    mask: Bytes
    scores: NDArray[np.uint16] | None = None
    trust: float | None = None


class MaskDrawer:
    """Make masks of scores: the vote, then shadows, outlines, specks and holes.

    Parameters
    ----------
    options : MaskOptions
    params : LocalParams
    least_area : int
        Pixels that a blob covers, at least.
    step : int
        Shadows are looked for at every so many pixels.
    """

    def __init__(
        self, options: MaskOptions, params: LocalParams, least_area: int, step: int
    ) -> None:
        self._params, self._step = params, step
        self._drops_shadows = options.shadows == "drop"
        self._blobs = BlobRule(least_area, fill=options.fill)
        self._near = max(solid_reach(step, params), step * max(OUTLINE_REACH, SHADE_REACH))
        self._reach = max(shadow_reach(step, params), self._near)

    def draw(
        self,
        raw: Bytes,
        score: Bytes,
        picture: Bytes,
        background: Part,
        own: Pixels,
        grain: float | Singles,
        bounds: LocalParams,
    ) -> Bytes:
        """Draw a mask.

        Parameters
        ----------
        raw : ndarray of uint8, shape (h, w)
            See `cleanup.vote`.
        score : ndarray of uint8, shape (h, w)
            See `scoring.SceneMatcher.score`.
        picture : ndarray of uint8, shape (h, w, 3)
            In the scene's light.
        background : callable
            Gives the colours behind a part of the frame.
        own : callable
            Gives the scores of single pixels.
        grain : float or ndarray of float32, shape (256,)
            Noise of single pixels in grey levels, of all or by their luma.
        bounds : LocalParams
            With those of this scene, see `scoring.SceneMatcher`.

        Returns
        -------
        ndarray of uint8, shape (h, w)
            0 or 255.
        """
        drawn = np.zeros_like(raw)
        evidence = np.zeros([-(-side // self._step) for side in raw.shape], np.uint8)
        for far, boxes in boxes_of(
            raw, self._reach, self._near, self._step, self._blobs.least_area
        ):
            part = _slices(far)
            # Light and outlines are looked at in the same places, unless those are thinned out.
            behind = _held(background, part) if self._step == 1 else background
            if self._drops_shadows:
                evidence[_slices(far, self._step)] = light_evidence(
                    np.ascontiguousarray(raw[part]),
                    picture[part],
                    _shifted(behind, part),
                    grain,
                    self._step,
                    bounds,
                )
            for box in boxes:
                part = _slices(box)
                drawn[part] = self._draw_part(
                    _FramePart(
                        np.ascontiguousarray(raw[part]),
                        evidence[_slices(box, self._step)],
                        score[part],
                        _pixels_of(own, part, raw.shape[1]),
                        picture[part],
                        _shifted(behind, part),
                    ),
                    bounds,
                )
        return drawn

    def _draw_part(self, part: _FramePart, bounds: LocalParams) -> Bytes:
        """Draw the mask of a part, beyond whose borders nothing matters."""
        params, mask, shade = self._params, part.marked, None
        if self._drops_shadows:
            least = self._blobs.least_area
            mask = solid_parts(mask, part.evidence, self._step, bounds, least)
            if bounds.shade_share:
                shade = soft_shade(
                    mask, part.score, part.picture, part.background, self._step, bounds
                )
                mask -= shade
        if params.outline_edge:
            rows, columns = (slice(0, side) for side in mask.shape)
            mask = redraw_outlines(
                mask,
                part.marked,
                part.own,
                Colors(part.picture, part.background(rows, columns)),
                params.outline_edge,
                bounds.outline_px,
                self._step,
            )
        blobs = self._blobs.apply(mask)
        if not cv2.hasNonZero(blobs):
            return blobs
        if self._blobs.fill and params.bay_share <= 1:
            closed = bays(blobs, part.score, self._step, params)
            if shade is not None:
                closed = np.asarray(cv2.subtract(closed, 255 * shade), dtype=np.uint8)
            blobs |= closed
        return without_moved_edges(blobs, part.picture, part.background, params)


class _FramePart(NamedTuple):
    """What is known of a part of a frame; see `MaskDrawer.draw` and `light_evidence`."""

    marked: Bytes
    evidence: Bytes
    score: Bytes
    own: Pixels
    picture: Bytes
    background: Part


def _slices(box: Box, step: int = 1) -> tuple[slice, slice]:
    """Give the rows and columns of a box, in a picture of every so many pixels."""
    top, bottom, left, right = (-(-side // step) for side in box)
    return slice(top, bottom), slice(left, right)


def _pixels_of(own: Pixels, part: tuple[slice, slice], width: int) -> Pixels:
    """Give something of pixels of a part of a frame of that width, by their indices in the part."""
    rows, columns = part
    across, corner = columns.stop - columns.start, rows.start * width + columns.start
    return lambda at: own(at + at // across * (width - across) + corner)


def _held(background: Part, part: tuple[slice, slice]) -> Part:
    """Give the background of places in a part, which is made once."""
    colors = background(*part)
    up, left = (-one.start for one in part)
    return _shifted(
        lambda rows, columns: colors[rows, columns], (slice(up, None), slice(left, None))
    )


def _shifted(background: Part, part: tuple[slice, slice]) -> Part:
    """Cut out the background of a part, of which rows and columns are counted from its corner."""
    down, right = (one.start for one in part)
    return lambda rows, columns: background(
        slice(rows.start + down, rows.stop + down, rows.step),
        slice(columns.start + right, columns.stop + right, columns.step),
    )
