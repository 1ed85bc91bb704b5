"""The results directory: whole or nothing, and never at the cost of somebody else's files."""

import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bgsub.errors import BgsubError, OutputError
from bgsub.options import RunOptions
from bgsub.pipeline.results import (
    MANIFEST,
    ResultsDirectory,
    describe,
    is_complete,
    load_manifest,
    recover,
)
from bgsub.pipeline.run import run
from bgsub.runtime.files import Claim
from bgsub.video.sink import VideoSink

VERSION = {"bgsub_version": "0.1.0"}


def write(out, files, *, force=False, meanwhile=None):
    """Commit results of the given texts; a dict of texts is a folder of pictures."""
    with ResultsDirectory(out, list(files), force=force) as results:
        for name, text in files.items():
            if isinstance(text, dict):
                results.stage(name).mkdir()
                for picture, inner in text.items():
                    (results.stage(name) / picture).write_text(inner)
            else:
                results.stage(name).write_text(text)
        if meanwhile is not None:
            meanwhile()
        return results.commit(VERSION)


def plant(out, outputs):
    manifest = {"schema_version": 1, "bgsub_version": "0.1.0", "outputs": outputs}
    (out / MANIFEST).write_text(json.dumps(manifest))


def give_up():
    raise RuntimeError


PICTURES = {"000001.png": "a", "000002.png": "bb"}


def test_an_output_that_cannot_be_written_is_named(tmp_path):
    with ResultsDirectory(tmp_path, []) as results:
        results.write("größe", b"drawn")
        assert results.stage("größe").read_bytes() == b"drawn"
        with pytest.raises(OutputError, match=r"none.*cannot be written"):
            results.write("none/a.png", b"")


class TestCommit:
    def test_names_appear_with_the_commit_and_the_manifest_says_what_they_are(self, tmp_path):
        out = tmp_path / "new" / "results"
        with ResultsDirectory(out, ["compare.csv", "mask"]) as results:
            results.stage("compare.csv").write_text("12345")
            results.stage("mask").mkdir()
            (results.stage("mask") / "000001.png").write_text("x")
            assert [p for p in out.iterdir() if not p.name.startswith(".")] == []
            assert not is_complete(out)
            manifest = results.commit(VERSION)
        assert sorted(p.name for p in out.iterdir()) == ["compare.csv", "mask", MANIFEST]
        assert manifest == json.loads((out / MANIFEST).read_text())
        facts = manifest["outputs"]
        assert facts["compare.csv"]["bytes"] == 5
        assert facts["compare.csv"]["sha256"] == hashlib.sha256(b"12345").hexdigest()
        assert (facts["mask"]["pictures"], facts["mask"]["bytes"]) == (1, 1)
        assert is_complete(out)

    def test_leaving_without_a_commit_leaves_no_trace(self, tmp_path):
        with pytest.raises(RuntimeError):
            write(tmp_path / "a" / "b" / "c", {"times.csv": "1"}, meanwhile=give_up)
        assert list(tmp_path.iterdir()) == []

    def test_folders_that_were_there_stay(self, tmp_path):
        (tmp_path / "a").mkdir()
        with ResultsDirectory(tmp_path / "a" / "b", ["times.csv"]):
            pass
        assert [p.name for p in tmp_path.iterdir()] == ["a"]
        assert list((tmp_path / "a").iterdir()) == []

    def test_what_a_killed_run_left_is_not_in_the_way(self, tmp_path, monkeypatch):
        first = ResultsDirectory(tmp_path / "out", ["times.csv"])  # never left, as after kill -9
        write(tmp_path / "out", {"times.csv": "1"})
        assert first.stage("times.csv").parent.is_dir()
        assert (tmp_path / "out" / "times.csv").read_text() == "1"

    @pytest.mark.parametrize("moment", ["names change", "the earlier ones are removed"])
    @pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
    def test_a_signal_waits_until_the_names_are_complete(self, tmp_path, monkeypatch, name, moment):
        number = getattr(signal, name)
        rename, rmtree = type(tmp_path).rename, shutil.rmtree

        def interrupt(number, frame):
            raise KeyboardInterrupt

        def rename_and_signal(self, target):
            rename(self, target)
            if target.name == "compare.csv":
                os.kill(os.getpid(), number)

        def signal_and_remove(path, **options):
            os.kill(os.getpid(), number)
            rmtree(path, **options)

        if moment == "names change":
            monkeypatch.setattr(type(tmp_path), "rename", rename_and_signal)
        else:
            monkeypatch.setattr(shutil, "rmtree", signal_and_remove)
        before = signal.signal(number, interrupt)
        try:
            with pytest.raises(KeyboardInterrupt, match=r"the results are complete, in .*out$"):
                write(tmp_path / "out", {"compare.csv": "1", "digits.csv": "2"})
            assert signal.getsignal(number) is interrupt
        finally:
            signal.signal(number, before)
        assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
            "compare.csv",
            "digits.csv",
            MANIFEST,
        ]


