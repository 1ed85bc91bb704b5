"""Clips of events."""

import csv

import av
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.export.clips import clip_names, plan_spans, write_clips
from bgsub.export.run_data import load_run
from bgsub.pipeline.run import run
from bgsub.tracking.events import SceneEvent


def event(number, start_s, end_s, area=100.0):
    frames = round(start_s * 25) + 1, round(end_s * 25) + 1
    return SceneEvent(
        number, "object", *frames, start_s, end_s, frames[0], start_s, area, (number,)
    )


def test_near_events_share_a_clip_and_the_largest_are_kept():
    events = [event(1, 10, 11), event(2, 14, 15, 900), event(3, 60, 61, 50), event(4, 90, 91, 70)]
    spans = plan_spans(events, before_s=1.5, after_s=2, merge_s=2)
    assert [(span.start_s, span.end_s) for span in spans] == [(8.5, 17), (58.5, 63), (88.5, 93)]
    assert [each.number for each in spans[0].events] == [1, 2]
    kept = plan_spans(events, before_s=1.5, after_s=2, merge_s=2, most=2)
    assert [span.start_s for span in kept] == [8.5, 88.5]
    assert plan_spans(events[:1], before_s=20, after_s=0, merge_s=0)[0].start_s == 0


def test_names_sort_by_time_and_are_plain():
    events = [event(n, 3600.0 * n, 3600.0 * n + 1) for n in range(1, 12)]
    names = clip_names(plan_spans(events, before_s=0, after_s=0, merge_s=0))
    assert names == sorted(names)
    assert names[0] == "clip0001_01-00-00.000.mp4"
    assert not any(set(name) & set(':*?"<>|/\\ ') for name in names)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    from tests.conftest import make_options, make_scene

    folder = tmp_path_factory.mktemp("clips")
    frames = make_scene(n=120, visit=60)
    frames[90:] = make_scene(n=120, visit=120)[90:]
    with av.open(str(folder / "film.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "8", "g": "20"})
        stream.width, stream.height, stream.pix_fmt = 48, 36, "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    outputs = {"mask", "objects", "tracks", "events"}
    run(folder / "film.mp4", folder / "results", make_options(outputs=outputs, format="mkv"))
    return folder


def test_a_clip_shows_its_event_and_what_was_around_it(results, tmp_path):
    data = load_run(results / "results")
    spans = plan_spans(data.events(), before_s=0.4, after_s=0.4, merge_s=1)
    (name,) = write_clips(data, tmp_path, spans, sheet="sheet.png")
    (row,) = csv.DictReader((tmp_path / "clips.csv").read_text().splitlines())
    assert row["file"] == name
    first = round(float(row["start_s"]) * 25)
    with av.open(str(tmp_path / name)) as clip, av.open(str(results / "film.mp4")) as film:
        shown = [f.to_ndarray(format="gray") for f in clip.decode(video=0)]
        whole = [f.to_ndarray(format="gray") for f in film.decode(video=0)]
    assert len(shown) == int(row["frames"])
    assert 45 <= first <= 60
    assert len(shown) >= 30 + 15
    for index in (0, len(shown) // 2, len(shown) - 1):
        off = np.abs(shown[index].astype(int) - whole[first + index])
        assert off.mean() < 4
        neighbour = np.abs(shown[index].astype(int) - whole[first + index - 2])
        assert off.mean() < neighbour.mean()
    assert (tmp_path / "sheet.png").stat().st_size > 500


def test_boxes_are_drawn_on_request(results, tmp_path):
    data = load_run(results / "results")
    spans = plan_spans(data.events(), before_s=0, after_s=0, merge_s=1)
    (name,) = write_clips(data, tmp_path, spans, overlay="boxes")
    with av.open(str(tmp_path / name)) as clip:
        frame = next(clip.decode(video=0))
    assert frame.width == 480


def test_copied_clips_say_where_they_really_begin(results, tmp_path):
    data = load_run(results / "results")
    spans = plan_spans(data.events(), before_s=0.4, after_s=0.4, merge_s=1)
    write_clips(data, tmp_path, spans, mode="copy")
    (row,) = csv.DictReader((tmp_path / "clips.csv").read_text().splitlines())
    assert float(row["start_s"]) * 25 % 20 == pytest.approx(0, abs=0.01)
    assert float(row["start_s"]) <= spans[0].start_s + 0.01
    assert row["frames"] == ""


def test_a_film_that_is_gone_is_one_line(results, tmp_path):
    from dataclasses import replace

    data = replace(load_run(results / "results"), path="/nowhere/film.mp4")
    with pytest.raises(InputError, match="is gone"):
        write_clips(data, tmp_path, [])


def test_the_command_writes_them_once(results, tmp_path):
    from click.testing import CliRunner

    from bgsub.cli import cli

    arguments = ["clips", str(results / "results"), "--out", str(tmp_path / "c")]
    first = CliRunner().invoke(cli, arguments)
    assert first.exit_code == 0, first.stderr
    assert "1 clip in" in first.stderr
    assert CliRunner().invoke(cli, arguments).exit_code == 5
    assert CliRunner().invoke(cli, [*arguments, "--force"]).exit_code == 0
    both = [*arguments, "--mode", "copy", "--overlay", "boxes"]
    assert CliRunner().invoke(cli, both).exit_code == 2
