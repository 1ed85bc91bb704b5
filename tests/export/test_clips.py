"""Clips of events."""

import csv
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.export import ClipOptions
from bgsub.export.clips import (
    Painter,
    Span,
    Stretches,
    clip_names,
    contact_sheet,
    join_clips,
    open_film,
    plan_spans,
    write_clips,
)
from bgsub.export.run_data import RunData, load_run
from bgsub.pipeline.run import run
from bgsub.tracking.events import SceneEvent
from bgsub.tracking.tables import OBJECT_COLUMNS
from bgsub.video.images import encode_image
from bgsub.video.source import open_source
from tests.conftest import make_options, read_video
from tests.video.beeps import film_with_a_beep
from tests.video.conftest import encode as encode_film
from tests.video.test_source import rotated


def drawn_on(data, overlay):
    return Painter(data, ClipOptions(overlay=overlay))


def event(number, start_s, end_s, area=100.0):
    frames = round(start_s * 25) + 1, round(end_s * 25) + 1
    return SceneEvent(
        number, "object", *frames, start_s, end_s, frames[0], start_s, area, (number,)
    )


def test_near_events_share_a_clip_and_the_largest_are_kept():
    events = [event(1, 10, 11), event(2, 14, 15, 900), event(3, 60, 61, 50), event(4, 90, 91, 70)]
    spans = plan_spans(events, ClipOptions(before=1.5, after=2, merge=2))
    assert [(span.start_s, span.end_s) for span in spans] == [(8.5, 17), (58.5, 63), (88.5, 93)]
    assert [each.number for each in spans[0].events] == [1, 2]
    kept = plan_spans(events, ClipOptions(before=1.5, after=2, merge=2, max_events=2))
    assert [span.start_s for span in kept] == [8.5, 88.5]
    assert plan_spans(events[:1], ClipOptions(before=20, after=0, merge=0))[0].start_s == 0


def test_names_sort_by_time_and_are_plain():
    events = [event(n, 3600.0 * n, 3600.0 * n + 1) for n in range(1, 12)]
    names = clip_names(plan_spans(events, ClipOptions(before=0, after=0, merge=0)))
    assert names == sorted(names)
    assert names[0] == "clip0001_01-00-00.000.mp4"
    assert not any(set(name) & set(':*?"<>|/\\ ') for name in names)


@pytest.fixture
def results(visit):
    return visit