class TestRefusals:
    """Each before any work: making the directory object raises."""

    def refused(self, out, names, match, *, force=False):
        before = sorted(str(p) for p in out.parent.rglob("*"))
        with pytest.raises(OutputError, match=match) as caught:
            ResultsDirectory(out, names, force=force)
        assert "\n" not in str(caught.value)
        assert str(out) in str(caught.value)
        assert sorted(str(p) for p in out.parent.rglob("*")) == before

    def test_earlier_results_without_force(self, tmp_path):
        write(tmp_path / "out", {"compare.csv": "1"})
        self.refused(tmp_path / "out", ["compare.csv"], "--force")
        self.refused(tmp_path / "out", ["frame_errors.csv"], "--force")

    def test_a_file_without_a_manifest(self, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "compare.csv").write_text("mine")
        for force in (False, True):
            self.refused(tmp_path / "out", ["compare.csv"], "no finished run of bgsub", force=force)

    def test_a_dangling_link(self, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "compare.csv").symlink_to(tmp_path / "nowhere")
        self.refused(tmp_path / "out", ["compare.csv"], "no finished run", force=True)

    def test_a_file_where_pictures_were_and_the_reverse(self, tmp_path):
        write(tmp_path / "out", {"background": PICTURES, "compare.csv": "1"})
        folder = tmp_path / "out" / "background"
        folder.rename(tmp_path / "kept")
        folder.write_text("mine")
        self.refused(tmp_path / "out", ["times.csv"], "background: is not what", force=True)
        folder.unlink()
        (tmp_path / "out" / "compare.csv").unlink()
        (tmp_path / "out" / "compare.csv").mkdir()
        self.refused(tmp_path / "out", ["times.csv"], r"compare\.csv: is not what", force=True)

    def test_a_file_in_the_place_of_the_folder(self, tmp_path):
        (tmp_path / "out").write_text("mine")
        self.refused(tmp_path / "out", ["compare.csv"], "is a file", force=True)

    def test_a_file_on_the_way_to_the_folder(self, tmp_path):
        (tmp_path / "file").write_text("mine")
        self.refused(tmp_path / "file" / "out", ["compare.csv"], "cannot be written")

    @pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root"
    )
    def test_a_folder_that_may_not_be_written_to(self, tmp_path):
        (tmp_path / "out").mkdir(mode=0o500)
        self.refused(tmp_path / "out", ["compare.csv"], "cannot be written")

    def test_a_folder_in_which_nothing_can_be_made(self, tmp_path, monkeypatch):
        def forbid(**_options):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("tempfile.mkdtemp", forbid)
        self.refused(
            tmp_path / "a" / "out", ["compare.csv"], r"cannot be written \(Permission denied\)"
        )

    @pytest.mark.parametrize("name", ["thesis.txt", "../thesis.txt", "run.json", "mask.avi"])
    def test_a_planted_manifest_that_names_other_files(self, tmp_path, name, contents):
        out = tmp_path / "out"
        out.mkdir()
        (out / name).write_text("mine")
        plant(out, {name: describe(out / name)})
        before = contents(tmp_path)
        self.refused(out, ["compare.csv"], "not written by this version", force=True)
        assert contents(tmp_path) == before


