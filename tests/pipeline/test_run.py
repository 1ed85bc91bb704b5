"""The whole way from an input to results, as a user sees it."""

import csv
import hashlib
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from bgsub import __version__
from bgsub.errors import BgsubError, EmptySelectionError, InputError, UsageError
from bgsub.evaluation.masks import open_grey
from bgsub.fit import memory as memory_need
from bgsub.options import OUTPUTS, RunOptions
from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline import inputs
from bgsub.pipeline.results import describe
from bgsub.pipeline.run import apply, run
from bgsub.video.images import read_image, write_image
from bgsub.video.source import open_source
from tests.conftest import make_options, make_scene, read_video

VISITED = range(33, 49)
VIDEOS = ("background", "foreground", "mask")


def outlier_frames(out):
    with (out / "errors.csv").open() as file:
        return [int(row["frame"]) for row in csv.DictReader(file) if row["outlier"] == "1"]


def pictures_in(path):
    """All pictures of a video or a folder, grey, with as many bits as they have."""
    pictures = open_grey(str(path))
    return np.stack(list(pictures.pick(range(len(pictures)))))


def decoded(path, **selection):
    """Frames of an input as bgsub decodes them for lossless outputs."""
    return np.stack(
        [f.layout.to_bgr(f.data) for f in open_source(path, exact_color=True, **selection)]
    )


TIMED = ("run.json", "report.html")  # they say how many seconds the run has taken


@pytest.fixture(scope="module")
def preview(whole_run):
    return read_video(whole_run.out / "preview.mp4")


class TestWholeRun:
    def test_writes_what_it_says_and_nothing_else(self, whole_run):
        names = "background.mkv background.png foreground.mkv mask.mkv errors.csv errors.png"
        names += " model.npz preview.mp4 overlay.mp4 spectrum.png scores.mkv report.html input.mp4"
        names += (
            " objects.csv tracks.csv events.csv events.json heatmap.png heatmap.npy activity.csv"
        )
        written = {path.name for path in whole_run.out.iterdir()}
        assert written == {*names.split(), "run.json"}

    def test_every_video_has_every_frame(self, whole_run, preview, video):
        assert len(preview) == 48
        for name in ("background.mkv", "foreground.mkv", "mask.mkv", "overlay.mp4"):
            assert len(video(whole_run.out / name, "gray")) == 48

    def test_finds_the_visitor(self, whole_run, video):
        assert outlier_frames(whole_run.out) == list(VISITED)
        first, second, third = whole_run.result.findings
        assert first == "16 of 48 frames stand out from the background: 33-48"
        assert second.startswith("foreground in 16 of 48 frames, ")
        assert third == "1 object in 1 event, in sight for up to 0.6 s"
        mask = video(whole_run.out / "mask.mkv", "gray")
        assert set(np.unique(mask)) == {0, 255}
        assert not mask[:32].any()
        for index in (32, 40, 47):
            truth = np.zeros((24, 32), bool)
            top, left = 8 + index % 5, 8 + index % 7
            truth[top : top + 7, left : left + 7] = True
            found = mask[index] > 0
            assert (found & truth).sum() / (found | truth).sum() > 0.75

    def test_signed_foreground_gives_the_input_back(self, whole_run, video):
        background = video(whole_run.out / "background.mkv")
        foreground = video(whole_run.out / "foreground.mkv")
        back = foreground + background - np.uint8(128)
        np.testing.assert_array_equal(back, decoded(whole_run.path))

    def test_preview_has_a_bar_on_outlier_frames(self, preview):
        height, width = preview.shape[1:3]
        assert height % 2 == width % 2 == 0
        corner = preview[:, 2:24, -20:-2].astype(int).mean(axis=(1, 2))
        is_red = corner[:, 2] > corner[:, 0] + 80
        assert is_red.tolist() == [False] * 32 + [True] * 16

    def test_preview_shows_input_background_foreground_and_mask(self, whole_run, preview, video):
        shown = preview[40, 28:].astype(int)
        (left, right), (below_left, below_right) = (
            np.split(half, 2, axis=1) for half in np.split(shown, 2)
        )
        size = left.shape[1] / 32
        visitor = np.s_[round(9 * size) : round(14 * size), round(14 * size) : round(19 * size)]
        background = video(whole_run.out / "background.mkv")
        for panel, frames in ((left, whole_run.frames), (right, background)):
            expected = frames[40, 9:14, 14:19].mean(axis=(0, 1))
            assert np.abs(panel[visitor].mean(axis=(0, 1)) - expected).max() < 12
        assert np.abs(below_left[visitor] - 128).mean() > 30  # signed
        assert below_right[visitor].mean() > 230
        assert below_right[-20:, -20:].max() < 25

    def test_tells_its_progress(self, scene, save, options, tmp_path):
        told, film = [], save(scene(12, visit=9))
        chosen = options(outputs={"mask", "errors"})
        run(film, tmp_path / "out", chosen, progress=lambda *f: told.append(f))
        stages = list(dict.fromkeys(stage for stage, _, _ in told))
        assert stages == ["decode", "fit", "model", "write"]
        for stage in stages:
            done = [(d, total) for s, d, total in told if s == stage]
            assert done == sorted(done)
            assert done[-1][0] == done[-1][1]


