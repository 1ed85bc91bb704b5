"""Do arithmetic across the channels of a picture: NumPy takes several times as long."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.frames import Bytes

_SQUARES = np.square(np.arange(256, dtype=np.float32))


def planes_of(pictures: Bytes) -> Bytes:
    """Separate the channels of pictures (n, h, w, c), (n, c, h, w)."""
    count, height, width, channels = pictures.shape
    found = np.empty((count, channels, height, width), np.uint8)
    for picture, planes in zip(pictures, found, strict=True):
        cv2.split(picture, list(planes))
    return found


def highest_channel(picture: Bytes) -> Bytes:
    """Give the level of the highest channel of every pixel of a picture, grey or (h, w, 3)."""
    if picture.ndim == 2:
        return picture
    first, second, third = cv2.split(picture)
    return np.asarray(cv2.max(cv2.max(first, second), third), dtype=np.uint8)


def largest_difference(picture: Bytes, other: Bytes) -> Bytes:
    """Give max over the channels of |x − y|, (h, w), of two pictures, grey or (h, w, 3)."""
    return highest_channel(np.asarray(cv2.absdiff(picture, other), dtype=np.uint8))


def distances_to(colors: Bytes, picture: Bytes) -> Bytes:
    """Largest channel differences of colours to a picture, (K, h, w), in colour or grey."""
    return np.stack([largest_difference(one, picture) for one in colors])


def squared_distance(one: Bytes, other: Bytes) -> NDArray[np.float32]:
    """Sum over the channels of squared differences, (h, w), of pictures of shape (h, w, c).

    Whole numbers, which no order of summing rounds.
    """
    squares = cv2.LUT(cv2.absdiff(one, other), _SQUARES).reshape(one.shape)
    total = cv2.transform(squares, np.ones((1, one.shape[2]), np.float32))
    return np.asarray(total, dtype=np.float32)
