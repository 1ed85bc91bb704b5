from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.cli.jobs import Job, Outcome, Work, belongs, run_batch
from bgsub.cli.messages import INTERRUPTED, Session
from bgsub.cli.run import check_out, plan, read_list
from bgsub.errors import EmptySelectionError, InputError, Interrupted, OutputError
from bgsub.options import RunOptions


class TestReadList:
    def test_blank_lines_and_comments_are_left_out(self, tmp_path) -> None:
        text = "\ufeffa b.avi\r\n\n  # not this\n\tc.avi  \n#d.avi"
        (tmp_path / "list").write_bytes(text.encode())
        assert read_list(str(tmp_path / "list")) == ["a b.avi", "c.avi"]

    @given(st.lists(st.text("aé/ #", min_size=1).map("x{}x".format), min_size=1))
    def test_any_names(self, names: list[str]) -> None:
        import tempfile

        with tempfile.NamedTemporaryFile() as file:
            file.write("\n".join(names).encode())
            file.flush()
            assert read_list(file.name) == names

    @pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
    def test_names_need_not_be_unicode(self, tmp_path) -> None:
        (tmp_path / "list").write_bytes(b"caf\xe9.avi\n")
        assert os.fsencode(read_list(str(tmp_path / "list"))[0]) == b"caf\xe9.avi"

    def test_no_list_and_an_empty_one(self, tmp_path) -> None:
        with pytest.raises(InputError, match="none: the list of inputs cannot be read"):
            read_list(str(tmp_path / "none"))
        (tmp_path / "list").write_text("# nothing\n")
        with pytest.raises(EmptySelectionError, match="names no input"):
            read_list(str(tmp_path / "list"))


def failing(name: str, error: BaseException):
    def act(path: str, out: Path) -> None:
        if path == name:
            raise error

    return act


