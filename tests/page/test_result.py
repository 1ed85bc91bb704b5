"""A result is read with all its tables; one without errors counts its frames by its rate."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.outliers.errors_table import read_csv
from bgsub.page.result import read_result


class TestReadResult:
    def test_tables_are_those_of_the_run(self, result, reported):
        table = read_csv(reported / "errors.csv")
        np.testing.assert_array_equal(result.numbers, table.frames)
        np.testing.assert_array_equal(result.times, table.times)
        assert result.events
        assert {seen.track for seen in result.objects} == {track.track for track in result.tracks}
        frames = [seen.frame for seen in result.objects]
        assert frames == sorted(frames)
        assert result.name == "clip.npy"

    def test_without_errors_frames_are_counted(self, reported, manifest_of, tmp_path):
        folder = shutil.copytree(reported, tmp_path / "r")
        (folder / "errors.csv").unlink()
        manifest = manifest_of(folder)
        manifest["input"]["rate"] = "10"
        found = read_result(folder, manifest)
        assert found.table is None
        np.testing.assert_array_equal(found.numbers, np.arange(1, 49))
        np.testing.assert_allclose(found.times, np.arange(48) / 10)
        assert found.score(found.events[0]) is None

    def test_a_run_without_frames_is_refused(self, reported, manifest_of, tmp_path):
        folder = shutil.copytree(reported, tmp_path / "r")
        (folder / "errors.csv").unlink()
        manifest = manifest_of(folder)
        manifest["frames"]["used"] = 0
        with pytest.raises(InputError, match="used no frame"):
            read_result(folder, manifest)

    def test_what_another_command_wrote_is_refused(self, tmp_path):
        with pytest.raises(InputError, match="written by bgsub compare"):
            read_result(tmp_path, {"command": "compare"})


def test_a_frame_that_was_not_used_has_the_place_of_the_next(result):
    object.__setattr__(result, "numbers", np.array([2, 4, 6]))
    assert [result.place(number) for number in (1, 2, 3, 6, 9)] == [0, 0, 1, 2, 2]


def test_the_score_of_an_event_is_the_highest_of_its_frames(result):
    event = result.events[0]
    inside = (result.numbers >= event.first_frame) & (result.numbers <= event.last_frame)
    assert result.score(event) == result.table.highest[inside].max()


def test_the_region_is_the_roi_or_the_picture(result):
    facts = result.manifest["input"]
    assert result.region == (0, 0, facts["width"], facts["height"])
    result.manifest["options"]["source"]["roi"] = [1, 2, 3, 4]
    assert result.region == (1, 2, 3, 4)


def test_the_trust_of_an_event_is_the_mean_of_its_masks(result):
    event = replace(result.events[0], first_frame=11, last_frame=20)
    spans = [[1, 10, 0.1], [11, 15, 0.8], [16, 30, 0.4]]
    manifest = {**result.manifest, "mask_trust": spans}
    assert replace(result, manifest=manifest).trust(event) == pytest.approx(0.6)
    late = replace(event, first_frame=40, last_frame=41)
    assert replace(result, manifest=manifest).trust(late) is None
    assert replace(result, manifest={}).trust(event) is None