class TestManifest:
    def test_names_the_versions(self, whole_run):
        manifest = whole_run.result.manifest
        assert manifest["schema_version"] == 1
        assert manifest["bgsub_version"] == manifest["versions"]["bgsub"] == __version__
        assert manifest["command"] == "run"
        assert {"numpy", "scipy", "av", "python"} <= set(manifest["versions"])

    def test_repeats_the_options(self, whole_run):
        manifest = whole_run.result.manifest
        assert RunOptions.from_json(manifest["options"]) == whole_run.options
        assert manifest["seed"] == 1
        assert 12 <= manifest["threshold"] <= 35
        assert manifest["cutoff"] > 0
        assert manifest["min_area"] >= 1

    def test_identifies_the_input(self, whole_run):
        data = Path(whole_run.path).read_bytes()
        facts = whole_run.result.manifest["input"]
        assert (facts["name"], facts["path"]) == ("clip.npy", whole_run.path)
        assert facts["size_bytes"] == len(data)
        assert facts["sha256"] == hashlib.sha256(data).hexdigest()
        assert (facts["width"], facts["height"]) == (32, 24)

    def test_says_how_the_fit_went(self, whole_run):
        manifest = whole_run.result.manifest
        assert len(manifest["objectives"]) == 10
        assert min(manifest["objectives"]) == manifest["objective"] > 0
        assert manifest["iterations"] >= 1
        assert manifest["converged"] is True
        assert {"decode", "fit", "model", "write"} <= set(manifest["stages_s"])
        assert all(seconds >= 0 for seconds in manifest["stages_s"].values())
        assert manifest["peak_memory_bytes"] > 10**7

    def test_is_what_the_result_says_and_fits_on_a_screen(self, whole_run, manifest_of):
        result = whole_run.result
        assert manifest_of(result.out) == result.manifest
        assert result.manifest["findings"] == result.findings
        assert result.manifest["hints"] == result.hints
        (event,) = result.manifest["events"]
        assert (event["first_frame"], event["last_frame"]) == (33, 48)
        assert len(repr(result)) < 2000

    def test_without_a_fit_nothing_is_known_of_outliers(self, save, scene, options, tmp_path):
        manifest = run(save(scene(12)), tmp_path / "out", options(outputs={"mask"})).manifest
        counts = {"decoded": 12, "used": 12, "bad": 0, "doubtful": 0}
        assert manifest["frames"] == counts | {"outliers": None, "after_scene_change": None}
        assert manifest["cutoff"] is manifest["events"] is manifest["scene_change"] is None
        assert manifest["mask_model"] == "local"
        assert not {"k", "score_level"} & set(manifest)

    def test_lists_the_outputs_with_sizes_and_checksums(self, whole_run):
        outputs = whole_run.result.manifest["outputs"]
        found = {p.name: describe(p) for p in whole_run.out.iterdir() if p.name != "run.json"}
        assert outputs == found


NAMES = {
    "background": "background.mp4",
    "still": "background.png",
    "foreground": "foreground.mp4",
    "mask": "mask.mp4",
    "errors": "errors.csv",
    "plot": "errors.png",
    "model": "model.npz",
    "objects": "objects.csv",
    "tracks": "tracks.csv",
    "events": "events.csv",
    "preview": "preview.mp4",
    "overlay": "overlay.mp4",
    "spectrum": "spectrum.png",
    "scores": "scores.mkv",
    "heatmap": "heatmap.png",
    "activity": "activity.csv",
    "report": "report.html",
}


@pytest.fixture(scope="module")
def all_of_it(tmp_path_factory):
    """A film, and all outputs of it."""
    folder = tmp_path_factory.mktemp("all")
    np.save(folder / "clip.npy", make_scene(9, visit=6))
    path = str(folder / "clip.npy")
    return path, run(path, folder / "out", make_options(outputs=OUTPUTS))


