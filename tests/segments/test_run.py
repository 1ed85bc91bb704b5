"""A film in segments is one folder of results, whatever happened on the way."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

import bgsub
from bgsub.background.model import BackgroundModel
from bgsub.errors import OutputError, UsageError
from bgsub.pipeline.run import run as run_as_one
from bgsub.segments.plan import segment_folder
from bgsub.segments.run import run, run_segment
from bgsub.video.images import read_image
from tests.conftest import make_options, make_scene

OUTPUTS = {
    *("background", "foreground", "mask", "errors", "plot", "model"),
    *("objects", "tracks", "events"),
}


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.npy"
    frames = make_scene(100, visit=40)
    frames[75:] = make_scene(100, visit=100)[75:]
    np.save(path, frames)
    return str(path)


@pytest.fixture
def chosen(options):
    return options(segment=50, outputs=OUTPUTS, format="mkv")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the first segment of an undisturbed run is kept."""
    return tmp_path_factory.mktemp("kept") / "first"


@pytest.fixture(scope="module")
def whole(film, kept, tmp_path_factory):
    """A run in segments that nothing disturbed: its folder, what it gave, and its progress."""
    out, seen = tmp_path_factory.mktemp("whole") / "out", []

    def progress(*call):
        if call[0].startswith("frames · segment 2") and not kept.exists():
            shutil.copytree(segment_folder(out, 1), kept)
        seen.append(call)

    chosen = make_options(segment=50, outputs=OUTPUTS, format="mkv")
    return out, run(film, out, chosen, progress=progress), seen


def stable(contents):
    """Files of a folder but run.json, which holds times."""
    return {name: data for name, data in contents.items() if name != "run.json"}


