"""Draw the mask of a frame, part by part: most of a picture shows no object."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.blobs import Blob
from bgsub.local.clean_frames import Singles
from bgsub.local.cleanup import BlobRule, bays, shadow_reach, vote, without_shadows
from bgsub.local.outlines import OUTLINE_REACH, redraw_outlines, without_blur
from bgsub.local.params import LocalParams, MaskOptions
from bgsub.local.regions import boxes_of
from bgsub.local.shade import SHADE_REACH, soft_shade
from bgsub.local.specks import Speck
from bgsub.local.tremor import without_moved_edges
from bgsub.video.frames import Bytes

Part = Callable[[slice, slice], Bytes]
"""Gives something of a frame in some rows and columns, (h', w') or (h', w', 3).

The slices may have a step, as those of an array."""


class Seen(NamedTuple):
    """What a frame shows: the mask of its objects, the scores it is cut from, and specks.

    Attributes
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 255.
    scores : ndarray of uint16, shape (h, w), or None
        See `bgsub.local.model.LocalModel.scores`; None where they were not asked for.
    specks : tuple of Speck
        See `bgsub.local.specks.find_specks`.
    trust : float or None
        From 0 to 1, see `bgsub.local.trust`; None where nothing says.
    blobs : tuple of Blob
        Of the mask, where they are wanted, see `bgsub.local.blobs.find_blobs`.
    contrast : float
        Evidence that what moves usually has, in grey levels; 0 where nothing does.
    """

    mask: Bytes
    scores: NDArray[np.uint16] | None = None
    specks: tuple[Speck, ...] = ()
    trust: float | None = None
    blobs: tuple[Blob, ...] = ()
    contrast: float = 0.0


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
        self._reach = max(shadow_reach(step, params), OUTLINE_REACH, SHADE_REACH * step)

    def draw(
        self,
        mean: Bytes,
        score: Bytes,
        picture: Bytes,
        background: Part,
        own: Part,
        grain: float | Singles,
        bounds: LocalParams,
    ) -> Bytes:
        """Draw a mask.

        Parameters
        ----------
        mean : ndarray of uint8, shape (h, w)
            See `cleanup.mean_score`.
        score : ndarray of uint8, shape (h, w)
            See `scoring.SceneMatcher.score`.
        picture : ndarray of uint8, shape (h, w, 3)
            In the scene's light.
        background : callable
            Gives the colours behind a part of the frame.
        own : callable
            Gives the scores of the single pixels of a part.
        grain : float or ndarray of float32, shape (256,)
            Noise of single pixels in grey levels, of all or by their luma.
        bounds : LocalParams
            With those of this scene, see `scoring.SceneMatcher`.

        Returns
        -------
        ndarray of uint8, shape (h, w)
            0 or 255.
        """
        params = self._params
        raw = vote(mean, params.vote_level)
        drawn = np.zeros_like(raw)
        for top, bottom, left, right in boxes_of(
            raw, self._reach, self._step, self._blobs.least_area
        ):
            part = rows, columns = slice(top, bottom), slice(left, right)
            mask = marked = np.ascontiguousarray(raw[part])
            shade = None
            behind = _shifted(background, top, left)
            if self._drops_shadows:
                mask = without_shadows(mask, picture[part], behind, grain, self._step, bounds)
                if bounds.shade_share:
                    shade = soft_shade(mask, score[part], picture[part], behind, self._step, bounds)
                    mask -= shade
            single = own(rows, columns)
            if params.outline_edge:
                mask = redraw_outlines(mask, marked, single, params.outline_edge)
            blobs = self._blobs.apply(mask)
            if bounds.outline_blur:
                blobs = self._blobs.apply(without_blur(blobs, single, bounds.outline_blur))
            if cv2.hasNonZero(blobs):
                if self._blobs.fill and params.bay_share <= 1:
                    closed = bays(blobs, score[part], self._step, params)
                    if shade is not None:
                        closed = np.asarray(cv2.subtract(closed, 255 * shade), dtype=np.uint8)
                    blobs |= closed
                drawn[part] = blobs
                without_moved_edges(drawn[part], picture[part], behind, params)
        return drawn


def _shifted(background: Part, down: int, right: int) -> Part:
    """Cut out the background of a part that begins at some row and column."""
    return lambda rows, columns: background(
        slice(rows.start + down, rows.stop + down, rows.step),
        slice(columns.start + right, columns.stop + right, columns.step),
    )
