from __future__ import annotations

from pathlib import Path

from bgsub.errors import InputError
from bgsub.options import RunOptions, SourceOptions


def test_the_model_and_the_options_arrive(pipeline, invoke, tmp_path) -> None:
    out = tmp_path / "r"
    done = invoke("apply", "m.npz", "a.avi", "--scale", "0.5", "--format", "png", "--out", out)
    assert (done.exit_code, done.stdout) == (0, "")
    options = RunOptions(source=SourceOptions(scale=0.5), format="png")
    assert pipeline.calls == [(Path("m.npz"), "a.avi", out, options)]
    assert done.stderr.splitlines()[-1] == f"results are in {out}"


def test_several_inputs_go_on_after_one_failed(pipeline, invoke, tmp_path) -> None:
    def act(path, out):
        if path == "a.avi":
            raise InputError("a.avi: bad")

    pipeline.act = act
    done = invoke("apply", "m.npz", "a.avi", "b.avi", "--out", tmp_path)
    assert done.exit_code == 6
    assert [call[2] for call in pipeline.calls] == [tmp_path / "a", tmp_path / "b"]


def test_options_of_the_fit_are_unknown(pipeline, invoke, tmp_path) -> None:
    done = invoke("apply", "m.npz", "a.avi", "--out", tmp_path, "--n-init", "3")
    assert done.exit_code == 2
    assert "no such option '--n-init'" in done.stderr


def test_an_input_is_needed(pipeline, invoke, tmp_path) -> None:
    done = invoke("apply", "m.npz", "--out", tmp_path)
    assert done.exit_code == 2
    assert "no INPUT is given" in done.stderr