class TestOnly:
    @pytest.mark.parametrize("output", OUTPUTS)
    def test_each_alone_does_its_work_and_is_what_it_is_among_others(
        self, output, all_of_it, options, tmp_path
    ):
        stages, (film, whole) = set(), all_of_it
        among_others = whole.out
        chosen = options(outputs={output})
        run(film, tmp_path / "out", chosen, progress=lambda stage, *_: stages.add(stage))
        written = {path.name for path in (tmp_path / "out").iterdir()}
        more = {"events": "events.json", "report": "input.mp4", "heatmap": "heatmap.npy"}
        assert written == {NAMES[output], "run.json", *filter(None, [more.get(output)])}
        of_errors = ("errors", "plot", "spectrum")
        of_masks = ("mask", "still", "scores", "objects", "tracks", "events", "overlay", "report")
        of_masks += ("heatmap", "activity")
        expected = {"decode"} if output in of_masks else {"decode", "fit"}
        if output not in of_errors:
            expected.add("model")
        if output not in (*of_errors, "model"):
            expected.add("write")
        else:
            expected |= {"model", "errors"}
        assert stages == expected
        if output == "errors":  # alone, sums of products are enough
            ours, theirs = (
                read_csv(out / "errors.csv") for out in (tmp_path / "out", among_others)
            )
            np.testing.assert_allclose(ours.errors, theirs.errors, rtol=1e-9)
        elif output not in ("events", "report"):  # which say what is known of other outputs too
            ours, theirs = (out / NAMES[output] for out in (tmp_path / "out", among_others))
            assert ours.read_bytes() == theirs.read_bytes()

    def test_none_is_refused(self, scene, save, options, tmp_path):
        with pytest.raises(UsageError, match="names no output"):
            run(save(scene(n=9)), tmp_path / "out", options(outputs=()))
        assert not (tmp_path / "out").exists()


class TestFormats:
    def test_png_has_numbered_pictures_and_a_signed_foreground_that_is_exact(
        self, scene, images, options, tmp_path
    ):
        frames = scene(12, visit=9)
        out = tmp_path / "out"
        path = images(frames)
        run(path, out, options(format="png", foreground="signed", outputs=VIDEOS))
        read = {}
        for name in VIDEOS:
            files = sorted((out / name).iterdir())
            assert [f.name for f in files] == [f"{n:06d}.png" for n in range(1, 13)]
            read[name] = np.stack([read_image(f) for f in files])
        back = read["foreground"] + read["background"] - np.uint8(128)
        np.testing.assert_array_equal(back, frames[..., ::-1])
        assert set(np.unique(read["mask"])) == {0, 255}

    def test_signed_for_the_eye_is_grey_where_nothing_happens(
        self, scene, save, options, tmp_path, video
    ):
        chosen = options(foreground="signed", outputs={"foreground"})
        run(save(scene(12, visit=9)), tmp_path / "out", chosen)
        shown = video(tmp_path / "out" / "foreground.mp4").astype(int)
        assert np.abs(shown[5] - 128).mean() < 8
        assert np.abs(shown[10, 9:14, 12:17] - 128).mean() > 30

    def test_abs_shows_the_visitor_bright_on_dark_in_what_browsers_play(
        self, scene, save, options, tmp_path, video
    ):
        run(save(scene(12, visit=9)), tmp_path / "out", options(outputs={"foreground"}))
        with av.open(str(tmp_path / "out" / "foreground.mp4")) as container:
            codec = container.streams.video[0].codec_context
            assert (codec.name, codec.pix_fmt) == ("h264", "yuv420p")
        shown = video(tmp_path / "out" / "foreground.mp4")
        assert shown[5].mean() < 30
        assert shown[10, 9:14, 12:17].mean() > 150

    def test_cutout_shows_the_visitor_in_its_colours_on_black(
        self, scene, save, options, tmp_path, video
    ):
        chosen = options(foreground="cutout", format="mkv", outputs={"foreground", "mask"})
        frames = scene(12, visit=9)
        run(save(frames), tmp_path / "out", chosen)
        shown = video(tmp_path / "out" / "foreground.mkv")
        inside = video(tmp_path / "out" / "mask.mkv", "gray") > 0
        np.testing.assert_array_equal(shown[inside], frames[..., ::-1][inside])
        assert not shown[~inside].any()

    def test_odd_sizes_are_padded_and_noted(self, scene, save, options, tmp_path, video):
        path = save(scene(12, height=19, width=31, visit=9))
        for format_, shape, padded in (("mp4", (20, 32), True), ("mkv", (19, 31), False)):
            out = tmp_path / format_
            chosen = options(format=format_, outputs=VIDEOS, model="paper")
            assert run(path, out, chosen).manifest["padded_to_even_size"] is padded
            for name in VIDEOS:
                assert video(out / f"{name}.{format_}").shape[1:3] == shape

    def test_grey_stays_grey_and_colour_can_be_made_grey(
        self, scene, save, options, tmp_path, video
    ):
        path = save(scene(12, visit=9))
        chosen = {"outputs": {"background"}, "model": "paper"}
        run(path, tmp_path / "a", options(**chosen))
        run(path, tmp_path / "b", options(**chosen, color="gray"))
        assert np.ptp(video(tmp_path / "a" / "background.mp4").astype(int), axis=3).max() > 40
        assert np.ptp(video(tmp_path / "b" / "background.mp4").astype(int), axis=3).max() <= 2

    def test_all_layouts_give_consistent_masks(self, scene, encode, options, tmp_path, video):
        path = encode(scene(12, visit=9))
        ways = {"yuv420": {"format": "mp4"}, "bgr": {"format": "mkv"}, "gray": {"color": "gray"}}
        masks = {}
        for name, changes in ways.items():
            result = run(path, tmp_path / name, options(outputs={"mask", "errors"}, **changes))
            assert result.manifest["frames"]["outliers"] == 3
            suffix = changes.get("format", "mp4")
            masks[name] = video(tmp_path / name / f"mask.{suffix}", "gray") > 127
            assert masks[name][:9].mean() < 0.01
        yuv420, bgr, gray = (masks[name][9:] for name in ways)
        assert (yuv420 & bgr).sum() / (yuv420 | bgr).sum() > 0.85
        # Colour tells more than luma alone, and the codec smears it over the edges.
        assert (gray & bgr).sum() / gray.sum() > 0.9


