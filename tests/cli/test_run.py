from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.options import DEFAULT_OUTPUTS, RunOptions, SourceOptions


def entries(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_one_input_goes_to_out_itself(pipeline, invoke, tmp_path) -> None:
    out = tmp_path / "r"
    done = invoke("run", "a.avi", "--k", 3, "--only", "mask,errors", "--out", out)
    assert (done.exit_code, done.stdout) == (0, "")
    assert pipeline.calls == [
        ("a.avi", out, RunOptions(k=3, outputs=frozenset({"mask", "errors"})))
    ]


def test_options_may_stand_before_and_after_inputs(pipeline, invoke, tmp_path) -> None:
    out = tmp_path / "r"
    assert invoke("run", "--k", 3, "a.avi", "--out", out, "b.avi", "--preview").exit_code == 0
    options = RunOptions(k=3, outputs=DEFAULT_OUTPUTS | {"preview"})
    assert pipeline.calls == [("a.avi", out / "a", options), ("b.avi", out / "b", options)]


def test_what_was_found_is_said_on_stderr(pipeline, invoke, tmp_path) -> None:
    def act(path, out):
        result = type(pipeline).run.__globals__["FakeResult"](out)
        result.warnings.append("cut off after frame 9")
        result.hints.append("every mask is empty")
        return result

    pipeline.act = act
    out = tmp_path / "r"
    done = invoke("run", "a.avi", "--out", out)
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "warning: cut off after frame 9",
        "3 of 9 frames stand out",
        "hint: every mask is empty",
        f"results are in {out}",
    ]
    assert invoke("run", "a.avi", "--out", out, "--quiet").stderr == ""