class TestRunning:
    def test_one_that_fails_is_named_and_the_others_go_on(self, pipeline, invoke, tmp_path) -> None:
        pipeline.act = failing("x/b.avi", InputError("b.avi: cannot be read"))
        done = invoke("run", "a.avi", "x/b.avi", "c.avi", "--out", tmp_path)
        assert (done.exit_code, done.stdout) == (6, "")
        assert [call[0] for call in pipeline.calls] == ["a.avi", "x/b.avi", "c.avi"]
        lines = done.stderr.splitlines()
        assert lines[0] == "a.avi: 1 of 3"
        assert "a.avi: 3 of 9 frames stand out" in lines
        assert "bgsub: x/b.avi: cannot be read" in lines
        assert lines[-1] == "bgsub: 1 of 3 inputs failed: x/b.avi"

    @pytest.mark.parametrize("error", [OutputError("full"), ZeroDivisionError("no"), MemoryError()])
    def test_whatever_the_error(self, error, pipeline, invoke, tmp_path) -> None:
        pipeline.act = failing("a.avi", error)
        done = invoke("run", "a.avi", "b.avi", "--out", tmp_path, "--quiet")
        assert done.exit_code == 6
        assert len(pipeline.calls) == 2
        first, last = done.stderr.splitlines()
        assert first.startswith("bgsub: a.avi: ")
        assert last == "bgsub: 1 of 2 inputs failed: a.avi"

    def test_one_input_fails_with_its_own_code(self, pipeline, invoke, tmp_path) -> None:
        pipeline.act = failing("a.avi", InputError("a.avi: cannot be read"))
        done = invoke("run", "--from-file", "-", "--out", tmp_path, stdin="a.avi\n")
        assert (done.exit_code, done.stderr) == (3, "bgsub: a.avi: cannot be read\n")

    def test_a_list_always_gets_subfolders(self, pipeline, invoke, tmp_path) -> None:
        done = invoke("run", "--from-file", "-", "--out", tmp_path, stdin="a.avi\n# b.avi\n")
        assert done.exit_code == 0
        assert [call[:2] for call in pipeline.calls] == [("a.avi", tmp_path / "a")]

    def test_inputs_come_before_the_list(self, pipeline, invoke, tmp_path) -> None:
        (tmp_path / "list").write_text("b.avi\n")
        done = invoke("run", "--from-file", tmp_path / "list", "c.avi", "--out", tmp_path)
        assert done.exit_code == 0
        assert [call[0] for call in pipeline.calls] == ["c.avi", "b.avi"]
        assert done.stderr.splitlines()[-1] == "2 inputs: 2 done"

    def test_a_batch_is_resumed(self, pipeline, invoke, tmp_path) -> None:
        pipeline.act = failing("b.avi", InputError("b.avi: bad"))
        command = ["run", "a.avi", "b.avi", "--out", tmp_path, "--skip-existing"]
        assert invoke(*command).exit_code == 6
        pipeline.act = lambda path, out: None
        pipeline.calls.clear()
        done = invoke(*command)
        assert done.exit_code == 0
        assert [call[0] for call in pipeline.calls] == ["b.avi"]
        assert f"a.avi: skipped: its complete results are in {tmp_path / 'a'}" in done.stderr
        assert done.stderr.splitlines()[-1] == "2 inputs: 1 done, 1 skipped"

    def test_one_input_is_skipped_too(self, pipeline, invoke, tmp_path, make_manifest) -> None:
        make_manifest(tmp_path, "a.avi")
        done = invoke("run", "a.avi", "--out", tmp_path, "--skip-existing")
        assert (done.exit_code, pipeline.calls) == (0, [])
        assert done.stderr == f"skipped: its complete results are in {tmp_path}\n"

    def test_results_of_another_input_are_not_mistaken(
        self, pipeline, invoke, tmp_path, make_manifest
    ) -> None:
        make_manifest(tmp_path, "b.avi")
        invoke("run", "a.avi", "--out", tmp_path, "--skip-existing")
        assert len(pipeline.calls) == 1  # which refuses them, or replaces them with --force

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), Interrupted("stopped")])
    def test_an_interrupt_ends_the_batch(self, error, pipeline, invoke, tmp_path) -> None:
        pipeline.act = failing("b.avi", error)
        done = invoke("run", "a.avi", "b.avi", "c.avi", "--out", tmp_path, "--quiet")
        assert done.exit_code == 130
        assert [call[0] for call in pipeline.calls] == ["a.avi", "b.avi"]
        assert done.stderr == (
            f"bgsub: {INTERRUPTED}; 1 of 3 inputs were finished, "
            "--skip-existing goes on from there\n"
        )

    def test_an_interrupt_names_how_segments_go_on(self, tmp_path) -> None:
        jobs = plan(["a.avi", "b.avi"], tmp_path, subfolders=True, keep=False)

        def outcomes() -> Iterator[Outcome]:
            yield Outcome(jobs[0], "done")
            raise KeyboardInterrupt

        found = r"finished, --skip-existing \(--resume with --segment\) goes on from there"
        with pytest.raises(Interrupted, match=found):
            run_batch(jobs, Work(RunOptions(segment=500)), Session(), outcomes=outcomes())

    def test_json_lines_name_their_input(self, pipeline, invoke, tmp_path) -> None:
        pipeline.act = failing("b.avi", InputError("b.avi: bad"))
        done = invoke("run", "a.avi", "b.avi", "--out", tmp_path, "--log-json")
        found = [json.loads(line) for line in done.stderr.splitlines()]
        assert [(entry.get("input"), entry["event"]) for entry in found] == [
            ("a.avi", "start"),
            ("a.avi", "finding"),
            ("a.avi", "result"),
            ("b.avi", "start"),
            ("b.avi", "error"),
            (None, "error"),
        ]
        assert [entry["exit_code"] for entry in found[-2:]] == [3, 6]

    def test_many_failures_are_counted(self, pipeline, invoke, tmp_path) -> None:
        def act(path: str, out: Path) -> None:
            raise InputError("bad")

        pipeline.act = act
        names = [f"{number}.avi" for number in range(12)]
        done = invoke("run", *names, "--out", tmp_path, "--quiet")
        assert done.stderr.splitlines()[-1].endswith(" 9.avi and 2 more")
        assert len(done.stderr.splitlines()) == 13


