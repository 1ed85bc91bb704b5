"""What frames of a stream show: by models that are learned of it, and by that of a run."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bgsub.errors import InputError, UsageError
from bgsub.live.analysis import MOST_FRAMES, Analysis, Learner, Sought
from bgsub.live.decoding import Header, Seen
from bgsub.live.options import WatchOptions
from bgsub.pipeline.run import apply, run
from bgsub.segmenter.protocol import MaskOptions
from bgsub.tracking.detections import Detection
from bgsub.tracking.events import EventFilter
from bgsub.tracking.tables import read_objects
from bgsub.tracking.tracker import Tracker
from bgsub.video.frames import Layout
from tests.conftest import make_options

from .conftest import decoded, messages_of, transport, walk

LAYOUT = Layout("bgr", 36, 48)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A film whose visitor comes with frame 40, a model of it, and one of a part of a picture."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "film.ts").write_bytes(transport(walk(54, [(40, 54)], size=(96, 72))))
    np.save(folder / "small.npy", walk(20, []))
    of_model = {"k": 1, "outputs": {"model"}}
    run(folder / "film.ts", folder / "whole", make_options(end=40, **of_model))
    run(folder / "small.npy", folder / "part", make_options(roi=(0, 0, 24, 18), **of_model))
    return folder


@pytest.fixture(scope="module")
def stream(model):
    """What the stream is, and its pictures."""
    header, *others = messages_of(model / "film.ts", scale=1.0, sound=False)
    return header, [each for each in others if isinstance(each, Seen)]


def analysis_of(options=None, sought=None):
    return Analysis(
        options or WatchOptions(), sought or Sought(), "door", waits=False, looks_back=False
    )


def begun(model, header, **sought):
    options = WatchOptions(model=model / "whole" / "model.npz")
    analysis = analysis_of(options, Sought(**sought))
    assert not analysis.open(header)
    return analysis


def observations(analysis, pictures):
    """Look at pictures; all objects that count, and the masks."""
    seen, masks = [], []
    for picture in pictures:
        found = analysis.look(picture.row, picture.time_s)
        seen += [each for objects in found.frames for each in objects]
        masks.append(found.mask)
    seen += [each for objects in analysis.finish() for each in objects]
    return seen, np.stack(masks)


def test_a_visitor_is_found_when_he_is_there_soon(model, stream, monkeypatch):
    header, pictures = stream
    analysis, look, told = begun(model, header), Analysis.look, []

    def look_and_count(own, *given):
        found = look(own, *given)
        told.append(len(found.frames))
        assert own.delay == len(told) - sum(told) <= 8
        return found

    monkeypatch.setattr(Analysis, "look", look_and_count)
    seen, masks = observations(analysis, pictures)
    assert len(told) == len(pictures)
    assert {each.track for each in seen} == {1}
    assert {round(each.time_s * 25) for each in seen} == set(range(40, 54))
    assert not masks[:40].any()
    assert masks[45].sum() / 255 == pytest.approx(21 * 15, rel=0.2)


@pytest.mark.parametrize(("scale", "least", "size"), [(1.0, None, (48, 36)), (0.5, 100, (64, 48))])
def test_a_file_shows_what_a_run_finds_in_it(tmp_path, scale, least, size):
    """With the model of a run: the same masks and the same objects as `apply`."""
    film, out = tmp_path / "film.ts", tmp_path / "out"
    film.write_bytes(transport(walk(60, [(6, 28), (34, 56)], size=size), rate=30))
    options = {"k": 1, "scale": scale, "format": "mkv"}
    run(film, tmp_path / "run", make_options(**options, outputs={"model"}))
    wanted = make_options(format="mkv", outputs={"mask", "objects"}, min_area=least)
    apply(tmp_path / "run" / "model.npz", film, out, wanted)
    analysis = Analysis(
        WatchOptions(model=tmp_path / "run" / "model.npz"),
        Sought(min_area=least),
        "film",
        waits=True,
        looks_back=True,
    )
    header, *others = messages_of(film, scale=analysis.scale, sound=False)
    analysis.open(header)
    pictures = [each for each in others if isinstance(each, Seen)]
    seen, masks = observations(analysis, pictures)
    np.testing.assert_array_equal(masks, np.stack(decoded(out / "mask.mkv"))[..., 0])
    known = [replace(each, sign="") for each in read_objects(out / "objects.csv")]
    assert len(known) > 40
    assert len(seen) == len(known)
    for one, other in zip(seen, known, strict=True):
        assert (one.frame, one.track) == (other.frame, other.track)
        assert (*one.box, one.area) == pytest.approx((*other.box, other.area), abs=0.01)
        assert one.time_s == pytest.approx(other.time_s, abs=0.001)
        assert one.score == pytest.approx(other.score, abs=0.006)


def test_what_does_not_count_is_not_given(model, stream):
    header, pictures = stream
    everywhere = np.ones((9, 12), bool)  # of another size than the stream
    for sought in (
        {"counted": EventFilter(max_area=20)},
        {"counted": EventFilter(ignored=everywhere)},
        {"min_area": 5000},
    ):
        seen, masks = observations(begun(model, header, **sought), pictures[38:46])
        assert seen == []
        assert masks[-1].any() == ("counted" in sought)


def test_numbers_go_on_over_connections(model, stream):
    header, pictures = stream
    analysis = begun(model, header)
    first, _ = observations(analysis, pictures[36:50])
    assert analysis.open(header)  # as it was before
    second, _ = observations(analysis, pictures[36:50])
    assert {each.track for each in first} == {1}
    assert {each.track for each in second} == {2}


def test_a_model_must_fit_the_stream(model, stream):
    with pytest.raises(UsageError, match="the model is of a part of the picture"):
        analysis_of(WatchOptions(model=model / "part" / "model.npz"))
    analysis = analysis_of(WatchOptions(model=model / "whole" / "model.npz"))
    with pytest.raises(InputError, match=r"door: its pictures .* at 48×36, but the model"):
        analysis.open(replace(stream[0], layout=replace(stream[0].layout, width=48, height=36)))
    with pytest.raises(InputError, match="gone"):
        analysis_of(WatchOptions(model=model / "gone.npz"))


def test_before_there_is_a_model_nothing_is_known():
    analysis = analysis_of()
    assert analysis.scale is None
    analysis.open(Header("h264", (4, 4), Layout("gray", 4, 4), Fraction(1, 25), b"", "mp4"))
    assert analysis.look(bytes(16), 0.0) is None
    assert analysis.finish() == []
    assert analysis.complaints() == []
    analysis.close()


def test_what_is_never_clear_keeps_no_frames_waiting_for_ever():
    """Or the memory of an endless stream would grow."""
    tracker, settled = Tracker((320, 240), rate=5), 0
    weak = Detection((100.0, 100.0, 12.0, 12.0), 106.0, 106.0, 120.0, score=0.45)
    for i in range(1, 601):
        settled += len(tracker.update(i, i / 5, [weak]).settled)
    assert settled >= 600 - 160


def row_of(picture):
    return LAYOUT.pack(np.ascontiguousarray(picture[..., ::-1]))


@pytest.fixture
def learner():
    """One that frames wait for."""
    options = WatchOptions(window_s=60, refresh_s=30, warm_up_s=1)
    return Learner(LAYOUT, MaskOptions(), options, waits=True)


def test_a_model_scores_frames_by_what_is_usual(learner):
    frames = walk(60, [(50, 60)])
    for i, frame in enumerate(frames[:50]):
        learner.offer(row_of(frame), i / 25)
    assert learner.models == 1
    usual, visited = (learner.model.frame_score(LAYOUT.luma(row_of(f))) for f in frames[49:51])
    assert usual < 6 < visited


def test_a_model_that_cannot_be_learned_is_said_and_the_next_one_serves(learner):
    learner.offer(np.zeros(7, np.uint8), 0.0)
    for i, frame in enumerate(walk(40, [])):
        learner.offer(row_of(frame), (i + 1) / 25)
    assert "could not be learned" in learner.complaints[0]


def test_what_is_said_while_somebody_asks_is_told_when_he_asks_again(monkeypatch):
    class AskedMeanwhileError(Exception):
        def __str__(self):
            assert analysis.complaints() == []
            return "as another thread may ask"

    def learn(*_):
        raise AskedMeanwhileError

    monkeypatch.setattr(Learner, "learn", learn)
    analysis = Analysis(WatchOptions(warm_up_s=1), Sought(), "door", waits=True, looks_back=False)
    analysis.open(Header("h264", (4, 4), Layout("gray", 4, 4), Fraction(1, 25), b"", "mp4"))
    for number in range(40):
        assert analysis.look(bytes(16), number / 25) is None
    (complaint,) = analysis.complaints()
    assert complaint.endswith("(as another thread may ask)")


def test_a_window_is_thinned_and_forgets():
    layout, due = Layout("gray", 24, 32), []
    options = WatchOptions(window_s=60, refresh_s=30, warm_up_s=2)
    window = Learner(layout, MaskOptions(), options, waits=True)
    for i in range(4000):
        due += [i / 25] * window.add(np.zeros(layout.size, np.uint8), i / 25)
    assert len(window.times) <= MOST_FRAMES
    assert window.times[0] >= 4000 / 25 - 61
    assert np.diff(window.times).max() < 0.3
    assert due == pytest.approx([2, 4, 8, 16, 32, 62, 92, 122, 152], abs=1.5)


@pytest.mark.parametrize(("frames", "has_scores"), [(8, False), (16, False), (17, True)])
def test_a_fit_to_a_handful_of_frames_scores_none(frames, has_scores):
    """A busy machine learns from few; three components fit half of eight frames exactly."""
    layout, rng = Layout("gray", 24, 32), np.random.default_rng(0)
    window = Learner(layout, MaskOptions(), WatchOptions(window_s=60), waits=True)
    place = np.kron(rng.integers(60, 180, (6, 8)), np.ones((4, 4)))
    shown = rng.normal(place, 4, (frames + 1, 24, 32)).astype(np.uint8)
    for number, luma in enumerate(shown[:-1]):
        window.add(luma.ravel(), float(number))
    score = window.learn().frame_score(shown[-1])
    assert (score is not None) == has_scores
    assert score is None or score < 1000
    for number, luma in enumerate(shown[:10]):  # few are new, but the window is large enough
        window.add(luma.ravel(), float(frames + number))
    assert window.learn().frame_score(shown[-1]) is not None