class TestReproducibility:
    def test_the_manifest_repeats_the_run_with_other_threads_too(
        self, all_of_it, tmp_path, contents
    ):
        path, result = all_of_it
        options = RunOptions.from_json(result.manifest["options"] | {"threads": 2})
        run(path, tmp_path / "again", options)
        ours, theirs = contents(tmp_path / "again"), contents(result.out)
        for name in TIMED:
            del ours[name], theirs[name]
        assert ours == theirs


class TestSelection:
    def test_frames_keep_the_numbers_and_times_of_the_input(
        self, scene, save, options, tmp_path, video
    ):
        path = save(scene(n=60, visit=99))
        outputs = {"errors", "background"}
        chosen = options(start=11, end=50, every=3, format="mkv", outputs=outputs, model="paper")
        result = run(path, tmp_path / "out", chosen)
        table = read_csv(tmp_path / "out" / "errors.csv")
        assert table.frames.tolist() == list(range(11, 51, 3))
        np.testing.assert_allclose(table.times, (table.frames - 1) / 25)
        assert len(video(tmp_path / "out" / "background.mkv")) == 14
        assert result.manifest["frames"]["used"] == 14

    def test_outliers_have_the_numbers_of_the_input(self, scene, save, options, tmp_path):
        chosen = options(start=11, outputs={"errors"})
        result = run(save(scene(n=60, visit=48)), tmp_path / "out", chosen)
        assert outlier_frames(tmp_path / "out") == list(range(49, 61))
        assert result.findings[0].endswith(": 49-60")

    def test_nothing_selected(self, scene, save, options, tmp_path):
        with pytest.raises(EmptySelectionError):
            run(save(scene(n=9)), tmp_path / "out", options(start=50))
        assert not (tmp_path / "out").exists()

    def test_roi_and_scale(self, scene, save, options, tmp_path, video):
        path = save(scene(12, visit=9))
        outputs = {"mask", "errors"}
        chosen = options(roi=(4, 4, 24, 20), scale=0.5, format="mkv", outputs=outputs)
        result = run(path, tmp_path / "out", chosen)
        assert result.manifest["frame_size"] == [12, 10]
        assert result.manifest["input"]["width"] == 32
        assert video(tmp_path / "out" / "mask.mkv").shape[1:3] == (10, 12)
        assert outlier_frames(tmp_path / "out") == [10, 11, 12]


