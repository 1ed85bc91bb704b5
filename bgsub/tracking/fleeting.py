"""Look ahead and back along the tracks of blobs: what does not last goes, what is faint comes."""

from __future__ import annotations

import math
import statistics
from collections import deque
from dataclasses import dataclass
from itertools import islice

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.blobs import Blob
from bgsub.local.drawing import Seen
from bgsub.local.params import LocalParams
from bgsub.local.specks import MOST_AREA, Speck
from bgsub.tracking.blob_links import BlobNode, following, link, preceding, way_between
from bgsub.video.frames import Bytes

_APART_S = 0.15
"""Seconds between two frames from which a track cannot be followed from one to the other."""

_NEAR = 2
"""Pixels from the border at which a blob is cut."""

_LARGE, _CLEAR = 8, 1.4
"""Least areas, and mean score: leaves and halos are not as large and clear at once."""

_FULL = 2 / 3
"""Least areas that something faint covers on average, in the frames that are looked at: noise is
not in one place for long, and a track that has ended covers nothing."""

_LEFT = 0.5
"""Its sizes by which it moves on meanwhile: surf and light rise and fall where they are."""

_MOST = 200
"""Blobs of a frame that are followed, the largest; of smaller ones nothing is known."""


@dataclass(eq=False)
class _Look:
    """What a frame shows, None once it is taken, and its blobs."""

    seen: Seen | None
    time_s: float
    nodes: list[BlobNode]


