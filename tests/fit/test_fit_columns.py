"""The pixels of frames that take part in a fit."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.fit.store import FitColumns
from bgsub.video.frames import Frame, Layout
from bgsub.video.matrix import FrameMatrix


@pytest.fixture
def frames():
    layout = Layout("bgr", 6, 7)
    data = np.random.default_rng(0).integers(0, 256, (9, layout.size), dtype=np.uint8)
    matrix = FrameMatrix(layout)
    for number, row in enumerate(data, 1):
        matrix.append(Frame(number, number / 25, row, layout))
    return matrix, data[:, : layout.pixels]


def test_luma_of_all_frames(frames):
    matrix, luma = frames
    columns = FitColumns(matrix, None, None)
    assert (columns.shape, columns.dtype) == ((9, 42), np.uint8)
    assert np.array_equal(columns.columns(5, 42), luma[:, 5:42])


def test_inside_a_mask_and_of_a_sample(frames):
    matrix, luma = frames
    rng = np.random.default_rng(1)
    mask, rows = rng.random((6, 7)) < 0.5, np.array([1, 4, 8])
    columns = FitColumns(matrix, rows, mask)
    inside = luma[rows][:, mask.ravel()]
    assert columns.shape == inside.shape
    parts = [
        columns.columns(start, min(start + 4, inside.shape[1]))
        for start in range(0, inside.shape[1], 4)
    ]
    assert np.array_equal(np.hstack(parts), inside)
