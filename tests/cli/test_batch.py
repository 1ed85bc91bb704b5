from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.cli.jobs import read_list
from bgsub.cli.messages import INTERRUPTED
from bgsub.errors import EmptySelectionError, InputError, Interrupted, OutputError


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
