"""One picture of four panels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bgsub.pipeline.outputs import PreviewPanels, preview
from bgsub.tracking.tracker import Observation


def panels(height, width, *, color=True, score=None, outlier=False):
    shape = (height, width, 3) if color else (height, width)
    names = ("input", "background", "a", "mask")
    pictures = {name: np.full(shape, 90, np.uint8) for name in names}
    return PreviewPanels(pictures, 7, 0.28, score, outlier)


@given(st.integers(1, 900), st.integers(1, 900))
def test_is_an_even_picture_of_bearable_size_whatever_the_frame(height, width):
    picture = preview(panels(height, width, color=False))
    assert picture.shape[0] % 2 == picture.shape[1] % 2 == 0
    assert picture.dtype == np.uint8
    assert max(picture.shape) <= 2000


def test_an_outlier_has_a_bar_of_another_colour_and_another_text():
    shown = {
        outlier: preview(panels(36, 48, score=3.5, outlier=outlier))[:28]
        for outlier in (False, True)
    }
    assert tuple(shown[False][-1, -1]) == (40, 40, 40)
    blue, green, red = shown[True][-1, -1].astype(int)
    assert red > blue + 100
    assert red > green + 100
    assert (shown[False] != shown[True]).any()


def test_a_score_of_nearly_nothing_has_no_sign():
    np.testing.assert_array_equal(
        preview(panels(36, 48, score=-0.04)), preview(panels(36, 48, score=0.0))
    )


def test_objects_are_drawn_on_the_input_alone():
    seen = Observation(7, 0.28, 3, (10, 8, 20, 16), 20, 16, 320, 5.0, "")
    plain, drawn = preview(panels(36, 48)), preview(panels(36, 48), [seen])
    rows, columns = np.nonzero((plain != drawn).any(axis=2))
    assert rows.size
    assert rows.max() < 28 + (plain.shape[0] - 28) // 2
    assert columns.max() < plain.shape[1] // 2
