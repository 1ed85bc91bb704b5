"""bgsub report: one page for a result, and a list of several."""

import json
import shutil

import pytest


@pytest.fixture
def results(made, tmp_path):
    """The results of a run, lossless, in a folder of the test's own."""
    return shutil.copytree(made / "results", tmp_path / "results")


def test_a_page_and_copies_are_written_and_said(results, invoke):
    done = invoke("report", results)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    page = results / "report.html"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert f"{page} is written" in done.stderr
    assert "input.mp4: a copy that browsers play" in done.stderr
    assert {path.name for path in (results / "report_files").iterdir()} == {"input.mp4", "mask.mp4"}
    left_out = "views that were not written are left out: background (1 page), foreground (1 page)"
    assert done.stderr.count(left_out) == 1
    assert "not shown" not in done.stderr
    assert 'id="view-background"' not in page.read_text(encoding="utf-8")


def test_nothing_is_replaced_without_force(results, invoke):
    (results / "report.html").write_text("mine")
    done = invoke("report", results)
    assert done.exit_code == 5
    assert "report.html: exists; replace it with --force" in done.stderr
    assert (results / "report.html").read_text() == "mine"
    assert not (results / "report_files").exists()
    assert invoke("report", results, "--force").exit_code == 0
    (results / "report.html").unlink()
    done = invoke("report", results)
    assert done.exit_code == 5
    assert "report_files: exists" in done.stderr


def test_without_copies_nothing_else_is_written(results, invoke, contents):
    before = set(contents(results))
    done = invoke("report", results, "--no-copies", "-o", results / "p.html")
    assert done.exit_code == 0
    assert set(contents(results)) == before | {"p.html"}
    assert "mask is not shown: browsers do not play mask.mkv" in done.stderr


def test_a_preview_is_announced_and_is_all_that_is_written(results, invoke, tmp_path, contents):
    before = set(contents(tmp_path))
    done = invoke("report", results, "--standalone", "-o", tmp_path / "mail.html")
    assert done.exit_code == 0
    said, written = done.stderr.index("frames will add about"), done.stderr.index("is written")
    assert said < written
    assert set(contents(tmp_path)) == before | {"mail.html"}
    assert (tmp_path / "mail.html").read_text().count("data:video/mp4;base64,") == 2


def test_several_results_have_a_list(results, invoke, tmp_path):
    shutil.copytree(results, tmp_path / "b & <two>")
    done = invoke("report", tmp_path)
    assert done.exit_code == 0, done.stderr
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'href="b%20%26%20%3Ctwo%3E/report.html"' in text
    assert 'href="results/report.html"' in text
    assert (tmp_path / "b & <two>" / "report.html").exists()
    assert "lists 2 results" in done.stderr
    assert done.stderr.count("left out: background (2 pages), foreground (2 pages)") == 1


def test_one_that_fails_does_not_stop_the_others(results, invoke, tmp_path):
    other = shutil.copytree(results, tmp_path / "damaged")
    (other / "objects.csv").write_text("nonsense")
    out = tmp_path / "index.html"
    done = invoke("report", results, other, tmp_path / "nowhere", "-o", out)
    assert done.exit_code == 6
    assert "objects.csv" in done.stderr
    assert "holds no finished results" in done.stderr
    assert "lists 1 result\n" in done.stderr
    assert out.read_text(encoding="utf-8").count("<tr data-events") == 1


@pytest.mark.parametrize("command", ["compare", "clips", "background"])
def test_other_results_are_refused(command, results, invoke):
    manifest = json.loads((results / "run.json").read_text())
    del manifest["input"]
    (results / "run.json").write_text(json.dumps({**manifest, "command": command}))
    done = invoke("report", results)
    assert done.exit_code == 3
    assert f"was written by bgsub {command}" in done.stderr


def test_places_that_cannot_be_written_are_refused_before_any_work(results, invoke, tmp_path):
    done = invoke("report", results, "-o", tmp_path / "none" / "p.html")
    assert done.exit_code == 5
    assert "its folder does not exist" in done.stderr
    (tmp_path / "link.html").symlink_to(tmp_path / "elsewhere")
    assert invoke("report", results, "-o", tmp_path / "link.html", "--force").exit_code == 5


def test_a_page_that_the_run_wrote_stays(results, invoke, tmp_path):
    manifest = json.loads((results / "run.json").read_text())
    manifest["outputs"]["report.html"] = {"bytes": 4, "sha256": "0" * 64}
    (results / "run.json").write_text(json.dumps(manifest))
    (results / "report.html").write_text("mine")
    shutil.copytree(results, tmp_path / "other")
    assert invoke("report", tmp_path, "-o", tmp_path / "index.html").exit_code == 0
    assert (results / "report.html").read_text() == "mine"
