"""One picture of four panels."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline import outputs
from bgsub.pipeline.outputs import Preview, draw_preview
from bgsub.pipeline.run import run
from bgsub.tracking.tracker import Observation


def preview(height, width, *, color=True, outlier=False, objects=()):
    shape = (height, width, 3) if color else (height, width)
    names = ("input", "background", "a", "mask")
    panels = {name: np.full(shape, 90, np.uint8) for name in names}
    return draw_preview(Preview(panels, "frame 7", outlier), objects)


@settings(max_examples=20)
@given(st.integers(1, 900), st.integers(1, 900))
def test_is_an_even_picture_of_bearable_size_whatever_the_frame(height, width):
    picture = preview(height, width, color=False)
    assert picture.shape[0] % 2 == picture.shape[1] % 2 == 0
    assert picture.dtype == np.uint8
    assert max(picture.shape) <= 2000


def test_an_outlier_has_a_bar_of_another_colour_and_another_text():
    shown = {outlier: preview(36, 48, outlier=outlier)[:28] for outlier in (False, True)}
    assert tuple(shown[False][-1, -1]) == (40, 40, 40)
    blue, green, red = shown[True][-1, -1].astype(int)
    assert red > blue + 100
    assert red > green + 100
    assert (shown[False] != shown[True]).any()


def test_a_score_of_nearly_nothing_has_no_sign(scene, save, options, tmp_path, monkeypatch):
    texts = []

    def look(shown, objects=()):
        texts.append(shown.text)
        return draw_preview(shown, objects)

    monkeypatch.setattr(outputs, "draw_preview", look)
    clip = save(scene(12, 12, 16, visit=8))
    run(clip, tmp_path / "out", options(outputs={"preview", "errors"}))
    table = read_csv(tmp_path / "out" / "errors.csv")
    scores = np.maximum(table.scores, table.local)
    assert ((scores > -0.05) & (scores < 0)).any()
    assert texts[0].startswith("frame 1   0.00 s   score ")
    assert [text.split()[-1] for text in texts] == [f"{s:.1f}" for s in scores.round(1) + 0.0]


def test_objects_are_drawn_on_the_input_alone():
    seen = Observation(7, 0.28, 3, (10, 8, 20, 16), 20, 16, 320, 5.0, "")
    plain, drawn = preview(36, 48), preview(36, 48, objects=[seen])
    rows, columns = np.nonzero((plain != drawn).any(axis=2))
    assert rows.size
    assert rows.max() < 28 + (plain.shape[0] - 28) // 2
    assert columns.max() < plain.shape[1] // 2
