"""What frames of a stream show, by a model that a run has saved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bgsub.errors import InputError, UsageError
from bgsub.live.analysis import Analysis, Sought
from bgsub.live.decoding import LivePicture, read
from bgsub.live.options import WatchOptions
from bgsub.pipeline.run import run
from bgsub.tracking.events import EventFilter
from tests.conftest import make_options

from .conftest import transport, walk


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A film whose visitor comes with frame 40, its model, and that of a part of it."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "film.ts").write_bytes(transport(walk(60, [(40, 60)])))
    for name, roi in (("whole", None), ("part", (0, 0, 48, 36))):
        run(folder / "film.ts", folder / name, make_options(outputs={"model"}, roi=roi))
    return folder


@pytest.fixture(scope="module")
def stream(model):
    """What the stream is, and its pictures."""
    settings = {"address": f"file:{model / 'film.ts'}", "format": None, "options": {}}
    settings |= {"protocols": "file", "scale": 1.0, "every": 0.0, "sound": False, "drops": False}
    header, *others = read(settings)
    return header, [each for each in others if isinstance(each, LivePicture)]


def begun(model, header, **sought):
    analysis = Analysis(
        WatchOptions(model=model / "whole" / "model.npz"), Sought(**sought), "door", None
    )
    assert not analysis.open(header)
    return analysis


def observations(analysis, pictures):
    """Look at pictures; all objects that count, and the masks."""
    seen, masks = [], []
    for picture in pictures:
        found = analysis.look(picture.row, picture.time_s)
        seen += [each for objects in found.frames for each in objects]
        masks.append(found.mask)
    return seen + [each for objects in analysis.finish() for each in objects], np.stack(masks)


def test_a_visitor_is_found_when_he_is_there(model, stream):
    header, pictures = stream
    seen, masks = observations(begun(model, header), pictures)
    assert {each.track for each in seen} == {1}
    assert {round(each.time_s * 25) for each in seen} == set(range(40, 60))
    assert not masks[:40].any()
    assert masks[45].sum() / 255 == pytest.approx(21 * 15, rel=0.2)


def test_what_does_not_count_is_not_given_but_is_in_the_masks(model, stream):
    header, pictures = stream
    everywhere = np.ones((9, 12), bool)  # of another size than the stream
    for sought in (
        {"counted": EventFilter(max_area=20)},
        {"counted": EventFilter(ignored=everywhere)},
        {"min_area": 5000},
    ):
        seen, masks = observations(begun(model, header, **sought), pictures[38:46])
        assert seen == []
        assert masks[-1].any()


def test_numbers_go_on_over_connections(model, stream):
    header, pictures = stream
    analysis = begun(model, header)
    first, _ = observations(analysis, pictures[36:50])
    assert analysis.open(header)  # as it was before
    second, _ = observations(analysis, pictures[36:50])
    assert {each.track for each in first} == {1}
    assert {each.track for each in second} == {2}


def test_a_model_must_fit_the_stream(model, stream):
    part = WatchOptions(model=model / "part" / "model.npz")
    with pytest.raises(UsageError, match="the model is of a part of the picture"):
        Analysis(part, Sought(), "door", None)
    analysis = Analysis(WatchOptions(model=model / "whole" / "model.npz"), Sought(), "door", None)
    with pytest.raises(InputError, match=r"door: its pictures .* at 48×36, but the model"):
        analysis.open(replace(stream[0], layout=replace(stream[0].layout, width=48, height=36)))
    with pytest.raises(InputError, match="gone"):
        Analysis(WatchOptions(model=model / "gone.npz"), Sought(), "door", None)


def test_before_there_is_a_model_nothing_is_known():
    analysis = Analysis(WatchOptions(), Sought(), "door", None)
    assert analysis.scale is None
    assert analysis.look(b"", 0.0) is None
    assert analysis.finish() == []
    assert analysis.complaints() == []
    analysis.close()
