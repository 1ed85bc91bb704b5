"""The command on a page repeats the run: it is read back as the options that it was made of."""

import shlex

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.cli import options as shared
from bgsub.cli.run import run_command
from bgsub.options import DEFAULT_OUTPUTS, OUTPUTS, RunOptions, SourceOptions
from bgsub.page.result import command_line
from tests.conftest import make_facts


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


@given(st.sets(st.sampled_from(OUTPUTS), min_size=1), st.integers(1, 50), st.floats(0.5, 1))
def test_any_outputs_are_read_back(outputs, k, share):
    options = RunOptions(outputs=outputs, k=k, support_fraction=share)
    assert read_back(command_line(make_facts(options=options.to_json())))[1] == options


def test_an_array_has_no_command_and_apply_has_its_model():
    assert command_line(make_facts("x.npy", input={"path": None})) is None
    line = command_line(make_facts(command="apply", model="my model.npz"))
    assert shlex.split(line)[:4] == ["bgsub", "apply", "my model.npz", "/gone/a.avi"]