class BlobSieve:
    """Leave out of masks the blobs that neither last nor move on, nor ever stand out.

    The track of an object lasts, moves on, or leaves at the border; leaves, waves and halos of
    codecs come and go where they are. And an object stands out in one frame of its track at least.
    Blobs of frames in a row are linked where they cover each other, where they are or shifted by
    their motion; a blob may have been a speck, or become one. A blob goes

    - if it is followed through fewer than `LocalParams.lasting_frames` frames ahead, and back, by
      less than `lasting_way` times its size, and meets no border; not where the film begins or ends
      meanwhile, nor where objects have so little contrast that their tracks break, nor if it is
      large and clear: in a film of a frame a minute nothing can be followed;
    - if its mean score is below `lasting_strength` in all of these frames.

    Objects with so little contrast are below the least area in some frames, by chance, too. There a
    speck is an object by what its track covers in as many frames together: two thirds of the least
    area on average, if it moves on by half of its size.

    Parameters
    ----------
    params : LocalParams
    inside : ndarray of bool, shape (h, w), optional
        Pixels outside show no blobs: objects come from there as from behind the border.
    least_area : int
        Of an object, in pixels; 0 where it is not known. A blob that goes and is below `MOST_AREA`
        of these is a speck: it may be an object if it moves steadily.

    Notes
    -----
    A frame waits for `ahead` more. O(m·n) for m and n blobs of two frames; nothing for empty masks.
    """

    def __init__(
        self, params: LocalParams, inside: NDArray[np.bool_] | None = None, least_area: int = 0
    ) -> None:
        self._least_area = least_area
        self.ahead = params.lasting_frames
        self._params = params
        self._rim: Bytes | None = None
        if inside is not None:
            reach = np.ones((2 * _NEAR + 3, 2 * _NEAR + 3), np.uint8)
            self._rim = np.asarray(cv2.dilate((~inside).view(np.uint8), reach), dtype=np.uint8)
        self._looks: deque[_Look] = deque()
        self._decided = 0

    @property
    def waiting(self) -> int:
        """Count the frames that were added and not taken."""
        return len(self._looks) - self._decided

    def add(self, seen: Seen, time_s: float) -> None:
        """Take in what the next frame shows."""
        before = self._looks[-1] if self._looks else None
        largest = sorted(seen.blobs, key=lambda blob: -blob.area)[:_MOST]
        largest += [_as_blob(speck) for speck in seen.specks]
        nodes = [BlobNode(blob, self._is_cut(blob, seen.mask.shape)) for blob in largest]
        if before is not None and time_s - before.time_s <= _APART_S:
            link(before.nodes, nodes)
        else:
            self.end()
            for node in nodes:
                node.is_first = True
        self._looks.append(_Look(seen, time_s, nodes))

    def end(self) -> None:
        """Say that there are no more frames."""
        for node in self._looks[-1].nodes if self._looks else ():
            node.is_last = True

    def take(self) -> Seen:
        """Give the oldest frame that was not taken, of whose mask the fleeting blobs are left out.

        `ahead` frames must have been added after it, or `end` been called.
        """
        look = self._looks[self._decided]
        if look.seen is None:
            message = "no frame is waiting"
            raise RuntimeError(message)
        seen, look.seen = look.seen, None
        own = len(look.nodes) - len(seen.specks)
        gone = [node.blob for node in look.nodes[:own] if self._is_fleeting(node, seen.contrast)]
        found: list[Speck] = []
        specks: list[Speck] = []
        for speck, node in zip(seen.specks, look.nodes[own:], strict=True):
            (found if self._is_faint_object(node, seen.contrast) else specks).append(speck)
        small = MOST_AREA * self._least_area
        specks += [_as_speck(blob) for blob in gone if blob.area < small]
        self._decided += 1
        if self._decided > self.ahead:
            self._forget()
        mask = _redrawn(seen.mask, gone, found)
        return seen._replace(mask=mask, specks=tuple(specks), blobs=())

    def _forget(self) -> None:
        """Give up the oldest frame; no blob holds on to it."""
        for node in self._looks.popleft().nodes:
            if node.after is not None:
                node.after.before = None
            node.after = node.before = None
        for node in self._looks[0].nodes if self._looks else ():
            node.before = None
        self._decided -= 1

    def _is_cut(self, blob: Blob, shape: tuple[int, ...]) -> bool:
        """Say whether a blob meets the border, or pixels that do not count."""
        down, across = blob.inside.shape
        right, bottom = shape[1] - blob.x - across, shape[0] - blob.y - down
        if min(blob.x, blob.y, right, bottom) <= _NEAR:
            return True
        if self._rim is None:
            return False
        part = self._rim[blob.y : blob.y + down, blob.x : blob.x + across]
        return cv2.hasNonZero(cv2.bitwise_and(part, blob.inside))

    def _near(self, node: BlobNode) -> tuple[list[BlobNode], list[BlobNode]]:
        """Give what a blob becomes and what it was, as far as is looked."""
        ahead, back = (list(islice(way(node), self.ahead)) for way in (following, preceding))
        return ahead, back

    def _is_faint_object(self, node: BlobNode, contrast: float) -> bool:
        """Say whether a speck is an object, where objects have so little contrast."""
        if contrast > self._params.lasting_contrast or not self._least_area:
            return False
        ahead, back = self._near(node)
        track = [*reversed(back), node, *ahead]
        areas = [each.blob.area for each in track]
        count = 1 + (len(back) if track[0].is_first else self.ahead)
        count += len(ahead) if track[-1].is_last else self.ahead
        if sum(areas) < _FULL * count * self._least_area:
            return False
        size = math.sqrt(statistics.median(areas))
        return way_between(track[0].blob, track[-1].blob) >= _LEFT * size

    def _is_fleeting(self, node: BlobNode, contrast: float) -> bool:
        """Say whether a blob is no object, where objects have so much contrast."""
        params = self._params
        ahead, back = self._near(node)
        track = [node, *ahead, *back]
        newest, oldest = [node, *ahead][-1], [node, *back][-1]
        is_open_ahead = len(ahead) < self.ahead and newest.is_last
        is_open_back = len(back) < self.ahead and oldest.is_first
        if max(each.blob.strength for each in track) < params.lasting_strength:
            return not (is_open_ahead and is_open_back)
        if contrast <= params.lasting_contrast or is_open_ahead or is_open_back:
            return False
        is_cut = node.is_cut or newest.is_cut or oldest.is_cut
        if (
            is_cut
            or max(len(ahead), len(back)) >= self.ahead
            or self._is_large_and_clear(node.blob)
        ):
            return False
        size = math.sqrt(statistics.median(each.blob.area for each in track))
        far = max(way_between(end.blob, each.blob) for end in (oldest, newest) for each in track)
        return far < params.lasting_way * size

    def _is_large_and_clear(self, blob: Blob) -> bool:
        """Say whether a blob is an object even where it cannot be followed."""
        return 0 < _LARGE * self._least_area <= blob.area and blob.strength >= _CLEAR


def _as_blob(speck: Speck) -> Blob:
    """Take a speck for what a blob was or becomes; it says nothing of its strength."""
    area = cv2.countNonZero(speck.inside)
    down, across = speck.inside.shape
    cx, cy = speck.x + (across - 1) / 2, speck.y + (down - 1) / 2
    return Blob(speck.x, speck.y, speck.inside, area, cx, cy, 0.0)


def _as_speck(blob: Blob) -> Speck:
    """Take a blob for a speck: what it lacks in strength, motion may make up for."""
    return Speck(blob.x, blob.y, blob.inside, blob.strength, blob.strength)


def _redrawn(mask: Bytes, gone: list[Blob], found: list[Speck]) -> Bytes:
    """Give a mask without some of its blobs, and with some specks."""
    if not gone and not found:
        return mask
    redrawn = mask.copy()
    for shapes, level in ((gone, 0), (found, 255)):
        for one in shapes:
            down, across = one.inside.shape
            redrawn[one.y : one.y + down, one.x : one.x + across][one.inside > 0] = level
    return redrawn
