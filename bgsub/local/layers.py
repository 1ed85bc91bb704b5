"""Find the recurring colours of every pixel, its *layers*, and how they come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.runtime.threads import WORTH_A_THREAD, Workers
from bgsub.video.frames import Bytes

UNSEEN = 255
"""Layer of a value that none explains."""

LAYERS = 6
"""Colours that are followed per pixel."""

MOST_FRAMES = 250
"""Frames of a sample at most: counts of frames are bytes."""

_RARE = 0.12
"""Share of the frames that a layer is seen at most where what it shows moves on."""

_ROUNDS = 2
_STRIP_PIXELS = 1 << 17
"""At most: fewer take the calls longer, in which threads wait for each other, more do not stay near
the processor."""


@dataclass(frozen=True, eq=False)
class Layers:
    """Layers of every pixel, the most frequent first.

    Attributes
    ----------
    colors : ndarray of uint8, shape (K, h, w, 3)
    counts : ndarray of uint8, shape (K, h, w)
        Frames of the sample that a layer explains.
    absences : ndarray of uint8, shape (K, h, w)
        Longest run of frames without it.
    visits : ndarray of uint8, shape (K, h, w)
        Separate runs of frames with it.
    labels : ndarray of uint8, shape (n, h, w)
        Layer of every value, UNSEEN where there is none.
    """

    colors: Bytes
    counts: Bytes
    absences: Bytes
    visits: Bytes
    labels: Bytes

    @property
    def shares(self) -> Singles:
        """Share of the frames that a layer explains, shape (K, h, w)."""
        return np.asarray(self.counts / np.float32(len(self.labels)), dtype=np.float32)

    @cached_property
    def rare(self) -> Bytes:
        """Bits, shape (h, w): k is set where layer k is seldom seen, as what moves on is."""
        seldom = np.packbits(self.counts < _RARE * len(self.labels), axis=0, bitorder="little")
        return np.asarray(seldom[0], dtype=np.uint8)

    @cached_property
    def moving(self) -> Bytes:
        """Mark with 1 what is seldom seen there, no layer or a rare one, shape (n, h, w)."""
        found = np.empty_like(self.labels)
        for shown, seldom in zip(self.labels, found, strict=True):
            seldom[:] = (shown >= LAYERS) | (self.rare >> shown) & 1
        return found


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
    is_small = height * width < WORTH_A_THREAD
    parts = max(workers.hands if is_small else workers.threads, -(-height * width // _STRIP_PIXELS))
    rows = max(8, -(-height // parts))
    strips = [slice(top, min(top + rows, height)) for top in range(0, height, rows)]
    order = np.random.default_rng(seed).permutation(n)
    cut = ((pictures[:, strip], first[strip]) for strip in strips)
    if is_small:
        found = workers.share(_clusterer, {"tolerance": tolerance, "order": order}, cut)
    else:
        found = workers.map(_clusterer(tolerance, order), cut)
    for strip, part in zip(strips, found, strict=True):
        for name, values in vars(part).items():
            getattr(layers, name)[:, strip] = values
    return layers


def _clusterer(tolerance: int, order: NDArray[np.int64]) -> Callable[[tuple[Bytes, Bytes]], Layers]:
    """Give what finds the layers of a strip of the pictures, and of their first colours."""

    def cluster(strip: tuple[Bytes, Bytes]) -> Layers:
        pictures, first = strip
        book = _Codebook(pictures, first, tolerance)
        book.collect(order)
        labels = np.empty(pictures.shape[:3], np.uint8)
        for _ in range(_ROUNDS):
            book.refine(labels)
        rank = book.sort(labels)
        colors = np.take_along_axis(book.colors(), rank[..., None], axis=0)
        counts = np.take_along_axis(book.counts, rank, axis=0)
        return Layers(colors, counts, *_recurrence(labels), labels)

    return cluster


def strip_bytes(frames: int, height: int, width: int) -> int:
    """Give the memory that a process takes at most to find layers for another one."""
    if height * width >= WORTH_A_THREAD:
        return 0  # threads do
    # Of half of the pixels: themselves, their planes, and labels with what sends them.
    return (3 + 3 + 1 + 1) * frames * (height // 2 + 1) * width


class _Codebook:
    """Colours of the pixels of a strip of the picture, in planes, which is what is quick."""

    def __init__(self, pictures: Bytes, first: Bytes, tolerance: int) -> None:
        n, height, width, _ = pictures.shape
        self._tolerance = tolerance
        self._planes = np.empty((n, 3, height, width), np.uint8)
        for picture, planes in zip(pictures, self._planes, strict=True):
            cv2.split(picture, list(planes))
        self._centers = np.zeros((LAYERS, 3, height, width), np.uint8)
        self._centers[0] = first.transpose(2, 0, 1)
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
        planes, distance, part = self._planes[frame], self._distance, self._part
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
            for plane, center in zip(self._planes[frame], self._centers[k], strict=True):
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
        for frame, planes in enumerate(self._planes):
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

    def sort(self, labels: Bytes) -> NDArray[np.int64]:
        """Order the layers by their counts, in `labels` too; give the layer of each place."""
        rank = np.argsort(-self.counts.astype(np.int16), axis=0, kind="stable")
        place = np.argsort(rank, axis=0).astype(np.uint8)
        for shown in labels:
            self._index[:] = shown
            new = np.full_like(self._index, UNSEEN)
            for k in range(self._used):
                np.equal(self._index, k, out=self._here)
                cv2.copyTo(place[k], self._here.view(np.uint8), new)
            shown[:] = new
        return rank

    def colors(self) -> Bytes:
        """Colours of the layers, shape (K, h, w, 3)."""
        return self._centers.transpose(0, 2, 3, 1)


def _recurrence(labels: Bytes) -> tuple[Bytes, Bytes]:
    """Longest absence and number of visits of every layer, shape (K, h, w)."""
    shape = (LAYERS, *labels.shape[1:])
    longest, visits, since = (np.zeros(shape, np.uint8) for _ in range(3))
    here, before = (np.zeros(shape, np.bool_) for _ in range(2))
    for shown in labels:
        for k in range(LAYERS):
            np.equal(shown, k, out=here[k])
        since += 1
        since *= ~here
        np.maximum(longest, since, out=longest)
        visits += (here > before).view(np.uint8)
        here, before = before, here
    return longest, visits


def color_of(colors: Bytes, label: NDArray[np.integer]) -> Bytes:
    """Picture whose pixels show the layers that `label` names, shape (h, w, 3)."""
    shown = np.array(colors[0], dtype=np.uint8)
    for k in range(1, len(colors)):
        here = label == k
        if here.any():
            cv2.copyTo(np.ascontiguousarray(colors[k]), here.view(np.uint8), shown)
    return shown