class TestMaskImage:
    @pytest.fixture
    def outside(self, tmp_path):
        """Left of column 7; the visitor never gets there."""
        outside = np.zeros((24, 32), bool)
        outside[:, :7] = True
        write_image(tmp_path / "mask.png", np.where(outside, 0, 255).astype(np.uint8))
        return outside

    @pytest.fixture
    def restless(self, scene, outside):
        """The scene with noise where the mask leaves it out."""
        frames = scene(12, visit=9)
        noise = np.random.default_rng(3).integers(0, 256, frames.shape, dtype=np.uint8)
        frames[:, outside] = noise[:, outside]
        return frames

    def test_pixels_outside_do_not_influence_the_fit(
        self, scene, restless, save, options, tmp_path
    ):
        chosen = options(mask_image=str(tmp_path / "mask.png"), outputs={"errors"})
        run(save(scene(12, visit=9), "calm.npy"), tmp_path / "calm", chosen)
        run(save(restless, "restless.npy"), tmp_path / "restless", chosen)
        calm, other = (tmp_path / name / "errors.csv" for name in ("calm", "restless"))
        assert calm.read_bytes() == other.read_bytes()
        assert outlier_frames(tmp_path / "calm") == [10, 11, 12]
        table = read_csv(calm)
        assert table.pixels == 24 * 25

    def test_they_stay_as_they_are_and_are_never_foreground(
        self, restless, outside, save, options, tmp_path, video
    ):
        chosen = {"format": "mkv", "foreground": "signed", "outputs": VIDEOS}
        chosen = options(mask_image=str(tmp_path / "mask.png"), **chosen)
        run(save(restless), tmp_path / "out", chosen)
        given = restless[..., ::-1]
        background = video(tmp_path / "out" / "background.mkv")
        np.testing.assert_array_equal(background[:, outside], given[:, outside])
        assert (background[10, ~outside] != given[10, ~outside]).any()
        mask = video(tmp_path / "out" / "mask.mkv", "gray")
        assert not mask[:, outside].any()
        assert mask[10:, ~outside].any(axis=1).all()
        foreground = video(tmp_path / "out" / "foreground.mkv")
        assert (foreground[:, outside] == 128).all()

    def test_of_another_size_is_refused(self, scene, save, options, tmp_path):
        write_image(tmp_path / "mask.png", np.full((10, 10), 255, np.uint8))
        with pytest.raises(UsageError, match=r"mask\.png"):
            run(save(scene(n=9)), tmp_path / "out", options(mask_image=str(tmp_path / "mask.png")))


class TestIgnore:
    """A clock that changes all the time, in a corner that the visitor never reaches."""

    @pytest.fixture
    def clock(self, tmp_path):
        shown = np.zeros((24, 32), bool)
        shown[14:22, 22:31] = True
        write_image(tmp_path / "clock.png", shown.astype(np.uint8) * 255)
        return shown

    @pytest.fixture
    def clip(self, scene, clock, save):
        frames = scene(12, visit=8)
        noise = np.random.default_rng(3).normal(128, 30, frames.shape)
        frames[:, clock] = noise[:, clock].clip(0, 255)
        return save(frames)

    @pytest.mark.parametrize("model", ["paper", "local"])
    def test_ignored_pixels_are_never_foreground(self, model, clip, clock, options, tmp_path):
        chosen = options(model=model, format="png", outputs={"mask", "scores"}, min_area=0)
        run(clip, tmp_path / "all", chosen)
        assert pictures_in(tmp_path / "all" / "scores")[:, clock].any()
        chosen = replace(chosen, ignore=str(tmp_path / "clock.png"))
        run(clip, tmp_path / "some", chosen)
        for name in ("mask", "scores"):
            found = pictures_in(tmp_path / "some" / name)
            assert not found[:, clock].any()
            assert found[9:, ~clock].any(axis=1).all()

    def test_they_do_not_raise_the_threshold(self, clip, scene, save, options, tmp_path):
        path = save(scene(12, visit=8), "calm.npy")
        calm = run(path, tmp_path / "calm", options(model="paper", outputs={"mask"}))
        found = run(clip, tmp_path / "all", options(model="paper", outputs={"mask"}))
        assert found.manifest["threshold"] > calm.manifest["threshold"] + 10
        chosen = options(model="paper", outputs={"mask"}, ignore=str(tmp_path / "clock.png"))
        found = run(clip, tmp_path / "some", chosen)
        assert found.manifest["threshold"] == pytest.approx(calm.manifest["threshold"], abs=2)
        assert found.manifest["options"]["ignore"] == str(tmp_path / "clock.png")

    def test_a_saved_model_ignores_them_too_unless_told_what_else(
        self, clip, clock, options, tmp_path
    ):
        chosen = options(outputs={"model"}, ignore=str(tmp_path / "clock.png"))
        run(clip, tmp_path / "fit", chosen)
        model, masks = tmp_path / "fit" / "model.npz", options(outputs={"scores"}, format="png")
        apply(model, clip, tmp_path / "same", masks)
        found = pictures_in(tmp_path / "same" / "scores")
        assert not found[:, clock].any()
        assert found[:, :20].any()
        top = np.zeros(clock.shape, np.uint8)
        top[:20] = 255
        write_image(tmp_path / "top.png", top)
        apply(model, clip, tmp_path / "own", replace(masks, ignore=str(tmp_path / "top.png")))
        found = pictures_in(tmp_path / "own" / "scores")
        assert not found[:, :20].any()
        assert found[:, clock].any()
        write_image(tmp_path / "none.png", np.zeros(clock.shape, np.uint8))
        own = replace(masks, outputs=frozenset({"model", "scores"}))
        own = replace(own, ignore=str(tmp_path / "none.png"))
        apply(model, clip, tmp_path / "all", own)
        assert pictures_in(tmp_path / "all" / "scores")[:, clock].any()
        apply(tmp_path / "all" / "model.npz", clip, tmp_path / "more", masks)
        assert pictures_in(tmp_path / "more" / "scores")[:, clock].any()

    def test_a_picture_that_leaves_nothing_is_refused(self, clip, options, tmp_path):
        write_image(tmp_path / "all.png", np.full((24, 32), 255, np.uint8))
        chosen = options(ignore=str(tmp_path / "all.png"))
        with pytest.raises(EmptySelectionError, match=r"all\.png: the ignore image leaves no"):
            run(clip, tmp_path / "out", chosen)
        assert not (tmp_path / "out").exists()