def test_frames_and_rows_are_those_of_the_film_in_their_order(whole, film, video, manifest_of):
    out, result, _ = whole
    frames = np.load(film)[..., ::-1]
    foreground = video(out / "foreground.mkv")
    background = video(out / "background.mkv")
    assert foreground.shape == background.shape == frames.shape
    assert video(out / "mask.mkv").shape == frames.shape
    assert np.abs(background.astype(int) - frames).mean(axis=(1, 2, 3)).max() < 12
    with (out / "errors.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["frame"]) for row in rows] == list(range(1, 101))
    assert float(rows[-1]["time_s"]) == pytest.approx(99 / 25)
    facts = manifest_of(out)
    spans = [(each["first"], each["last"], each["reason"]) for each in facts["segments"]]
    assert spans == [(1, 50, "beginning"), (51, None, "after 50 frames")]
    assert facts["frames"]["used"] == 100
    assert facts["frames_written"]["mask"] == 100
    assert facts["input"]["path"] == film
    assert not (out / ".segments").exists()
    assert result.manifest["outputs"].keys() == {path.name for path in out.iterdir()} - {"run.json"}


ALONE = {"outputs": {"background", "mask", "model", "errors"}, "fit_frames": "all"}


@pytest.fixture(scope="module")
def borrowing_nothing(film, tmp_path_factory):
    """A run whose segments are fitted alone, with a page, an overlay and a spectrum."""
    outputs = ALONE["outputs"] | {"overlay", "spectrum", "report"}
    chosen = make_options(segment=50, format="png", **ALONE | {"outputs": outputs})
    return run(film, tmp_path_factory.mktemp("alone") / "out", chosen)


def pictures(folder):
    """All pictures of a folder, whose names are checked, as videos are read: BGR."""
    files = sorted(folder.iterdir())
    assert [path.name for path in files] == [f"{number:06d}.png" for number in range(1, 101)]
    read = [read_image(path) for path in files]
    return np.stack(
        [cv2.cvtColor(one, cv2.COLOR_GRAY2BGR) if one.ndim == 2 else one for one in read]
    )


def test_a_segment_that_borrows_nothing_is_what_an_ordinary_run_of_it_gives(
    borrowing_nothing, film, options, tmp_path, video
):
    out = borrowing_nothing.out
    alone = run_as_one(film, tmp_path / "two", options(start=51, format="mkv", **ALONE))
    for name in ("background", "mask"):
        part = pictures(out / name)[50:100]
        np.testing.assert_array_equal(part, video(alone.out / f"{name}.mkv"))
    ours = (out / "errors.csv").read_text().splitlines()
    assert ours[51:101] == (alone.out / "errors.csv").read_text().splitlines()[1:]
    model = BackgroundModel.load(out / "models" / "0002.npz")
    assert model.threshold == BackgroundModel.load(alone.out / "model.npz").threshold


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """Somebody who stands still from a little before the second segment to behind its end."""
    path = tmp_path_factory.mktemp("film") / "visited.npy"
    frames = make_scene(150, visit=150)
    frames[45:105, 10:24, 20:30] = (220, 200, 70)
    np.save(path, frames)
    return str(path)


class TestNeighbours:
    """What a fit sees beyond the borders of its segment."""

    @pytest.mark.parametrize("outputs", [{"mask"}, {"mask", "background"}])
    def test_who_stands_through_a_segment_is_no_background(
        self, visited, outputs, options, tmp_path, video
    ):
        out, chosen = tmp_path / "out", options(segment=50, outputs=outputs, format="mkv")
        with pytest.raises(OutputError, match="2 of 3 segments are missing"):
            run(visited, out, chosen, work=lambda _plan, _numbers: run_segment(out, 2))
        masks = video(segment_folder(out, 2) / "mask.mkv", "gray")
        inside = masks[:, 11:23, 21:29] > 0
        assert np.median(inside.mean(axis=(1, 2))) > 0.9
        outside = masks.copy()
        outside[:, 6:28, 16:34] = 0
        assert (outside > 0).mean() < 0.01
        if "background" in outputs:
            there = video(segment_folder(out, 2) / "background.mkv")[:, 11:23, 21:29]
            empty = np.load(visited)[:40, 11:23, 21:29, ::-1].mean(axis=0)
            assert np.abs(there - empty).mean() < 20 < np.abs(there - [70, 200, 220]).mean()

    def test_masks_differ_no_more_at_a_border_than_with_one_fit(
        self, whole, film, options, tmp_path, video
    ):
        run(film, tmp_path, options(segment="off", outputs={"mask"}, format="mkv"))
        found = [video(out / "mask.mkv", "gray") for out in (whole[0], tmp_path)]
        in_segments, as_one = (np.mean(masks[50] != masks[49]) for masks in found)
        assert in_segments <= 1.1 * as_one + 0.002


def test_who_walks_on_over_a_border_is_one_object(whole):
    events = json.loads((whole[0] / "events.json").read_text())["events"]
    assert any(event["first_frame"] <= 43 and event["last_frame"] >= 73 for event in events)


def test_results_are_loaded_and_shown_as_those_of_any_run(whole):
    loaded = bgsub.load_results(whole[0])
    assert loaded.frame(80).mask is not None
    assert loaded.plot() is not None
    assert loaded._repr_html_()


def test_other_formats_are_joined_too(borrowing_nothing, film, options, tmp_path, video):
    zarr = pytest.importorskip("zarr")
    assert len(video(borrowing_nothing.out / "overlay.mp4")) == 100
    assert len(pictures(borrowing_nothing.out / "background")) == 100
    out, parts = tmp_path / "zarr", []

    def background_in(folder):
        return zarr.open_array(store=str(folder / "background.zarr"), mode="r")[:]

    def work(plan, numbers):
        for number in numbers:
            run_segment(out, number)
            parts.append(background_in(segment_folder(out, number)))

    chosen = options(segment=50, format="zarr", model="paper", outputs={"background"})
    run(film, out, chosen, work=work)
    assert [len(part) for part in parts] == [50, 50]
    np.testing.assert_array_equal(background_in(out), np.concatenate(parts))


def test_a_film_that_is_too_short_is_run_as_one(scene, save, options, tmp_path, contents):
    path = save(scene(24, visit=18))
    chosen = {"outputs": {"errors"}}
    run(path, tmp_path / "a", options(segment=50, **chosen))
    run(path, tmp_path / "b", options(**chosen))
    assert stable(contents(tmp_path / "a")) == stable(contents(tmp_path / "b"))


def test_spectrum_and_page_are_of_the_film(borrowing_nothing):
    names = borrowing_nothing.manifest["outputs"].keys()
    assert {"spectrum.png", "report.html", "input.mp4"} <= names
    assert "film.npy" in (borrowing_nothing.out / "report.html").read_text()


@pytest.fixture(scope="module")
def first_alone(film, whole, kept, tmp_path_factory):
    out = tmp_path_factory.mktemp("stopped") / "out"

    def work(plan, numbers):
        shutil.copytree(kept, segment_folder(out, numbers[0]), dirs_exist_ok=True)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(film, out, make_options(segment=50, outputs=OUTPUTS, format="mkv"), work=work)
    return out


class TestStopped:
    @pytest.fixture
    def stopped(self, first_alone, tmp_path):
        """A run that stopped when its first segment was finished."""
        return Path(shutil.copytree(first_alone, tmp_path / "out"))

    def test_goes_on_to_the_same_bytes(self, stopped, whole, film, options, contents):
        """What a killed process left in a segment is removed."""
        left = segment_folder(stopped, 2) / ".bgsub-partial-killed"
        left.mkdir(parents=True)
        (left / "mask.mkv").write_bytes(b"half")
        before = (segment_folder(stopped, 1) / "run.json").stat().st_mtime_ns
        numbers = []

        def work(plan, missing):
            numbers.extend(missing)
            assert (segment_folder(stopped, 1) / "run.json").stat().st_mtime_ns == before
            for number in missing:
                run_segment(stopped, number)

        chosen = options(segment=50, outputs=OUTPUTS, format="mkv", resume=True)
        run(film, stopped, chosen, work=work)
        assert numbers == [2]
        assert not list(stopped.rglob(".bgsub-partial-*"))
        assert stable(contents(stopped)) == stable(contents(whole[0]))

    def test_is_not_lost_by_a_run_that_does_not_say_so(self, stopped, film, chosen):
        with pytest.raises(OutputError, match=r"1 of 2 segments.*--resume.*--force"):
            run(film, stopped, chosen)
        assert (segment_folder(stopped, 1) / "run.json").exists()

    def test_is_not_mixed_with_other_options(self, stopped, film, options):
        with pytest.raises(OutputError, match="other options"):
            run(film, stopped, options(segment=50, outputs=OUTPUTS, resume=True))

    def test_is_begun_anew_with_force(self, stopped, film, options, caplog):
        def work(plan, numbers):
            assert numbers == [1, 2]
            assert not list(segment_folder(stopped, 1).glob("*"))
            for number in numbers:
                run_segment(stopped, number)

        chosen = options(segment=50, outputs={"errors"}, force=True)
        with caplog.at_level("INFO", "bgsub.notes"):
            run(film, stopped, chosen, work=work)
        assert any("removed the segments" in record.message for record in caplog.records)
        assert {path.name for path in stopped.iterdir()} == {"errors.csv", "run.json"}


def test_results_of_an_earlier_run_are_replaced_with_force_alone(whole, film, options):
    with pytest.raises(OutputError, match="--force"):
        run(film, whole[0], options(segment=50, outputs=OUTPUTS, format="mkv"))


def test_nothing_is_joined_while_a_segment_is_missing(film, options, tmp_path):
    with pytest.raises(OutputError, match=r"2 of 2 segments are missing"):
        run(film, tmp_path / "out", options(segment=50), work=lambda _plan, _numbers: None)


def test_resume_is_for_segments(options):
    with pytest.raises(UsageError, match="--segment"):
        options(resume=True, segment="off")


def test_progress_counts_the_whole_film(whole):
    seen = whole[2]
    assert {stage.partition(" · ")[0] for stage, _, _ in seen} == {"frames"}
    assert {total for _, _, total in seen} == {100}
    done = [count for _, count, _ in seen]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 100)
    details = [stage.partition(" · ")[2] for stage, _, _ in seen]
    assert "segment 1 of 2, decode 50 of 50" in details
    assert details[-1] == "segment 2 of 2, write 50 of 50"
