from itertools import pairwise

import cv2
import numpy as np
import pytest

from bgsub.local.blobs import find_blobs
from bgsub.tracking import blob_links
from bgsub.tracking.blob_links import BlobNode, following, link, preceding, way_between


def nodes(mask):
    mean = np.full(mask.shape, 60, np.uint8)
    return [BlobNode(blob, is_cut=False) for blob in find_blobs(mask, mean)]


def field(seed, count=60, shape=(180, 240)):
    """Blobs of many sizes, some of which moved by a few pixels in the second of two frames."""
    rng = np.random.default_rng(seed)
    frames = np.zeros((3, *shape), np.uint8)
    for _ in range(count):
        x, y, right, down = rng.integers((5, 5, -9, -6), (230, 170, 10, 7)).tolist()
        sides = rng.integers(1, 9, 2).tolist()
        for i, mask in enumerate(frames):
            if rng.random() < 0.9:
                at = x + i * right, y + i * down
                cv2.ellipse(mask, at, sides, 0, 0, 360, 255, cv2.FILLED)
    return [nodes(mask) for mask in frames]


def links(frames):
    for before, now in pairwise(frames):
        link(before, now)
    places = {id(node): (i, j) for i, one in enumerate(frames) for j, node in enumerate(one)}
    return [
        (places.get(id(node.before)), places.get(id(node.after)), node.step)
        for one in frames
        for node in one
    ]


@pytest.mark.parametrize("seed", range(6))
def test_leaving_out_pairs_that_have_too_little_in_common_changes_no_link(seed, monkeypatch):
    found = {}
    for many in (0, 10**6):
        monkeypatch.setattr(blob_links, "_MANY", many)
        found[many] = links(field(seed))
    assert found[0] == found[10**6]
    assert sum(before is not None for before, _, _ in found[0]) > 20


def test_each_is_linked_to_the_one_that_covers_the_most_of_it():
    first, second = np.zeros((2, 60, 80), np.uint8)
    first[20:40, 20:40] = 255
    second[20:40, 24:36] = second[20:40, 38:42] = 255
    (old,), (left, right) = sorted_by_x(first), sorted_by_x(second)
    link([old], [left, right])
    assert old.after is left
    assert left.before is old
    assert left.step == (0.0, 0.0)
    assert right.before is old  # most of it came from there
    assert right.step is None
    assert list(following(old)) == [left]
    assert list(preceding(left)) == [old]
    assert way_between(old.blob, left.blob) == 0


def test_what_covers_less_than_three_tenths_is_something_else():
    first, second = np.zeros((2, 60, 200), np.uint8)
    first[20:40, 20:120] = 255
    second[20:40, 92:192] = 255
    (old,), (new,) = nodes(first), nodes(second)
    new.blob = new.blob._replace(cx=400.0)  # too far for a jump
    link([old], [new])
    assert old.after is None
    second[20:40, 89:92] = 255
    (new,) = nodes(second)
    new.blob = new.blob._replace(cx=400.0)
    link([old], [new])
    assert old.after is new


def sorted_by_x(mask):
    return sorted(nodes(mask), key=lambda node: node.blob.x)
