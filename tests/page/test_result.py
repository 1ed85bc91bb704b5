"""A result is read with all its tables; the command on its page repeats the run."""

import shlex
import shutil
from dataclasses import replace

import click
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.cli import options as shared
from bgsub.cli.run import run_command
from bgsub.errors import InputError
from bgsub.options import DEFAULT_OUTPUTS, OUTPUTS, RunOptions, SourceOptions
from bgsub.outliers.errors_table import read_csv
from bgsub.page.result import command_line, fact_rows, read_result
from tests.conftest import make_facts


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
        manifest["options"]["source"]["every"], manifest["frames"]["used"] = "3", 16
        found = read_result(folder, manifest)
        np.testing.assert_array_equal(found.numbers, np.arange(1, 49, 3))
        np.testing.assert_allclose(found.times, np.arange(0, 48, 3) / 10)

    def test_a_run_without_frames_is_refused(self, reported, manifest_of, tmp_path):
        folder = shutil.copytree(reported, tmp_path / "r")
        (folder / "errors.csv").unlink()
        manifest = manifest_of(folder)
        manifest["frames"]["used"] = 0
        with pytest.raises(InputError, match="used no frame"):
            read_result(folder, manifest)

    @pytest.mark.parametrize(("given", "shown"), [(True, "yes"), (False, "no"), (10**20, None)])
    def test_whether_the_fit_converged_is_yes_or_no_or_left_out(self, result, given, shown):
        rows = fact_rows(dict(result.manifest) | {"converged": given})
        assert dict(rows).get("The fit converged") == shown

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


def read_back(line):
    words = shlex.split(line)
    assert words[:2] == ["bgsub", "run"]
    context = click.Context(run_command)
    run_command.parse_args(context, words[2:])
    return context.params["inputs"], shared.run_options(context.params)


ODD = [
    RunOptions(),
    RunOptions(k=10, outputs=DEFAULT_OUTPUTS | {"scores", "report"}),
    RunOptions(outputs={"mask", "errors"}, reweight=False, max_gap=2.5),
    RunOptions(source=SourceOptions(roi=(1, 2, 30, 40), start="12.5s", every="3", scale=0.5)),
    RunOptions(line=["door:1,2,3,4", "5,6,7,8"], fill_holes=False, false_alarms=0.01),
    RunOptions(ignore="a b'c.png", source=SourceOptions(mask_image="-x.png")),
]


@pytest.mark.parametrize("options", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("path", ["water.avi", "-x.avi", "a b; rm -rf 'c' & <d>.avi"])
def test_it_is_read_back(options, path):
    line = command_line(make_facts(path, options=options.to_json()))
    inputs, read = read_back(line)
    assert inputs == (path if not path.startswith("-") else f"./{path}",)
    assert read == options


@settings(max_examples=25)
@given(st.sets(st.sampled_from(OUTPUTS), min_size=1), st.integers(1, 50), st.floats(0.5, 1))
def test_any_outputs_are_read_back(outputs, k, share):
    options = RunOptions(outputs=outputs, k=k, support_fraction=share)
    assert read_back(command_line(make_facts(options=options.to_json())))[1] == options


def test_an_array_has_no_command_and_apply_has_its_model():
    assert command_line(make_facts("x.npy", input={"path": None})) is None
    line = command_line(make_facts(command="apply", model="my model.npz"))
    assert shlex.split(line)[:4] == ["bgsub", "apply", "my model.npz", "/gone/a.avi"]