class TestForce:
    def test_replaces_and_removes_what_the_earlier_run_alone_wrote(self, tmp_path):
        out = tmp_path / "out"
        write(out, {"compare.csv": "1", "background": PICTURES, "errors.svg": "s"})
        (out / "notes.txt").write_text("mine")
        write(out, {"compare.csv": "22"}, force=True)
        assert sorted(p.name for p in out.iterdir()) == ["compare.csv", "notes.txt", MANIFEST]
        assert (out / "compare.csv").read_text() == "22"
        assert (out / "notes.txt").read_text() == "mine"

    def test_earlier_results_stay_whole_when_the_new_run_fails(self, tmp_path, contents):
        out = tmp_path / "out"
        write(out, {"compare.csv": "1", "background": PICTURES})
        before = contents(out)
        with pytest.raises(RuntimeError):
            write(out, {"compare.csv": "new"}, force=True, meanwhile=give_up)
        assert contents(out) == before

    def test_is_not_needed_in_a_folder_with_other_files(self, tmp_path):
        (tmp_path / "water.avi").write_text("mine")
        write(tmp_path, {"compare.csv": "1"})
        assert (tmp_path / "water.avi").read_text() == "mine"

    @pytest.mark.parametrize("force", [False, True])
    def test_a_file_that_appears_during_the_run_is_left_alone(self, tmp_path, force):
        def put_it_there():
            (tmp_path / "out" / "compare.csv").write_text("mine")

        with pytest.raises(OutputError, match="no finished run"):
            write(tmp_path / "out", {"compare.csv": "new"}, force=force, meanwhile=put_it_there)
        assert [p.name for p in (tmp_path / "out").iterdir()] == ["compare.csv"]
        assert (tmp_path / "out" / "compare.csv").read_text() == "mine"

    def test_of_two_runs_at_once_the_second_to_finish_is_refused(self, tmp_path):
        def finish_first():
            write(tmp_path / "out", {"compare.csv": "first"})

        with pytest.raises(OutputError, match="--force"):
            write(tmp_path / "out", {"compare.csv": "second"}, meanwhile=finish_first)
        assert (tmp_path / "out" / "compare.csv").read_text() == "first"


class Killed(BaseException):
    """Stands for a kill: nothing of the process's own clears up behind it."""


OLD, NEW = {"compare.csv": "old", "mask": PICTURES, "times.csv": "t"}, {"compare.csv": "new"}


def killed_commit(out, files, step, monkeypatch, *, force):
    """Commit, but be killed before that step on the file system; whether the kill came."""
    steps = iter(range(1000))

    def counted(function):
        def call(*args, **kwargs):
            if next(steps) == step:
                raise Killed
            return function(*args, **kwargs)

        return call

    results = ResultsDirectory(out, list(files), force=force)
    for name, text in files.items():
        results.stage(name).write_text(text)
    with monkeypatch.context() as patch:
        for owner, name in ((Path, "rename"), (Path, "mkdir"), (os, "fsync")):
            patch.setattr(owner, name, counted(getattr(owner, name)))
        try:
            results.commit(VERSION)
        except Killed:
            results._claim.close()  # as the end of the process does
            return True
    return False


