"""What a run leaves behind: its manifest, and what it found, in words."""

import json

from bgsub.pipeline.run import run


def test_the_result_is_what_the_manifest_says(whole_run):
    result = whole_run.result
    assert result.out == whole_run.out
    assert result.manifest["findings"] == result.findings
    assert result.manifest["hints"] == result.hints
    assert result.manifest == json.loads((result.out / "run.json").read_text(encoding="utf-8"))


def test_a_result_fits_on_a_screen(whole_run):
    assert len(repr(whole_run.result)) < 2000


def test_frames_and_events_of_a_fit(whole_run):
    manifest = whole_run.result.manifest
    frames = manifest["frames"]
    assert (frames["used"], frames["outliers"], frames["after_scene_change"]) == (48, 16, 0)
    (event,) = manifest["events"]
    assert (event["first_frame"], event["last_frame"]) == (33, 48)
    assert manifest["cutoff"] > 0


def test_without_a_fit_nothing_is_known_of_outliers(save, scene, options, tmp_path):
    manifest = run(save(scene()), tmp_path / "out", options(outputs={"mask"})).manifest
    assert manifest["frames"]["used"] == 48
    assert manifest["frames"]["outliers"] is None
    assert manifest["cutoff"] is manifest["events"] is manifest["scene_change"] is None


def test_damaged_frames_are_found(images, scene, options, tmp_path):
    folder = images(scene(n=40), broken=(7, 9))
    found = run(folder, tmp_path / "out", options(outputs={"mask"})).findings
    assert any("7, 9" in finding for finding in found)