def test_everything_is_json_when_asked(pipeline, invoke, tmp_path) -> None:
    done = invoke("run", "a.avi", "--out", tmp_path / "r", "--log-json")
    assert done.stdout == ""
    found = entries(done.stderr)
    assert [entry["event"] for entry in found] == ["finding", "result"]
    assert {entry["input"] for entry in found} == {"a.avi"}
    assert found[1]["out"] == str(tmp_path / "r")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "0"], "--k 0: must be a whole number of 1 or more"),
        (["--k", "-3"], "--k -3: must be a whole number of 1 or more"),
        (["--roi", "1,2,3"], "give X,Y,W,H in pixels"),
        (["--scale", "0"], "--scale 0: must be a number above 0"),
        (["--start", "soon"], "--start 'soon' is not understood"),
        (["--support-fraction", "0.3"], "--support-fraction 0.3: must be a share of the frames"),
        (["--only", "masks"], "--only masks: must be one of background, foreground"),
        (["--seed", "-1"], "--seed -1: must be a whole number of 0 or more"),
    ],
)
def test_values_that_make_no_sense(arguments, message, pipeline, invoke, tmp_path) -> None:
    done = invoke("run", "a.avi", "--out", tmp_path / "r", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("bgsub: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert pipeline.calls == []


def test_a_glob_that_the_shell_expanded_is_noticed(pipeline, invoke, tmp_path) -> None:
    done = invoke("run", "f/1.png", "f/2.PNG", "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert "put the glob in quotes" in done.stderr
    assert pipeline.calls == []


def test_out_that_is_a_file(pipeline, invoke, tmp_path) -> None:
    out = tmp_path / "r"
    out.write_text("mine")
    for place in (out, out / "deeper"):
        done = invoke("run", "a.avi", "b.avi", "--out", place)
        assert done.exit_code == 5
        assert "is a file" in done.stderr
    assert pipeline.calls == []
    assert out.read_text() == "mine"


def test_a_real_run_is_repeated_to_the_bit(invoke, tmp_path) -> None:
    """With the real pipeline, from frames to results and once more."""
    frames = np.random.default_rng(0).integers(90, 110, size=(24, 16, 20), dtype=np.uint8)
    frames[20:, 4:12, 4:12] += 100
    np.save(tmp_path / "clip.npy", frames)
    out, again = tmp_path / "r", tmp_path / "again"
    command = ["run", tmp_path / "clip.npy", "--k", 2, "--only", "errors", "--out", out]
    done = invoke(*command)
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    assert "frames stand out" in done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["errors.csv", "run.json"]
    assert invoke(*command).exit_code == 5
    assert "skipped" in invoke(*command, "--skip-existing").stderr
    assert invoke("run", "--from-json", out / "run.json", "--out", again).exit_code == 0
    assert (again / "errors.csv").read_bytes() == (out / "errors.csv").read_bytes()


def test_why_memory_does_not_do_is_said_at_once(invoke, tmp_path, monkeypatch) -> None:
    frames = np.random.default_rng(0).integers(90, 110, size=(24, 16, 20), dtype=np.uint8)
    np.save(tmp_path / "clip.npy", frames)
    monkeypatch.setattr("bgsub.fit.memory.AUTO_FIT_FRAMES", 20)
    command = ["run", tmp_path / "clip.npy", "--k", 2, "--only", "errors", "--force"]
    done = invoke(*command, "--out", tmp_path / "r")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[0] == "clip.npy: 24 frames: a sample of 20 is fitted"
    entry = json.loads(
        invoke(*command, "--out", tmp_path / "r", "--log-json").stderr.split("\n")[0]
    )
    assert (entry["event"], entry["input"]) == ("note", str(tmp_path / "clip.npy"))


def test_a_limit_that_cannot_be_kept(invoke, tmp_path) -> None:
    np.save(tmp_path / "clip.npy", np.zeros((24, 16, 20), dtype=np.uint8))
    done = invoke("run", tmp_path / "clip.npy", "--memory", "20M", "--out", tmp_path / "r")
    assert (done.exit_code, done.stdout) == (7, "")
    assert "clip.npy: needs at least" in done.stderr
    assert "but the limit is 20M; use --memory" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "r").exists()


def test_memory_and_its_folder_are_checked_early(pipeline, invoke, tmp_path) -> None:
    for code, *arguments in ((2, "--memory", "lots"), (5, "--temp", tmp_path / "none")):
        done = invoke("run", "a.avi", "--out", tmp_path / "r", *arguments)
        assert (done.exit_code, done.stdout) == (code, "")
        assert done.stderr.startswith(f"bgsub: {arguments[0]} {arguments[1]}: ")
        assert done.stderr.count("\n") == 1
    assert pipeline.calls == []


def test_jobs_are_no_more_than_inputs(pipeline, invoke, tmp_path) -> None:
    done = invoke("run", "a.avi", "--out", tmp_path / "r", "--jobs", 4)
    assert done.exit_code == 0
    assert pipeline.calls[0][2].jobs == 1
    assert invoke("run", "a.avi", "--out", tmp_path / "r", "--jobs", 0).exit_code == 2


class TestFromJson:
    OPTIONS = RunOptions(
        k=4, reweight=False, format="mkv", force=True, outputs=frozenset({"mask", "errors"})
    )

    @pytest.fixture
    def earlier(self, make_manifest, tmp_path) -> Path:
        make_manifest(tmp_path / "old", "a.avi", options=self.OPTIONS.to_json())
        return tmp_path / "old" / "run.json"

    def expected(self, **changes) -> RunOptions:
        plain = self.OPTIONS.to_json() | {"force": False} | changes
        return RunOptions.from_json(plain)

    def test_repeats_options_and_input(self, earlier, pipeline, invoke, tmp_path) -> None:
        done = invoke("run", "--from-json", earlier, "--out", tmp_path / "new")
        assert done.exit_code == 0, done.stderr
        assert pipeline.calls == [("a.avi", tmp_path / "new", self.expected())]

    def test_what_is_given_besides_is_changed(self, earlier, pipeline, invoke, tmp_path) -> None:
        out = tmp_path / "new"
        done = invoke("run", "b.avi", "--k", 5, "--from-json", earlier, "--out", out, "--reweight")
        assert done.exit_code == 0
        assert pipeline.calls == [("b.avi", out, self.expected(k=5, reweight=True))]

    @pytest.mark.parametrize("force", [[], ["--force"]])
    def test_out_is_where_it_was(self, earlier, force, pipeline, invoke) -> None:
        assert invoke("run", "--from-json", earlier, *force).exit_code == 0
        assert invoke("run", "--from-json", earlier.parent, *force).exit_code == 0
        call = ("a.avi", earlier.parent, self.expected(force=bool(force)))
        assert pipeline.calls == [call, call]

    def test_another_content_is_noticed(self, earlier, pipeline, invoke, tmp_path) -> None:
        def act(path, out):
            found = type(pipeline).run.__globals__["FakeResult"](out)
            found.manifest["input"] = {"sha256": digest}
            return found

        pipeline.act = act
        digest = "ab" * 32
        done = invoke("run", "--from-json", earlier, "--out", tmp_path / "same")
        assert "not the same file" not in done.stderr
        digest = "cd"
        done = invoke("run", "--from-json", earlier, "--out", tmp_path / "other")
        assert "warning: a.avi is not the same file" in done.stderr
        done = invoke("run", "b.avi", "--from-json", earlier, "--out", tmp_path / "new")
        assert "not the same file" not in done.stderr

    @pytest.mark.parametrize(
        ("change", "code", "message"),
        [
            (
                {"options": {"kk": 1, "source": {}}},
                3,
                "option 'kk' is not known to this version of bgsub",
            ),
            ({"options": {"k": 0, "source": {}}}, 3, "--k 0: must be"),
            ({"options": {"k": 2.5, "source": {}}}, 3, "--k 2.5: must be"),
            ({"options": {"source": {"zoom": 1}}}, 3, "'zoom' is not known"),
            ({"options": 7}, 3, "is damaged"),
            ({"input": None}, 3, "is damaged"),
            ({"command": "apply"}, 2, "was written by bgsub apply; only a run can be repeated"),
            ({"schema_version": 99}, 3, "schema version 99"),
        ],
    )
    def test_a_manifest_that_makes_no_sense(
        self, earlier, change, code, message, pipeline, invoke, tmp_path
    ) -> None:
        earlier.write_text(json.dumps(json.loads(earlier.read_text()) | change))
        done = invoke("run", "--from-json", earlier, "--out", tmp_path / "new")
        assert (done.exit_code, done.stdout) == (code, "")
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
        assert pipeline.calls == []

    def test_a_missing_manifest(self, pipeline, invoke, tmp_path) -> None:
        done = invoke("run", "--from-json", tmp_path / "none.json", "--out", tmp_path / "new")
        assert done.exit_code == InputError.exit_code
        assert "none.json" in done.stderr


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
    assert invoke("apply", "m.npz", "a.avi", "b.avi", "--out", tmp_path).exit_code == 6
    assert [call[2] for call in pipeline.calls] == [tmp_path / "a", tmp_path / "b"]


def test_options_of_the_fit_are_unknown(pipeline, invoke, tmp_path) -> None:
    done = invoke("apply", "m.npz", "a.avi", "--out", tmp_path, "--n-init", "3")
    assert done.exit_code == 2
    assert "no such option '--n-init'" in done.stderr


def test_an_input_is_needed(pipeline, invoke, tmp_path) -> None:
    done = invoke("apply", "m.npz", "--out", tmp_path)
    assert done.exit_code == 2
    assert "no INPUT is given" in done.stderr
