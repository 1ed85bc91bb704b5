"""A result in a notebook: loaded again, drawn, and looked into frame by frame."""

import json
import re
import shutil

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import bgsub
from bgsub.errors import InputError, UsageError
from bgsub.pipeline.run import run
from tests.conftest import read_video


@pytest.fixture(scope="module")
def loaded(whole_run):
    return bgsub.load_results(str(whole_run.out))


def test_what_a_run_gave_is_loaded_again(whole_run, loaded):
    for given in (whole_run.out, whole_run.out / "run.json"):
        again = bgsub.load_results(given)
        assert again == whole_run.result
    assert repr(loaded).startswith("RunResult(out=")


@pytest.mark.parametrize("content", ["none", "compare"])
def test_what_is_no_run_is_refused(content, tmp_path):
    if content != "none":
        facts = {"schema_version": 1, "bgsub_version": "0.1.0", "command": content}
        (tmp_path / "run.json").write_text(json.dumps(facts))
    with pytest.raises(InputError, match=r"no finished results|written by bgsub compare"):
        bgsub.load_results(tmp_path)


class TestFrame:
    @pytest.mark.parametrize("number", [1, 33, 48])
    def test_the_pictures_are_those_of_the_files(self, whole_run, loaded, number):
        found = loaded.frame(number)
        rgb = whole_run.frames[number - 1][..., ::-1]
        np.testing.assert_array_equal(found.input, rgb)
        for view in ("background", "foreground"):
            stored = read_video(whole_run.out / f"{view}.mkv", "rgb24")[number - 1]
            np.testing.assert_array_equal(getattr(found, view), stored)
        mask = read_video(whole_run.out / "mask.mkv", "gray")[number - 1]
        np.testing.assert_array_equal(found.mask, mask)
        assert found.mask.shape == rgb.shape[:2]
        assert repr(found) == (
            f"<frame {number} at {(number - 1) / 25:g} s: input, background, foreground, mask>"
        )

    def test_of_left_out_frames_cropped_odd_pictures_and_other_formats(
        self, scene, save, options, tmp_path
    ):
        frames = scene()
        chosen = {"start": 5, "every": 4, "roi": (3, 2, 27, 21)}
        chosen |= {"outputs": {"background", "mask"}}
        for form in ("mp4", "png"):
            out = tmp_path / form
            result = run(save(frames), out, options(format=form, **chosen))
            found = result.frame(37)
            assert found.mask.shape == (21, 27)
            assert found.background.shape == (21, 27, 3)
            np.testing.assert_array_equal(found.input, frames[36][2:23, 3:30])
            assert found.mask[found.mask > 128].size > 20
            with pytest.raises(UsageError, match="used 11 frames from 5 to 45"):
                result.frame(36)
            with pytest.raises(UsageError, match="frame 99"):
                result.frame(99)

    def test_what_is_not_there_is_none_and_nothing_is_plotted(self, scene, save, options, tmp_path):
        path = save(scene(12, visit=8))
        result = run(path, tmp_path / "out", options(outputs={"mask"}))
        (tmp_path / "clip.npy").unlink()
        found = result.frame(10)
        assert found.input is found.background is found.foreground is None
        assert found.mask.any()
        with pytest.raises(InputError, match=r"wrote no errors\.csv; run it again"):
            result.plot()
        assert "<img" not in result._repr_html_()

    def test_without_the_footage_its_copy_is_read(self, scene, save, options, tmp_path):
        frames = scene(12, 36, 48, visit=8)
        run(save(frames), tmp_path / "r", options(outputs={"report"}))
        (tmp_path / "clip.npy").unlink()
        found, rgb = bgsub.load_results(tmp_path / "r").frame(10).input.astype(int), frames[9]
        assert found.shape == rgb.shape
        assert np.abs(found - rgb).mean() < 6

    def test_files_of_another_run_are_refused(self, whole_run, tmp_path):
        folder = shutil.copytree(whole_run.out, tmp_path / "r")
        shutil.copyfile(whole_run.out / "run.json", folder / "mask.mkv")
        with pytest.raises(InputError, match=r"mask\.mkv: does not hold the frames"):
            bgsub.load_results(folder).frame(3)


class TestPlot:
    def test_on_axes_that_are_given_and_on_new_ones(self, loaded):
        axes = Figure().subplots()
        assert loaded.plot(axes) is axes
        assert axes.get_xlim() == (0.5, 48.5)
        shown = next(line for line in axes.lines if line.get_label() == "outlier frame")
        assert shown.get_xdata().tolist() == list(range(33, 49))
        mpl.use("Agg")
        import matplotlib.pyplot as plt

        axes = loaded.plot()
        assert plt.gcf() is axes.figure
        plt.close(axes.figure)


class TestHtml:
    def test_it_shows_the_sentence_the_plot_and_the_events(self, loaded, whole_run):
        html = loaded._repr_html_()
        assert whole_run.result.findings[0] in html
        assert html.count('<img src="data:image/png;base64,') == 1
        events = json.loads((whole_run.out / "events.json").read_text())["events"]
        assert html.count("<tr><td>") == len(events) > 0
        assert "script" not in html

    def test_names_are_escaped(self, whole_run, loaded):
        from dataclasses import replace

        evil = "<img src=x onerror=alert(1)>&\"'"
        manifest = {**loaded.manifest, "input": {**loaded.manifest["input"], "name": evil}}
        html = replace(loaded, manifest={**manifest, "findings": [evil]})._repr_html_()
        assert evil not in html
        assert len(re.findall(r"<img", html)) == 1
