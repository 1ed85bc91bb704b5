"""Where results go, whose they are, and what is skipped."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.cli.jobs import Job, belongs, check_out, plan
from bgsub.errors import OutputError


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
        done = invoke(*command, "--k", 3, "--force")
        assert done.exit_code == 0
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
        done = invoke(*command)
        assert "were made with another model (m.npz)" in done.stderr

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
