"""Masks are the same whoever makes them: this process, its threads or others."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bgsub.local.looking import make_looker
from bgsub.local.sampling import PictureSample

import bgsub
from bgsub.fit.memory_plan import make_plan
from bgsub.pipeline import looking
from bgsub.pipeline.inputs import memory_need, open_input
from bgsub.pipeline.looking import call_frames, helper_bytes, helpers_worth
from bgsub.pipeline.mask_kinds import LocalMasker, ResidualMasker
from bgsub.pipeline.streaming import masks
from bgsub.runtime import helpers as processes
from bgsub.runtime.helpers import Helpers
from bgsub.video.frames import Layout
from bgsub.video.images import write_image

SMALL = Layout("yuv420", 240, 320)


@pytest.fixture
def eager(monkeypatch):
    """Start processes for any film, and hand over few frames at a time; counts those started."""
    started = []

    class Counted(Helpers):
        def __init__(self, count, modules):
            super().__init__(count, modules)
            started.append(count)

    monkeypatch.setattr(looking, "_WORTH_S", 0.001)
    monkeypatch.setattr(looking, "_CALL_PIXELS", 5000)
    monkeypatch.setattr("bgsub.runtime.threads.Helpers", Counted)
    return started


@pytest.fixture
def patient(monkeypatch):
    """Let nothing be computed here that a process can compute."""

    def wait(self, task):
        with self._changed:
            while not task.is_done:
                assert self._changed.wait(60)
        return task.value

    monkeypatch.setattr(Helpers, "result", wait)


FOOTAGE = {
    "colour": {},
    "colour as RGB": {"format": "mkv"},
    "grey": {"color": "gray"},
    "a part": {"roi": (3, 5, 31, 27)},
    "some pixels": {"ignore": "region"},
}


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("case", FOOTAGE)
def test_bytes_are_those_of_one_process(case, scene, encode, tmp_path, options, eager):
    clip, chosen = encode(scene()), FOOTAGE[case]
    if "ignore" in chosen:
        region = np.zeros((36, 48), np.uint8)
        region[10:25, 10:30] = 255
        write_image(tmp_path / "region.png", region)
        chosen = {"ignore": str(tmp_path / "region.png")}
    contents = []
    # How many there are is nothing to the kind of footage.
    counts = (1, 2, 4) if case == "colour" else (1, 2)
    for threads in counts:
        out = tmp_path / str(threads)
        outputs = {"mask", "scores", "objects", "tracks", "background", "model"}
        bgsub.run(clip, out, options(outputs=outputs, threads=threads, **chosen))
        contents.append(
            {path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"}
        )
    assert eager == [threads - 1 for threads in counts[1:]]
    assert len(contents[0]) == 6
    assert all(other == contents[0] for other in contents[1:])


@pytest.mark.usefixtures("eager", "patient")
def test_masks_without_results_are_the_same(scene, options):
    alone = [mask for _, mask in masks(scene(), options(threads=1))]
    helped = [mask for _, mask in masks(scene(), options(threads=2))]
    np.testing.assert_array_equal(helped, alone)


def test_a_saved_model_is_helped_too(scene, encode, tmp_path, options, eager):
    clip = encode(scene())
    bgsub.run(clip, tmp_path / "fit", options(outputs={"model"}, threads=1))
    for threads in (1, 2):
        chosen = options(outputs={"mask"}, threads=threads)
        bgsub.apply(tmp_path / "fit" / "model.npz", clip, tmp_path / str(threads), chosen)
    assert eager == [1]
    one, two = ((tmp_path / out / "mask.mp4").read_bytes() for out in "12")
    assert one == two


def test_formulas_are_computed_here(scene, encode, tmp_path, options, eager):
    bgsub.run(encode(scene()), tmp_path / "r", options(outputs={"mask"}, model="paper", threads=2))
    assert eager == []


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
@pytest.mark.parametrize("amid", ["learning", "looking"])
def test_a_killed_one_changes_nothing(
    amid, scene, encode, tmp_path, options, eager, monkeypatch, caplog
):
    clip, chosen = encode(scene()), {"outputs": {"mask"}, "format": "mkv"}
    bgsub.run(clip, tmp_path / "alone", options(threads=1, **chosen))
    begin, killed = Helpers.begin, []

    def kill_one(self, make, arguments):
        if killed or (make is make_looker) != (amid == "looking"):
            begin(self, make, arguments)
            return
        killed.append(make)
        os.kill(self._processes[0].pid, signal.SIGKILL)
        begin(self, make, arguments)
        self._threads[0].join(60)

    monkeypatch.setattr(Helpers, "begin", kill_one)
    with caplog.at_level(logging.INFO, "bgsub.notes"):
        bgsub.run(clip, tmp_path / "killed", options(threads=2, **chosen))
    assert (eager, len(killed)) == ([1], 1)
    assert processes._LOST in caplog.messages
    one, other = ((tmp_path / out / "mask.mkv").read_bytes() for out in ("alone", "killed"))
    assert one == other


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
def test_one_that_is_killed_while_it_learns_changes_nothing(
    scene, encode, tmp_path, options, eager, monkeypatch, caplog
):
    clip, chosen = encode(scene()), {"outputs": {"mask", "model"}, "format": "mkv"}
    bgsub.run(clip, tmp_path / "alone", options(threads=1, **chosen))
    fit_ahead = PictureSample.fit_ahead

    def fit_and_kill(self, helpers, *more):
        os.kill(helpers._processes[0].pid, signal.SIGSTOP)
        task = fit_ahead(self, helpers, *more)
        os.kill(helpers._processes[0].pid, signal.SIGKILL)
        helpers._threads[0].join(60)
        assert not task.is_done
        return task

    monkeypatch.setattr(PictureSample, "fit_ahead", fit_and_kill)
    with caplog.at_level(logging.INFO, "bgsub.notes"):
        bgsub.run(clip, tmp_path / "killed", options(threads=2, **chosen))
    assert eager == [1]
    assert processes._LOST in caplog.messages
    for name in ("mask.mkv", "model.npz"):
        one, other = ((tmp_path / out / name).read_bytes() for out in ("alone", "killed"))
        assert one == other


SCRIPT = """
import sys
import bgsub
from bgsub.pipeline import looking
looking._WORTH_S = 0.001
print("begun")
options = bgsub.RunOptions(outputs=frozenset({"mask"}), threads=2)
print(bgsub.run(sys.argv[1], sys.argv[2], options).manifest["memory"]["helpers"])
"""


def test_a_script_without_a_guard_runs_once(scene, save, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    (tmp_path / "types.py").write_text("raise RuntimeError('another module of that name')")
    root = str(Path(bgsub.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-P", str(script), save(scene()), str(tmp_path / "r")],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": root},
    )
    assert (done.stdout, done.stderr) == ("begun\n1\n", "")


class TestHowMany:
    def test_none_where_the_work_is_soon_done(self):
        assert helpers_worth(SMALL, LocalMasker, 100, 8) == 0
        assert helpers_worth(Layout("yuv420", 120, 160), LocalMasker, 200, 8) == 0

    def test_as_many_as_threads_are_left(self):
        assert [helpers_worth(SMALL, LocalMasker, 5000, threads) for threads in (1, 2, 4)] == [
            0,
            1,
            3,
        ]

    def test_not_more_than_have_something_to_do(self):
        assert helpers_worth(SMALL, LocalMasker, 300, 64) == 2
        assert helpers_worth(SMALL, LocalMasker, 10**6, 64) == 3
        assert helpers_worth(Layout("yuv420", 720, 1280), LocalMasker, 10**6, 64) == 6

    def test_none_for_formulas(self):
        assert helpers_worth(SMALL, ResidualMasker, 10**6, 64) == 0

    def test_those_that_the_memory_is_there_for(self, scene, save, options, eager):
        chosen = options(outputs={"mask"}, threads=3)
        source = open_input(save(scene()), chosen)
        need = memory_need(source, chosen, 48)
        each = helper_bytes(source.layout, LocalMasker)
        alone = make_plan(need, 10**12)
        assert (alone.helpers, need.helper) == (2, each)
        assert each > 60e6
        less = alone.bytes - 2 * each
        for room, count in ((0, 0), (each - 1, 0), (each, 1), (2 * each, 2)):
            plan = make_plan(need, less + room)
            assert (plan.helpers, plan.bytes) == (count, less + count * each)

    def test_with_one_thread_none_is_started(self, scene, save, tmp_path, options, eager):
        bgsub.run(save(scene()), tmp_path / "r", options(outputs={"mask"}, threads=1))
        assert eager == []

    def test_jobs_share_them(self, scene, save, tmp_path, options, eager):
        bgsub.run(save(scene()), tmp_path / "r", options(outputs={"mask"}, threads=2, jobs=2))
        assert eager == []


def test_calls_are_of_a_few_milliseconds():
    assert call_frames(Layout("yuv420", 720, 1280), 1) == 1
    assert call_frames(SMALL, 1) == 2
    assert call_frames(Layout("yuv420", 36, 64), 16) == 80