def folders(inputs: list[str], out: Path, *, keep: bool = False) -> list[str]:
    return [job.out.name for job in plan(inputs, out, subfolders=True, keep=keep)]


class TestPlan:
    def test_names_are_those_of_the_inputs(self, tmp_path) -> None:
        assert folders(["x/a.avi", "b.tar.mp4", "c"], tmp_path) == ["a", "b.tar", "c"]

    def test_the_same_name_is_numbered_in_order(self, tmp_path) -> None:
        given_ = ["x/a.avi", "y/A.mp4", "x/a.avi", "a-2.avi"]
        assert folders(given_, tmp_path) == ["a", "A-2", "a-3", "a-2-2"]

    def test_images_are_named_after_their_folder(self, tmp_path) -> None:
        (tmp_path / "cam.1").mkdir()
        given_ = [
            str(tmp_path / "cam.1"),
            str(tmp_path / "cam2/*.png"),
            str(tmp_path / "c/f%d.png"),
        ]
        assert folders(given_, tmp_path) == ["cam.1", "cam2", "c"]

    def test_the_working_directory_has_a_name(self, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert folders([".", "*.png"], tmp_path / "r") == [tmp_path.name, f"{tmp_path.name}-2"]

    def test_one_input_has_no_subfolder(self, tmp_path) -> None:
        assert plan(["a.avi"], tmp_path, subfolders=False, keep=True) == [Job("a.avi", tmp_path)]

    @given(
        st.lists(st.sampled_from(["a/w.avi", "b/w.avi", "W.mp4", "w-2.avi", "v.avi"]), max_size=9)
    )
    def test_no_two_inputs_share_a_folder(self, inputs: list[str]) -> None:
        out = Path("nowhere")
        jobs = plan(inputs, out, subfolders=True, keep=True)
        assert [job.input for job in jobs] == inputs
        assert [job.number for job in jobs] == list(range(1, len(inputs) + 1))
        assert len({job.out.name.casefold() for job in jobs}) == len(inputs)
        assert jobs == plan(inputs, out, subfolders=True, keep=False)

    def test_whole_results_stay_with_their_input(self, tmp_path, make_manifest) -> None:
        make_manifest(tmp_path / "w", "a/w.avi")
        make_manifest(tmp_path / "w-2", "b/w.avi")
        assert folders(["b/w.avi", "c/w.avi", "a/w.avi"], tmp_path, keep=True) == [
            "w-2",
            "w-3",
            "w",
        ]
        assert folders(["c/w.avi"], tmp_path, keep=True) == ["w-3"]
        assert folders(["c/w.avi", "a/w.avi"], tmp_path) == ["w", "w-2"]

    def test_the_same_input_twice_keeps_both(self, tmp_path, make_manifest) -> None:
        make_manifest(tmp_path / "w", "a/w.avi")
        make_manifest(tmp_path / "w-2", "a/w.avi")
        assert folders(["a/w.avi", "a/w.avi"], tmp_path, keep=True) == ["w", "w-2"]

    def test_an_unfinished_folder_is_taken_up_again(self, tmp_path, make_manifest) -> None:
        make_manifest(tmp_path / "w", "a/w.avi")
        (tmp_path / "w-2").mkdir()
        assert folders(["a/w.avi", "b/w.avi"], tmp_path, keep=True) == ["w", "w-2"]


class TestBelongs:
    def test_by_path(self, tmp_path, make_manifest, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        make_manifest(tmp_path / "r", "a.avi")
        assert belongs(tmp_path / "r", str(tmp_path / "a.avi"))
        assert not belongs(tmp_path / "r", "b.avi")
        assert not belongs(tmp_path / "r", "x/a.avi")

    def test_by_content_from_another_directory(self, tmp_path, make_manifest) -> None:
        film = tmp_path / "a.avi"
        film.write_bytes(b"frames")
        facts = {"path": "a.avi", "name": "a.avi", "size_bytes": 6}
        digest = hashlib.sha256(b"frames").hexdigest()
        make_manifest(tmp_path / "r", "", input={**facts, "sha256": digest})
        assert belongs(tmp_path / "r", str(film))
        film.write_bytes(b"others")
        assert not belongs(tmp_path / "r", str(film))

    def test_results_that_do_not_say_are_taken_to_be(self, tmp_path) -> None:
        (tmp_path / "run.json").write_text("{}")
        assert belongs(tmp_path, "a.avi")


class TestSkipExistingOfOtherOptions:
    def test_says_which_differ_and_leaves_the_results(self, pipeline, invoke, tmp_path) -> None:
        invoke("run", "a.avi", "--k", 2, "--out", tmp_path / "r")
        before = (tmp_path / "r" / "run.json").read_text()
        command = ["run", "a.avi", "--out", tmp_path / "r", "--skip-existing", "--scale", 0.5]
        done = invoke(*command, "--k", 3)
        assert done.exit_code == 5
        assert "its results were made with --scale 1.0, --k 2; replace them" in done.stderr
        assert len(pipeline.calls) == 1
        assert (tmp_path / "r" / "run.json").read_text() == before
        assert invoke(*command, "--k", 3, "--force").exit_code == 0
        assert len(pipeline.calls) == 2

    def test_threads_and_memory_make_no_difference(self, pipeline, invoke, tmp_path) -> None:
        invoke("run", "a.avi", "--out", tmp_path / "r")
        more = ["--threads", 3, "--memory", "3G", "--temp", tmp_path, "--force"]
        done = invoke("run", "a.avi", "--out", tmp_path / "r", "--skip-existing", *more)
        assert (done.exit_code, len(pipeline.calls)) == (0, 1)

    def test_another_command_and_another_model_do(
        self, invoke, pipeline, tmp_path, make_manifest
    ) -> None:
        make_manifest(tmp_path / "r", "a.avi")
        (tmp_path / "m.npz").write_bytes(b"1")
        command = ["apply", tmp_path / "m.npz", "a.avi", "--out", tmp_path / "r", "--skip-existing"]
        done = invoke(*command)
        assert (done.exit_code, len(pipeline.calls)) == (5, 0)
        assert "were made with bgsub run" in done.stderr
        facts = {"command": "apply", "model": "m.npz", "model_sha256": "0" * 64}
        make_manifest(tmp_path / "r", "a.avi", **facts)
        assert "were made with another model (m.npz)" in invoke(*command).stderr

    def test_a_damaged_run_json_is_no_reason_to_skip(self, invoke, pipeline, tmp_path) -> None:
        invoke("run", "a.avi", "--out", tmp_path / "r")
        (tmp_path / "r" / "run.json").write_text("{}")
        done = invoke("run", "a.avi", "--out", tmp_path / "r", "--skip-existing")
        assert (done.exit_code, len(pipeline.calls)) == (3, 1)


def test_a_store_has_a_folder_without_its_suffix(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (job,) = plan([str(tmp_path / "a.zarr")], tmp_path / "out", subfolders=True, keep=False)
    assert job.out == tmp_path / "out" / "a"


@pytest.mark.parametrize(
    ("folder", "what"), [("file", "file: is a file,"), ("file/in", "in: {path}/file is a file,")]
)
def test_a_file_in_the_place_of_a_folder_is_named_once(tmp_path, folder, what):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError) as error:
        check_out(tmp_path / folder)
    assert what.format(path=tmp_path) in str(error.value)
