"""--part does its share, and nothing else."""

import numpy as np
import pytest

from tests.conftest import make_scene

FAST = ("--k", "1", "--only", "errors,model", "--model", "paper")


@pytest.fixture
def films(tmp_path):
    paths = []
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "x.npy", make_scene(12, visit=9))
        paths.append(str(tmp_path / name / "x.npy"))
    return paths


def whole(out):
    return sorted(path.parent.name for path in out.glob("*/run.json"))


def test_inputs_are_shared_and_joined(films, tmp_path, invoke):
    out = tmp_path / "out"
    assert invoke("run", *films, *FAST, "--part", "2/2", "--out", out).exit_code == 0
    assert whole(out) == ["x-2"]
    missing = invoke("join", out)
    assert (missing.exit_code, "run again --part 1/2" in missing.stderr) == (6, True)
    first = invoke("run", *films, *FAST, "--part", "1/2", "--out", out)
    assert first.exit_code == 0
    assert f"when all are, `bgsub join {out}`" in first.stderr
    assert whole(out) == ["x", "x-2", "x-3"]
    assert "skipped" in invoke("run", *films, *FAST, "--part", "2/2", "--out", out).stderr
    idle = invoke("run", *films, *FAST, "--part", "4/4", "--out", out)
    assert "nothing to do: there are only 3 inputs" in idle.stderr
    assert invoke("join", out).exit_code == 0


def test_segments_are_shared_and_joined(tmp_path, invoke):
    np.save(tmp_path / "film.npy", make_scene(100, 12, 16, color=False))
    film, out = tmp_path / "film.npy", tmp_path / "out"
    run = ("run", film, *FAST, "--segment", "50", "--out", out, "--part")
    assert "segment 2 of 2 is finished" in invoke(*run, "2/2").stderr
    assert "there are only 2 segments" in invoke(*run, "3/3").stderr
    assert invoke("join", out).exit_code == 6
    assert invoke(*run, "1/2").exit_code == 0
    done = invoke("join", out)
    assert (done.exit_code, "2 segments are joined" in done.stderr) == (0, True)
    assert sorted(path.name for path in out.iterdir()) == ["errors.csv", "models", "run.json"]
    assert "skipped" in invoke(*run, "1/2").stderr


def test_a_film_in_one_piece_is_of_the_first_part(tmp_path, invoke):
    np.save(tmp_path / "film.npy", make_scene(12, visit=9))
    film, out = tmp_path / "film.npy", tmp_path / "out"
    second = invoke("run", film, *FAST, "--part", "2/2", "--out", out)
    assert "the film is one piece, which part 1 does" in second.stderr
    assert invoke("run", film, *FAST, "--part", "1/2", "--out", out).exit_code == 0
    assert invoke("join", out).exit_code == 0


def test_what_makes_no_sense(films, tmp_path, invoke):
    out = tmp_path / "out"
    for more in (("--part", "3/2"), ("--part", "1/2", "--force")):
        failed = invoke("run", *films, *FAST, *more, "--out", out)
        assert (failed.exit_code, failed.stderr.count("\n")) == (2, 1)
    assert not out.exists()
    assert invoke("run", "--part", "1/2", "--out", out).exit_code == 2