class TestMasks:
    def shares(self, scene, save, options, tmp_path, video, **changes):
        chosen = options(outputs={"mask"}, format="mkv", **changes)
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        run(save(scene(12, visit=8, noise=6)), out, chosen)
        mask = video(out / "mask.mkv", "gray") > 0
        return mask[:8].mean(), mask[8:].mean()

    def test_threshold_smallest_area_and_cleaning_are_the_users(
        self, scene, save, options, tmp_path, video
    ):
        given = (scene, save, options, tmp_path, video)
        calm, visited = self.shares(*given)
        assert calm == 0
        assert visited > 0.02
        assert self.shares(*given, threshold=255.0) == (0, 0)
        assert self.shares(*given, threshold=5.0, clean=False)[0] > 0.3
        assert self.shares(*given, threshold=14.0, clean=False)[0] > 0
        assert self.shares(*given, min_area=500) == (0, 0)


class TestScores:
    @pytest.mark.parametrize("format_", ["mp4", "mkv", "png"])
    def test_cut_at_their_level_they_are_the_masks(self, format_, scene, save, options, tmp_path):
        chosen = options(outputs={"mask", "scores"}, format=format_, min_area=0, model="paper")
        film = save(scene(12, height=19, width=31, visit=8, noise=6))
        result = run(film, tmp_path / "out", chosen)
        name = "scores" if format_ == "png" else "scores.mkv"
        assert name in result.manifest["outputs"]
        assert result.manifest["frames_written"]["scores"] == 12
        scores = pictures_in(tmp_path / "out" / name)
        assert scores.dtype == np.uint16
        marked = scores >= result.manifest["score_level"]
        assert marked[9:].any()
        mask = tmp_path / "out" / ("mask" if format_ == "png" else f"mask.{format_}")
        np.testing.assert_array_equal(marked, pictures_in(mask)[:, :19, :31] > 127)


class TestCutoff:
    def test_the_cutoff_decides_which_frames_are_outliers(self, scene, save, options, tmp_path):
        path = save(scene(12, visit=9))
        high = run(path, tmp_path / "high", options(cutoff=1e9, outputs={"errors"}))
        assert high.findings == ["none of 12 frames stands out from the background"]
        assert outlier_frames(tmp_path / "high") == []
        assert high.manifest["cutoff"] == 1e9