class TestKilledRuns:
    """Results of a killed run, or those that it was about to replace, are there: never neither."""

    @pytest.mark.parametrize("force", [False, True])
    def test_one_of_both_is_whole_whenever_the_kill_comes(
        self, tmp_path, monkeypatch, contents, force, caplog
    ):
        caplog.set_level(logging.INFO)
        write(tmp_path / "new", NEW)
        new = contents(tmp_path / "new")
        old = {}
        kills = put = 0
        for step in range(1000):
            out = tmp_path / f"out{step}"
            if force:
                write(out, OLD)
                old = contents(out)
            if not killed_commit(out, NEW, step, monkeypatch, force=force):
                break
            kills += 1
            caplog.clear()
            recover(out)
            after = contents(out)
            assert after in (old, new)
            assert [p for p in out.iterdir() if p.name.startswith(".")] == []
            assert len(caplog.records) == 1
            put += "put results in place that a killed run had finished" in caplog.text
        assert kills > 8
        assert put > 2

    def test_old_results_stay_in_place_until_the_new_ones_are_on_the_disk(
        self, tmp_path, monkeypatch
    ):
        events = []
        rename, fsync = Path.rename, os.fsync

        def renamed(self, target):
            events.append(("rename", target.name))
            return rename(self, target)

        def synced(descriptor):
            events.append(("sync", Path(f"/proc/self/fd/{descriptor}").readlink().name))
            return fsync(descriptor)

        out = tmp_path / "out"
        write(out, {"compare.csv": "old"})
        monkeypatch.setattr(Path, "rename", renamed)
        monkeypatch.setattr(os, "fsync", synced)
        write(out, {"compare.csv": "new"}, force=True)
        first = next(i for i, event in enumerate(events) if event[0] == "rename")
        assert {"compare.csv", MANIFEST} <= {name for _, name in events[:first]}
        last = max(i for i, event in enumerate(events) if event[0] == "rename")
        assert events[last] == ("rename", MANIFEST)
        assert events[last - 1] == events[last + 1] == ("sync", "out")

    def test_a_killed_process_leaves_nothing_behind_the_next_run(self, tmp_path, caplog):
        caplog.set_level(logging.INFO)
        code = (
            "import os, sys; from pathlib import Path\n"
            "from bgsub.pipeline.results import ResultsDirectory\n"
            "results = ResultsDirectory(Path(sys.argv[1]), ['mask.mp4'])\n"
            "results.stage('mask.mp4').write_bytes(b'1')\n"
            "os.kill(os.getpid(), 9)\n"
        )
        out = tmp_path / "out"
        subprocess.run([sys.executable, "-c", code, str(out)], check=False)
        assert len(list(out.glob(".bgsub-partial-*/mask.mp4"))) == 1
        write(out, NEW)
        assert sorted(p.name for p in out.iterdir()) == ["compare.csv", MANIFEST]
        assert "removed what a killed run had left there" in caplog.text

    def test_whoever_reads_the_results_finds_them_too(self, tmp_path, monkeypatch, scene, save):
        path, out = save(scene(n=12, visit=9)), tmp_path / "out"
        options = RunOptions(k=2, outputs=frozenset({"errors"}))
        run(path, out, options)
        for name in ("errors.csv", MANIFEST):  # killed as the first new and as the last is named
            rename = Path.rename

            def die(self, target, name=name, rename=rename):
                if target.name == name and target.parent == out:
                    raise Killed
                return rename(self, target)

            close = Claim.remove
            monkeypatch.setattr(Path, "rename", die)
            monkeypatch.setattr(Claim, "remove", Claim.close)  # nothing clears up behind a kill
            with pytest.raises(Killed):
                run(path, out, replace(options, force=True))
            monkeypatch.setattr(Path, "rename", rename)
            monkeypatch.setattr(Claim, "remove", close)
            assert not is_complete(out)
            assert load_manifest(out)["frames"]["used"] == 12
            assert sorted(p.name for p in out.iterdir()) == ["errors.csv", MANIFEST]

    def test_finished_results_whose_place_somebody_took_stay_aside(
        self, tmp_path, monkeypatch, caplog
    ):
        out = tmp_path / "out"
        rename = Path.rename

        def die(self, target):
            if target.name == "compare.csv":
                raise Killed
            return rename(self, target)

        results = ResultsDirectory(out, ["compare.csv"])
        results.stage("compare.csv").write_text("new")
        monkeypatch.setattr(Path, "rename", die)
        with pytest.raises(Killed):
            results.commit(VERSION)
        monkeypatch.undo()
        results._claim.close()
        (out / "compare.csv").write_text("mine")
        recover(out)
        assert (out / "compare.csv").read_text() == "mine"
        assert results.stage("compare.csv").read_text() == "new"
        assert "it holds results that a killed run had finished" in caplog.text


