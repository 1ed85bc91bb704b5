"""Options that are typed and have no effect are named in one warning, and the run goes on."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--model paper --shadows drop", "--shadows has no effect with --model paper"),
        ("--model paper --fill-holes", "--fill-holes has no effect with --model paper"),
        ("--threshold 30 --sensitivity normal", "--sensitivity has no effect with --threshold"),
        ("--method pca --n-init 10", "--n-init has no effect with --method pca"),
        ("--lambda 1", "--lambda has no effect with --method trpca"),
        ("--method pca --shadows drop", "--shadows has no effect with --method pca"),
        ("--method pca --reweight", "--reweight has no effect with --method pca"),
        ("--method pca --no-reweight", "--no-reweight has no effect with --method pca"),
        ("--only mask --k auto", "--k has no effect with --only mask, for such masks need no fit"),
        ("--only errors --clean", "--clean has no effect with --only errors, for no mask is made"),
        ("--only errors --no-clean", "--no-clean has no effect with --only errors"),
        ("--only errors --threshold 30", "--threshold has no effect with --only errors"),
        ("--only mask --max-gap 1", "--max-gap has no effect with --only mask, for no object is"),
        ("--only errors,model --format mp4", "--format has no effect with --only errors,model"),
        ("--only preview --format mkv", "--format has no effect with --only preview"),
        ("--only mask --foreground abs", "--foreground has no effect with --only mask"),
        ("--only errors --plot-format svg", "--plot-format has no effect with --only errors"),
    ],
)
def test_what_is_typed_and_does_nothing(invoke, pipeline, arguments, words, tmp_path):
    done = invoke("run", "a.avi", *arguments.split(), "--out", tmp_path / "r")
    assert done.exit_code == 0
    assert words in done.stderr
    assert done.stderr.count("warning: ") == 1
    assert len(pipeline.calls) == 1


def test_one_warning_names_all(invoke, pipeline, tmp_path):
    given = "--only mask --k 10 --n-init 5 --shadows drop --threshold 9 --plot-format svg"
    done = invoke("run", "a.avi", *given.split(), "--out", tmp_path / "r")
    assert done.exit_code == 0
    (line,) = [one for one in done.stderr.splitlines() if one.startswith("warning: ")]
    assert line == (
        "warning: --plot-format has no effect with --only mask, for nothing is plotted; "
        "--shadows has no effect with --threshold"
    )
    given = "--only mask --k 10 --n-init 5 --seed 1"
    done = invoke("run", "a.avi", *given.split(), "--out", tmp_path / "s")
    words = "--k, --n-init have no effect with --only mask, for such masks need no fit"
    assert done.stderr.startswith(f"warning: {words}\n")


def test_contradictions_are_refused(invoke, pipeline, tmp_path):
    for given in ("--model local --threshold 30", "--cutoff 3 --false-alarms 1/100"):
        done = invoke("run", "a.avi", *given.split(), "--out", tmp_path / "r")
        assert (done.exit_code, pipeline.calls) == (2, [])


@pytest.mark.parametrize(
    "arguments",
    [
        "--shadows drop --format mp4 --k auto --max-gap 1 --foreground abs --plot-format png",
        "--only mask --model paper --k 3",  # the formula needs a background
        "--only foreground --threshold 30 --format mkv",
        "--only errors --k 3 --n-init 10 --seed 0 --cutoff 12",
        "--only tracks --max-gap 1 --min-area 0",
        "--only scores --format png",
        "--only overlay --line A:1,2,3,4",
        "--method pcp --lambda 0.1",
    ],
)
def test_what_has_an_effect(invoke, pipeline, arguments, tmp_path):
    done = invoke("run", "a.avi", *arguments.split(), "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    assert len(pipeline.calls) == 1


def test_options_of_an_earlier_run_may_have_no_effect(invoke, pipeline, tmp_path):
    first = tmp_path / "first"
    done = invoke("run", "a.avi", "--format", "png", "--shadows", "keep", "--out", first)
    assert done.exit_code == 0, done.stderr
    again = ("run", "a.avi", "--from-json", first, "--only", "errors", "--out", tmp_path / "again")
    assert "warning" not in invoke(*again).stderr
    assert "--format has no effect" in invoke(*again, "--format", "png", "--force").stderr


def test_apply(invoke, pipeline, tmp_path):
    (tmp_path / "model.npz").touch()
    command = ("apply", tmp_path / "model.npz", "a.avi", "--out", tmp_path / "r")
    done = invoke(*command, "--only", "errors", "--min-track", "3")
    assert done.exit_code == 0
    assert "--min-track has no effect with --only errors, for no object is followed" in done.stderr
    assert "warning" not in invoke(*command, "--only", "tracks", "--min-track", "3").stderr