class TestBadFrames:
    def test_are_left_out_counted_and_named(self, scene, images, options, tmp_path):
        path = images(scene(15, visit=12), broken=(5, 8))
        result = run(path, tmp_path / "out", options(outputs={"errors", "mask"}))
        counts = result.manifest["frames"]
        assert (counts["decoded"], counts["used"], counts["bad"]) == (13, 13, 2)
        assert counts["outliers"] == 3
        assert [bad["frame"] for bad in result.manifest["bad_frames"]] == [5, 8]
        assert all(bad["reason"] for bad in result.manifest["bad_frames"])
        assert "2 damaged frames left out: 5, 8" in result.findings
        frames = read_csv(tmp_path / "out" / "errors.csv").frames.tolist()
        assert frames == [n for n in range(1, 16) if n not in (5, 8)]

    def test_are_replaced_by_the_one_before(self, scene, images, options, tmp_path, video):
        path = images(scene(12, visit=9), broken=(5,))
        chosen = {"on_bad_frame": "repeat", "format": "mkv", "outputs": {"background"}}
        chosen = options(**chosen, model="paper")
        result = run(path, tmp_path / "out", chosen)
        assert "1 damaged frame replaced by the one before: 5" in result.findings
        shown = video(tmp_path / "out" / "background.mkv")
        assert len(shown) == 12
        np.testing.assert_array_equal(shown[3], shown[4])

    def test_are_fatal_when_asked(self, scene, images, options, tmp_path):
        path = images(scene(n=40, visit=30), broken=(5,))
        with pytest.raises(InputError, match="frame 5"):
            run(path, tmp_path / "out", options(on_bad_frame="fail"))
        assert not (tmp_path / "out").exists()

    def test_an_unreadable_picture_that_is_not_selected_does_no_harm(
        self, scene, images, options, tmp_path
    ):
        path = images(scene(24, visit=18), broken=(5,))
        result = run(path, tmp_path / "out", options(start=11, outputs={"errors"}))
        assert result.manifest["frames"]["bad"] == 0


class TestDegenerateVideos:
    def result(self, frames, tmp_path, save, options, **changes):
        chosen = {"outputs": {*VIDEOS, "errors"}, "format": "mkv"} | changes
        return run(save(frames), tmp_path / "out", options(**chosen))

    @pytest.mark.parametrize(
        ("shape", "outputs"),
        [
            ((12, 16), {*VIDEOS, "errors"}),
            ((1, 1), OUTPUTS),
            ((12, 1, 3), {*OUTPUTS} - {"plot", "spectrum", "preview"}),
        ],
    )
    def test_constant(self, shape, outputs, tmp_path, save, options, video):
        frames = np.full((10, *shape), 77, np.uint8)
        result = self.result(frames, tmp_path, save, options, outputs=outputs)
        assert result.manifest["frames"]["outliers"] == 0
        assert result.manifest["components"] == 0
        assert any("all alike" in hint for hint in result.hints)
        background = video(tmp_path / "out" / "background.mkv")
        assert (background == 77).all()
        assert not video(tmp_path / "out" / "mask.mkv", "gray").any()

    @pytest.mark.parametrize("whole", [True, False])
    def test_all_frames_equal_but_one(self, whole, tmp_path, save, options, video):
        frames = np.full((20, 12, 16), 77, np.uint8)
        if whole:
            frames[12] = 200
        else:
            frames[12, 3:9, 4:10] = 200
        result = self.result(frames, tmp_path, save, options)
        # A picture that is brighter everywhere has another light, but nothing foreign.
        assert outlier_frames(tmp_path / "out") == ([] if whole else [13])
        if not whole:
            assert result.findings[0] == "1 of 20 frames stands out from the background: 13"
        assert (video(tmp_path / "out" / "background.mkv", "gray") == 77).all()
        mask = video(tmp_path / "out" / "mask.mkv", "gray")
        assert mask[12].any() != whole
        assert not mask[[*range(12), *range(13, 20)]].any()
        table = read_csv(tmp_path / "out" / "errors.csv")
        assert all(map(math.isfinite, table.scores))

    def test_two_frames(self, tmp_path, save, options, video):
        frames = np.full((2, 12, 16), 77, np.uint8)
        frames[1, :6] = 90
        assert self.result(frames, tmp_path, save, options, k=1).manifest["frames"]["used"] == 2
        assert len(video(tmp_path / "out" / "background.mkv")) == 2

    @pytest.mark.parametrize("k", [9, 10, 300])
    def test_a_rank_of_the_number_of_frames_and_above(self, k, tmp_path, save, options, scene):
        with pytest.raises(
            UsageError, match=f"--k {k} is too much for 9 frames.*use --k 1 or less"
        ):
            self.result(scene(n=9), tmp_path, save, options, k=k)
        assert not (tmp_path / "out").exists()

    def test_nothing_but_noise(self, tmp_path, save, options):
        frames = np.random.default_rng(0).integers(0, 256, (20, 12, 16, 3), dtype=np.uint8)
        assert self.result(frames, tmp_path, save, options, model="paper").hints

    def test_16_bit(self, tmp_path, save, options, scene):
        frames = scene(color=False).astype(np.uint16) * 256
        self.result(frames, tmp_path, save, options, outputs={"errors"})
        assert outlier_frames(tmp_path / "out") == list(VISITED)