def test_a_clip_shows_its_event_and_what_was_around_it(results, tmp_path):
    data = load_run(results / "results")
    spans = plan_spans(data.events(), ClipOptions(before=0.4, after=0.4, merge=1))
    (name,) = write_clips(data, tmp_path, spans)
    (row,) = csv.DictReader((tmp_path / "clips.csv").read_text().splitlines())
    assert row["file"] == name
    first = round(float(row["start_s"]) * 25)
    shown, whole = (read_video(film, "gray") for film in (tmp_path / name, results / "film.mp4"))
    assert len(shown) == int(row["frames"])
    assert float(row["end_s"]) == pytest.approx((first + len(shown) - 1) / 25)
    assert 25 <= first <= 40
    assert len(shown) >= 20 + 15
    for index in (0, len(shown) // 2, len(shown) - 1):
        off = np.abs(shown[index].astype(int) - whole[first + index])
        assert off.mean() < 4
        neighbour = np.abs(shown[index].astype(int) - whole[first + index - 2])
        assert off.mean() < neighbour.mean()


def begun(spans, seconds=0.1):
    """The beginning of each stretch."""
    return [Span(span.start_s, span.start_s + seconds, span.events) for span in spans]


def test_boxes_are_drawn_on_request(results, tmp_path):
    data = load_run(results / "results")
    spans = plan_spans(data.events(), ClipOptions(before=0, after=0, merge=1))
    (name,) = write_clips(data, tmp_path, begun(spans), painter=drawn_on(data, "boxes"))
    first = read_video(tmp_path / name)[0]
    assert first.shape == (360, 480, 3)


def test_masks_are_a_tint_where_the_object_is(results, tmp_path):
    data = load_run(results / "results")
    numbers, masks = data.masks()
    marked = dict(zip(numbers, masks, strict=True))
    spans = plan_spans(data.events(), ClipOptions(before=0.2, after=0.2, merge=1))
    spans = begun(spans, seconds=0.5)
    (name,) = write_clips(data, tmp_path, spans, painter=drawn_on(data, "mask"))
    (row,) = csv.DictReader((tmp_path / "clips.csv").read_text().splitlines())
    film, begin = read_video(results / "film.mp4"), round(float(row["start_s"]) * 25)
    for index, shown in enumerate(read_video(tmp_path / name)):
        large = film[begin + index].repeat(15, 0).repeat(15, 1).astype(int)
        inside = marked[begin + index + 1].repeat(15, 0).repeat(15, 1) > 0
        off = np.abs(shown - large).mean(axis=2)
        assert not inside.any() or off[inside].mean() > 15
        assert np.quantile(off[~inside], 0.9) < 15


def test_side_by_side_the_mask_is_on_the_right(results, tmp_path):
    data = load_run(results / "results")
    spans = plan_spans(data.events(), ClipOptions(before=0, after=0, merge=1))
    (name,) = write_clips(data, tmp_path, begun(spans), painter=drawn_on(data, "side-by-side"))
    first = read_video(tmp_path / name)[0]
    assert first.shape == (360, 960, 3)
    _, masks = data.masks()
    mask = list(masks)[data.events()[0].first_frame - 1]
    right = first[7::15, 487::15, 1]
    assert ((right > 127) == (mask > 0)).mean() > 0.98


def test_captions_say_event_and_time(results, tmp_path):
    data = load_run(results / "results")
    spans = plan_spans(data.events(), ClipOptions(before=0.2, after=0, merge=1))
    shown = {}
    for began in (None, "2026-05-01T22:00:00"):
        painter = Painter(data, ClipOptions(caption=True, clock=began))
        (name,) = write_clips(data, tmp_path, begun(spans), painter=painter)
        frame = read_video(tmp_path / name)[0]
        assert frame.shape == (360, 480, 3)
        plate = frame[330:]
        assert (plate < 40).all(axis=2).mean() > 0.05
        assert (plate > 200).all(axis=2).mean() > 0.01
        shown[began] = plate
    assert np.abs(shown[None].astype(int) - list(shown.values())[1]).max() > 100


@pytest.fixture(scope="module", params=["plain", "variable rate", "turned"])
def moving(request, tmp_path_factory):
    """A film in which every frame can be told from the others, its pictures and their times."""
    folder = tmp_path_factory.mktemp("moving")
    times = np.arange(90) / 25
    if request.param == "variable rate":
        times = np.cumsum(np.where(np.arange(90) % 7 < 3, 0.04, 0.1)) - 0.04
    y, x = np.mgrid[:48, :64]
    frames = np.stack([(90 + 80 * np.sin((x + 5 * y) / 9 + i / 3)) for i in range(90)])
    pictures = np.repeat(frames[..., None], 3, axis=3).astype(np.uint8)
    path = encode_film(folder / "film.mp4", pictures, times=times.tolist(), options={"g": "12"})
    if request.param == "turned":
        path = rotated(path)
        pictures = np.rot90(pictures, k=-1, axes=(1, 2))
    return path, pictures, times


@pytest.mark.parametrize(("overlay", "start"), [("none", 20), ("none", 47), ("boxes", 20)])
def test_the_first_frame_of_a_clip_is_that_of_the_film(moving, tmp_path, overlay, start):
    path, pictures, times = moving
    height, width = pictures.shape[1:3]
    data = RunData(tmp_path, path.name, str(path), width, height, 90, None, (0, 0, width, height))
    (tmp_path / "objects.csv").write_text(",".join(OBJECT_COLUMNS) + "\n")
    spans = [Span(times[start], times[start + 20], (event(1, times[start], times[start + 20]),))]
    painter = None if overlay == "none" else drawn_on(data, overlay)
    (name,) = write_clips(data, tmp_path, spans, painter=painter)
    factor = 1 if overlay == "none" else 480 // width + (480 % width > 0)
    shown = read_video(tmp_path / name)[:, factor // 2 :: factor, factor // 2 :: factor]
    assert len(shown) == 21
    for index in (0, 10, 20):
        off = np.abs(pictures.astype(int) - shown[index]).mean(axis=(1, 2, 3))
        assert int(off.argmin()) == start + index
    with av.open(str(tmp_path / name)) as clip:
        stamps = [float(frame.pts * frame.time_base) for frame in clip.decode(video=0)]
    np.testing.assert_allclose(stamps, times[start : start + 21] - times[start], atol=0.01)


def test_a_copied_clip_is_turned_as_its_film_is(moving, tmp_path):
    path, pictures, times = moving
    height, width = pictures.shape[1:3]
    data = RunData(tmp_path, path.name, str(path), width, height, 90, None, (0, 0, width, height))
    spans = [Span(times[40], times[60], (event(1, times[40], times[60]),))]
    (name,) = write_clips(data, tmp_path, spans, mode="copy")
    (row,) = csv.DictReader((tmp_path / "clips.csv").read_text().splitlines())
    first = next(iter(open_source(tmp_path / name)))
    shown = first.layout.to_bgr(first.data)
    assert shown.shape[:2] == (height, width)
    off = np.abs(pictures.astype(int) - shown).mean(axis=(1, 2, 3))
    assert times[int(off.argmin())] == pytest.approx(float(row["start_s"]), abs=0.001)


@pytest.mark.parametrize("mode", ["encode", "copy"])
def test_a_reel_holds_all_clips_one_after_the_other(results, tmp_path, mode):
    data = load_run(results / "results")
    spans = [Span(t, t + 0.3, (event(n, t, t + 0.3),)) for n, t in ((1, 0.2), (2, 1.3), (3, 2.5))]
    clips = [tmp_path / name for name in write_clips(data, tmp_path, spans, mode=mode)]
    join_clips(clips, tmp_path / "reel.mp4")
    parts = [read_video(clip) for clip in clips]
    np.testing.assert_array_equal(read_video(tmp_path / "reel.mp4"), np.concatenate(parts))
    with av.open(str(tmp_path / "reel.mp4")) as reel:
        stamps = [float(frame.pts * frame.time_base) for frame in reel.decode(video=0)]
    np.testing.assert_allclose(np.diff(stamps), 0.04, atol=0.002)


@pytest.fixture(scope="module")
def film_with_sound(tmp_path_factory):
    return film_with_a_beep(tmp_path_factory.mktemp("sound") / "film.mp4")


@pytest.mark.parametrize("mode", ["encode", "copy"])
def test_the_sound_of_a_reel_is_in_step(film_with_sound, tmp_path, mode):
    path = str(film_with_sound)
    data = RunData(tmp_path, "film.mp4", path, 64, 48, 250, Fraction(25), (0, 0, 64, 48))
    spans = [Span(t, t + 1, (event(n, t, t + 1),)) for n, t in ((1, 0.5), (2, 3.0), (3, 5.5))]
    clips = [tmp_path / name for name in write_clips(data, tmp_path, spans, mode=mode)]
    join_clips(clips, tmp_path / "reel.mp4")
    with av.open(str(tmp_path / "reel.mp4")) as reel:
        frames = list(reel.decode())
    pictures = [frame for frame in frames if isinstance(frame, av.VideoFrame)]
    sounds = [frame for frame in frames if isinstance(frame, av.AudioFrame)]
    flash = max(pictures, key=lambda frame: frame.to_ndarray()[:40].mean())
    beep = max(sounds, key=lambda frame: np.square(frame.to_ndarray()).sum())
    assert abs(flash.pts * flash.time_base - beep.pts * beep.time_base) < 0.12


def test_clips_that_differ_are_no_reel(tmp_path, encode):
    good = Path(encode(np.zeros((4, 32, 32, 3), np.uint8)))
    (tmp_path / "bad.mp4").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be joined"):
        join_clips([good, tmp_path / "bad.mp4"], tmp_path / "reel.mp4")


def test_copied_clips_say_where_they_really_begin(results, tmp_path):
    data = load_run(results / "results")
    spans = plan_spans(data.events(), ClipOptions(before=0.4, after=0.4, merge=1))
    write_clips(data, tmp_path, spans, mode="copy")
    (row,) = csv.DictReader((tmp_path / "clips.csv").read_text().splitlines())
    assert float(row["start_s"]) * 25 % 20 == pytest.approx(0, abs=0.01)
    assert float(row["start_s"]) <= spans[0].start_s + 0.01
    assert row["frames"] == ""


@pytest.fixture(scope="module")
def shots(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shots")
    for number in range(40):
        picture = encode_image(np.full((32, 48), 2 * number + 20, np.uint8), ".png")
        (folder / f"f{number:03d}.png").write_bytes(picture)
    run(folder, folder / "results", make_options(fps="5", outputs={"objects", "tracks", "events"}))
    return folder


@pytest.mark.parametrize(
    ("given", "overlay"),
    [("", "none"), ("*.png", "none"), ("f%03d.png", "none"), ("*.png", "boxes")],
)
def test_images_are_cut_at_the_rate_of_their_run(shots, tmp_path, given, overlay):
    data = replace(load_run(shots / "results"), path=str(shots / given))
    seen = replace(event(1, 4.0, 6.0), peak_s=5.0)
    painter = None if overlay == "none" else drawn_on(data, overlay)
    (name,) = write_clips(data, tmp_path, [Span(4.0, 6.0, (seen,))], painter=painter)
    (row,) = csv.DictReader((tmp_path / "clips.csv").read_text().splitlines())
    assert (row["start_s"], row["end_s"], row["frames"]) == ("4", "6", "11")
    levels = read_video(tmp_path / name).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(levels, 2 * np.arange(20, 31) + 20, atol=3)
    sheet = contact_sheet(open_film(data), [seen])
    assert sheet[60, 120].tolist() == pytest.approx([70] * 3, abs=2)


def test_a_small_animal_keeps_its_pixels_on_the_sheet_of_a_wide_film(shots, tmp_path):
    picture = np.full((720, 1280), 120, np.uint8)
    picture[600:610, 1200:1225] = 10
    (tmp_path / "f000.png").write_bytes(encode_image(picture, ".png"))
    data = replace(load_run(shots / "results"), path=str(tmp_path / "*.png"))
    box = (1200.0, 600.0, 25.0, 10.0)
    sheet = contact_sheet(open_film(data), [replace(event(1, 0.0, 0.1), peak_s=0.0, box=box)])
    assert sheet.shape[1] == 640
    assert np.count_nonzero(sheet[24:].max(axis=2) < 15) == 250


def test_the_sheet_of_a_small_film_shows_it_whole_though_boxes_enlarge_it(shots, tmp_path):
    picture = np.full((240, 320), 120, np.uint8)
    picture[:, 300:] = 10
    (tmp_path / "f000.png").write_bytes(encode_image(picture, ".png"))
    data = replace(load_run(shots / "results"), path=str(tmp_path / "*.png"))
    seen = replace(event(1, 0.0, 0.1), peak_s=0.0, box=(10.0, 10.0, 20.0, 20.0))
    sheet = contact_sheet(open_film(data), [seen], painter=drawn_on(data, "boxes"))
    dark = sheet[24:].max(axis=2) < 60
    assert dark.mean() == pytest.approx(20 / 320, abs=0.005)


def test_a_film_that_is_gone_is_one_line(results, tmp_path):
    data = replace(load_run(results / "results"), path="/nowhere/film.mp4")
    with pytest.raises(InputError, match="is gone"):
        write_clips(data, tmp_path, [])


@pytest.mark.parametrize("name", ["film.mp4", "film.avi"])
def test_stretches_that_are_sought_or_read_through_have_the_frames_of_the_film(tmp_path, name):
    pictures = np.random.default_rng(0).integers(0, 255, (60, 48, 64, 3)).astype(np.uint8)
    source = open_source(encode_film(tmp_path / name, pictures))
    stretches = Stretches(source)
    assert [next(stretches.frames(0.12, 0.12)).number for _ in range(2)] == [4, 4]
    for start, end in ((0.2, 0.4), (0.74, 1.27), (1.34, 9.0)):
        found = list(stretches.frames(start, end))
        expected = [one for one in source if start - 0.02 <= one.time_s <= end + 0.02]
        assert [one.number for one in found] == [one.number for one in expected]
        assert [one.time_s for one in found] == [one.time_s for one in expected]
        for one, same in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.data, same.data)