class TestInterruptedRuns:
    @pytest.mark.parametrize(
        ("stage", "format_"),
        [("decode", "mp4"), ("fit", "png"), ("model", "mp4"), ("write", "mp4"), ("write", "png")],
    )
    def test_nothing_is_left_whatever_the_stage(
        self, stage, format_, tmp_path, scene, save, options
    ):
        def stop(at, done, total):
            if at == stage:
                raise KeyboardInterrupt

        path = save(scene(n=12, visit=9))
        out = tmp_path / "a" / "out"
        with pytest.raises(KeyboardInterrupt):
            run(path, out, options(format=format_, threads=2), progress=stop)
        assert [p.name for p in tmp_path.iterdir()] == ["clip.npy"]

    @pytest.mark.parametrize("method", ["write", "close"])
    def test_nothing_is_left_when_the_disk_is_full(
        self, method, tmp_path, scene, save, options, monkeypatch
    ):
        original = getattr(VideoSink, method)

        def fail(self, *arguments):
            if self.name == "mask" and self.count == (5 if method == "write" else 12):
                message = f"cannot write {self.path}: the disk is full"
                raise OutputError(message)
            return original(self, *arguments)

        monkeypatch.setattr(VideoSink, method, fail)
        path = save(scene(n=12, visit=9))
        with pytest.raises(OutputError, match="disk is full"):
            run(path, tmp_path / "out", options())
        assert [p.name for p in tmp_path.iterdir()] == ["clip.npy"]

    def test_nothing_is_left_of_an_input_that_fails(self, tmp_path, options):
        with pytest.raises(BgsubError, match="no such file"):
            run(str(tmp_path / "none.avi"), tmp_path / "out", options())
        assert list(tmp_path.iterdir()) == []

    def test_existing_results_are_refused_before_any_work(self, tmp_path, scene, save, options):
        path, out = save(scene(n=10)), tmp_path / "out"
        out.mkdir()
        (out / "mask.mp4").write_text("mine")
        stages = []
        with pytest.raises(OutputError):
            run(path, out, options(), progress=lambda *facts: stages.append(facts))
        assert stages == []


# Its run says that it is writing, and then never ends by itself.
_ENDLESS = """
import sys, time
from bgsub.pipeline import run as pipeline
from bgsub.cli import main

real = pipeline.run

def slow(path, out, options, *, progress=None):
    def stand_still(stage, done, total):
        if stage == "write":
            print("writing", flush=True)
            time.sleep(300)
    return real(path, out, options, progress=stand_still)

pipeline.run = slow
sys.argv = ["bgsub", "run", sys.argv[1], "--only", "mask", "--out", sys.argv[2]]
sys.exit(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_signals_stop_a_real_run_with_one_line_and_leave_nothing(tmp_path, scene, save):
    path = save(scene(6, visit=5))
    numbers = (signal.SIGINT, signal.SIGTERM)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _ENDLESS, path, str(tmp_path / f"new{int(n)}" / "out")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in numbers
    ]
    for number, process in zip(numbers, started, strict=True):
        with process:
            try:
                assert process.stdout.readline() == "writing\n"
                staged = list((tmp_path / f"new{int(number)}" / "out").rglob("mask.mp4"))
                assert len(staged) == 1
                process.send_signal(number)
                _, errors = process.communicate(timeout=120)
            finally:
                process.kill()
        assert process.returncode == 130
        assert errors.count("\n") == 1
        assert "interrupted" in errors
        assert "Traceback" not in errors
    assert [p.name for p in tmp_path.iterdir()] == ["clip.npy"]