class TestMemory:
    def test_a_sample_that_is_decoded_again_gives_the_same_masks(
        self, scene, save, options, tmp_path, monkeypatch
    ):
        path, chosen = save(scene(170, 16, 24, visit=120)), options(outputs={"mask"})
        need = inputs.memory_need(inputs.open_input(path, chosen), chosen, 170)
        too_little = need.total("memory", 30) - 1
        monkeypatch.setattr("bgsub.fit.memory.free_space", lambda folder: 0)
        found = []
        for name, memory in (("memory", None), ("sample", str(too_little))):
            result = run(path, tmp_path / name, replace(chosen, memory=memory))
            assert result.manifest["memory"]["frames_kept"] == name
            found.append((tmp_path / name / "mask.mp4").read_bytes())
        assert found[0] == found[1]

    def test_all_frames_are_fitted_where_a_sample_would_be(
        self, scene, save, options, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(inputs, "AUTO_FIT_FRAMES", 20)
        monkeypatch.setattr(memory_need, "AUTO_FIT_FRAMES", 20)
        path, chosen = save(scene()), options(outputs={"errors"})
        assert run(path, tmp_path / "some", chosen).manifest["fit_frames"] == 20
        result = run(path, tmp_path / "all", replace(chosen, fit_frames="all"))
        assert result.manifest["fit_frames"] == 48
        assert result.manifest["options"]["fit_frames"] == "all"

    def test_a_sample_of_fit_frames_is_enough_for_the_rest(
        self, scene, save, options, tmp_path, video
    ):
        outputs = {"background", "errors", "mask"}
        chosen = options(fit_frames=9, format="mkv", threads=2, outputs=outputs)
        result = run(save(scene(16, visit=12)), tmp_path / "out", chosen)
        assert result.manifest["fit_frames"] == 9
        assert len(video(tmp_path / "out" / "background.mkv")) == 16
        assert set(range(13, 17)) == set(outlier_frames(tmp_path / "out"))


@pytest.mark.parametrize(
    ("name", "data"),
    [("none.avi", None), ("empty.avi", b""), ("text.avi", b"hello world\n" * 99), ("a.npy", b"no")],
)
def test_an_input_that_is_none_is_named_and_leaves_nothing(name, data, tmp_path, options):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BgsubError, match=name.replace(".", r"\.")) as caught:
        run(str(path), tmp_path / "new" / "out", options())
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_names_that_are_not_ascii(tmp_path, scene, images, options):
    path = images(scene(12, visit=9), name="Büro 会議")
    out = tmp_path / "Ergebnis ä 🎥"
    run(path, out, options(format="png", outputs={"background", "errors", "plot"}))
    assert (out / "background" / "000012.png").is_file()
    assert (out / "run.json").is_file()


def test_masks_do_without_what_takes_long_to_import_and_figures_without_pyplot(
    scene, save, tmp_path
):
    """Pyplot would look for a display, and keep every figure in memory."""
    heavy = {"scipy", "matplotlib", "numpy.testing", "concurrent.futures.process"}
    heavy |= {f"bgsub.{name}" for name in ("fit.frame_fit", "robustpca.trpca")}
    heavy |= {f"bgsub.{name}" for name in ("tracking.recorder", "background.model")}
    code = (
        "import sys; from bgsub.cli import main\n"
        "try: main()\n"
        "finally:\n"
        f"    print(sorted({heavy}.intersection(sys.modules)))\n"
        "    import bgsub.report.plots; print('matplotlib.pyplot' in sys.modules)"
    )
    arguments = ["run", save(scene(n=9)), "--only", "mask", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["[]", "False"]


def test_opencv_has_its_threads_back_after_a_run(opencv_threads, scene, save, options, tmp_path):
    run(save(scene(n=9)), tmp_path / "out", options(outputs={"mask"}, threads=2))
    assert cv2.getNumThreads() == opencv_threads
