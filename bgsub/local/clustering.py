"""Cluster the colours of every pixel of a sample into layers."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.channels import planes_of
from bgsub.local.layers import LAYERS, UNSEEN, Layers
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes

_ROUNDS = 2
_MOST_STRAYS = 0.7
"""Share of the pixels of a strip that are better clustered with the others than apart."""

_STRIP_PIXELS = 1 << 17
"""At most: of fewer, the calls take longer than the work in them; more do not stay near the
processor."""


def find_layers(
    pictures: Bytes, first: Bytes, tolerance: int, *, seed: int, workers: Workers
) -> Layers:
    """Cluster the values of every pixel: a codebook, then two rounds of k-means.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
        At most `MOST_FRAMES`, in order of time.
    first : ndarray of uint8, shape (h, w, 3)
        A colour that every pixel's codebook begins with.
    tolerance : int
        Largest channel difference of a value to its layer, in grey levels.
    seed : int
        Of the order in which frames are taken up.
    workers : Workers

    Returns
    -------
    Layers

    Notes
    -----
    About 300 operations on bytes per value of the sample.
    """
    n, height, width, _ = pictures.shape
    shape = (LAYERS, height, width)
    colors, labels = np.empty((*shape, 3), np.uint8), np.empty((n, height, width), np.uint8)
    counts, absences, visits = (np.empty(shape, np.uint8) for _ in range(3))
    layers = Layers(colors, counts, absences, visits, labels)
    parts = -(-height * width // _STRIP_PIXELS)
    rows = max(8, -(-height // parts))
    strips = [slice(top, min(top + rows, height)) for top in range(0, height, rows)]
    order = np.random.default_rng(seed).permutation(n)
    cut = ((pictures[:, strip], first[strip]) for strip in strips)
    found = workers.share(_clusterer, {"tolerance": tolerance, "order": order}, cut)
    for strip, part in zip(strips, found, strict=True):
        for name, values in vars(part).items():
            getattr(layers, name)[:, strip] = values
    return layers


def _clusterer(tolerance: int, order: NDArray[np.int64]) -> Callable[[tuple[Bytes, Bytes]], Layers]:
    """Give what finds the layers of a strip of the pictures, and of their first colours."""

    def cluster(strip: tuple[Bytes, Bytes]) -> Layers:
        pictures, first = strip
        planes = planes_of(pictures)
        own = np.ascontiguousarray(first.transpose(2, 0, 1))
        strays = _strays(planes, own, tolerance)
        if strays.size > _MOST_STRAYS * first[..., 0].size:
            return _settled(_Codebook(planes, own, tolerance), order)
        # Where every value is near to the first colour there is no other.
        found = _settled(_Codebook(planes, own, tolerance), order[:0])
        if not strays.size:
            return found
        few, theirs = (
            np.take(one.reshape(*one.shape[:-2], 1, -1), strays, axis=-1) for one in (planes, own)
        )
        part = _settled(_Codebook(few, theirs, tolerance), order)
        for whole, some in zip(vars(found).values(), vars(part).values(), strict=True):
            flat = whole.reshape(len(whole), first[..., 0].size, *whole.shape[3:])
            flat[:, strays] = some[:, 0]
        return found

    return cluster


def _strays(planes: Bytes, first: Bytes, tolerance: int) -> NDArray[np.int64]:
    """Find the pixels that are ever further from a colour than the values of a layer are."""
    flat, width = first.reshape(-1, first.shape[2]), first.shape[2]
    largest, apart = (np.zeros(flat.shape, np.uint8) for _ in range(2))
    for one in planes:
        cv2.absdiff(one.reshape(-1, width), flat, dst=apart)
        cv2.max(largest, apart, dst=largest)
    return np.flatnonzero(largest.reshape(3, -1).max(axis=0) > tolerance)


def _settled(book: _Codebook, order: NDArray[np.int64]) -> Layers:
    """Collect the layers of a strip, in this order of the frames, and refine and sort them."""
    book.collect(order)
    labels = np.empty((len(book.planes), *book.counts.shape[1:]), np.uint8)
    for _ in range(_ROUNDS):
        book.refine(labels)
    book.sort(labels)
    return book.layers(labels)


def strip_bytes(frames: int, height: int, width: int) -> int:
    """Give the memory that a process takes at most to find layers for another one."""
    pixels = min((height // 2 + 1) * width, _STRIP_PIXELS)
    # A strip and the next one, the planes of all pixels and of some, labels and what sends them.
    return (3 + 3 + 3 + 2 + 3) * frames * pixels


class _Codebook:
    """Colours of the pixels of a strip of the picture, in planes, which is what is quick."""

    def __init__(self, planes: Bytes, first: Bytes, tolerance: int) -> None:
        height, width = planes.shape[2:]
        self._tolerance = tolerance
        self.planes = planes
        self._centers = np.zeros((LAYERS, 3, height, width), np.uint8)
        self._centers[0] = first
        self.counts = np.zeros((LAYERS, height, width), np.uint8)
        self.counts[0] = 1
        self._empty = np.full((LAYERS, height, width), 255, np.uint8)
        self._empty[0] = 0
        self._used = 1
        self._names = [np.full((height, width), k, np.uint8) for k in range(LAYERS)]
        self._best, self._index, self._distance, self._part, self._low, self._weakest = (
            np.empty((height, width), np.uint8) for _ in range(6)
        )
        self._channels = np.empty((3, height, width), np.uint8)
        self._apart = self._channels.reshape(-1, width)
        self._miss, self._shown = (np.empty((height, width), np.uint8) for _ in range(2))
        self._here = np.empty((height, width), np.bool_)

    def _find_nearest(self, frame: int) -> None:
        """Distance to the nearest layer into `_best`, the layer or UNSEEN into `_index`."""
        planes, distance, part = self.planes[frame], self._distance, self._part
        for k in range(self._used):
            self._measure(planes, self._centers[k])
            cv2.bitwise_or(distance, self._empty[k], dst=distance)
            if k == 0:
                self._best[:] = distance
                self._index[:] = 0
            else:
                cv2.compare(distance, self._best, cv2.CMP_LT, dst=part)
                cv2.min(distance, self._best, dst=self._best)
                cv2.copyTo(self._names[k], part, self._index)
        # UNSEEN has all bits set, as what is too far has.
        cv2.threshold(self._best, self._tolerance, UNSEEN, cv2.THRESH_BINARY, dst=self._miss)
        cv2.bitwise_or(self._index, self._miss, dst=self._index)

    def _measure(self, planes: Bytes, center: Bytes) -> None:
        """Largest channel difference of a frame and a layer into `_distance`."""
        width = planes.shape[2]
        cv2.absdiff(planes.reshape(-1, width), center.reshape(-1, width), dst=self._apart)
        blue, green, red = self._channels
        cv2.max(blue, green, dst=self._distance)
        cv2.max(self._distance, red, dst=self._distance)

    def collect(self, order: NDArray[np.int64]) -> None:
        """Take up colours that no layer explains, in place of layers that were seen only once."""
        for frame in order.tolist():
            self._find_nearest(frame)
            for k in range(self._used):
                self._count(k)
            self._low[:] = self.counts[0]
            self._weakest[:] = 0
            for k in range(1, min(self._used + 1, LAYERS)):
                cv2.compare(self.counts[k], self._low, cv2.CMP_LT, dst=self._part)
                cv2.copyTo(self._names[k], self._part, self._weakest)
                cv2.min(self.counts[k], self._low, dst=self._low)
            fresh = self._low <= 1
            fresh &= self._miss > 0
            if fresh.any():
                self._replace(frame, fresh)

    def _replace(self, frame: int, fresh: NDArray[np.bool_]) -> None:
        for k in range(LAYERS):
            np.equal(self._weakest, k, out=self._here)
            self._here &= fresh
            if not self._here.any():
                continue
            where = self._here.view(np.uint8)
            for plane, center in zip(self.planes[frame], self._centers[k], strict=True):
                cv2.copyTo(plane, where, center)
            cv2.copyTo(self._names[1], where, self.counts[k])
            cv2.copyTo(self._names[0], where, self._empty[k])
            self._used = max(self._used, k + 1)

    def _count(self, k: int) -> None:
        """Count the pixels that show layer k; 255 into `_shown` there, or 0."""
        cv2.compare(self._index, self._names[k], cv2.CMP_EQ, dst=self._shown)
        self.counts[k] -= self._shown  # 255 of a byte less is one more

    def refine(self, labels: Bytes) -> None:
        """Label all values, then move every layer to the mean of its own."""
        used = self._used
        sums = np.zeros(self._centers[:used].shape, np.float32)
        self.counts[:] = 0
        for frame, planes in enumerate(self.planes):
            self._find_nearest(frame)
            labels[frame] = self._index
            for k in range(used):
                self._count(k)
                for plane, total in zip(planes, sums[k], strict=True):
                    # Half of the time of cv2.accumulate with three channels and a mask.
                    cv2.accumulate(cv2.bitwise_and(plane, self._shown, dst=self._part), total)
        for k in range(used):
            sums[k] /= np.maximum(self.counts[k], 1)
            self._centers[k] = np.rint(sums[k]).astype(np.uint8)
        self._empty[:] = np.where(self.counts > 0, 0, 255)

    def sort(self, labels: Bytes) -> None:
        """Order the layers of every pixel by their counts, in `labels` too."""
        counts, centers = (one.reshape(*one.shape[:-2], -1) for one in (self.counts, self._centers))
        shown = labels.reshape(len(labels), -1)
        # Of most pixels the first colour is the most frequent one, and so on.
        mixed = np.flatnonzero((counts[:-1] < counts[1:]).any(axis=0))
        rank = np.argsort(-counts[:, mixed].astype(np.int16), axis=0, kind="stable")
        counts[:, mixed] = np.take_along_axis(counts[:, mixed], rank, axis=0)
        centers[..., mixed] = np.take_along_axis(centers[..., mixed], rank[:, None], axis=0)
        place = np.argsort(rank, axis=0).astype(np.uint8)
        new, here = np.empty((2, 1, mixed.size), np.uint8)
        for one in shown:
            old = one[mixed][None]
            new[:] = UNSEEN
            for k in range(self._used):
                cv2.compare(
                    old, self._names[k].reshape(1, -1)[:, : mixed.size], cv2.CMP_EQ, dst=here
                )
                cv2.copyTo(place[k : k + 1], here, new)
            one[mixed] = new[0]

    def layers(self, labels: Bytes) -> Layers:
        """Give the layers, in their order, with how they come and go."""
        colors = np.stack([cv2.merge(list(planes)) for planes in self._centers])
        absences = np.full(self.counts.shape, len(labels), np.uint8)
        visits = np.zeros_like(absences)
        used = self._used
        absences[:used], visits[:used] = _recurrence(labels, used)
        return Layers(np.asarray(colors, np.uint8), self.counts, absences, visits, labels)


def _recurrence(labels: Bytes, count: int) -> tuple[Bytes, Bytes]:
    """Longest absence and number of visits of the first layers, so many, shape (count, h, w)."""
    shape = (count, *labels.shape[1:])
    longest, visits, since = (np.zeros(shape, np.uint8) for _ in range(3))
    here, before = (np.zeros(shape, np.bool_) for _ in range(2))
    for shown in labels:
        for k in range(count):
            np.equal(shown, k, out=here[k])
        since += 1
        since *= ~here
        np.maximum(longest, since, out=longest)
        visits += (here > before).view(np.uint8)
        here, before = before, here
    return longest, visits
