"""Options: ranges, and the way to JSON and back."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import UsageError
from bgsub.options import DEFAULT_OUTPUTS, OUTPUTS, RunOptions, SourceOptions


def test_the_defaults_are_the_documented_ones():
    options = RunOptions()
    assert (options.k, options.n_init, options.reweight) == ("auto", 10, True)
    assert (options.format, options.foreground) == ("mp4", "abs")
    assert options.outputs == DEFAULT_OUTPUTS == set(OUTPUTS) - {"preview", "spectrum", "scores"}


@given(
    k=st.integers(1, 99) | st.just("auto"),
    cutoff=st.none() | st.floats(0.1, 1e6),
    outputs=st.sets(st.sampled_from(OUTPUTS)),
    start=st.none() | st.integers(1, 99) | st.just("1.5s"),
    roi=st.none() | st.tuples(*[st.integers(0, 999)] * 4),
    clean=st.booleans(),
)
def test_json_and_back_is_the_same(k, cutoff, outputs, start, roi, clean):
    source = SourceOptions(start=start, roi=roi, scale=0.5, mask_image="m.png")
    given = {"k": k, "cutoff": cutoff, "outputs": frozenset(outputs), "clean": clean}
    options = RunOptions(**given, ignore="clock.png", source=source)
    assert RunOptions.from_json(json.loads(json.dumps(options.to_json()))) == options


def test_json_holds_every_option():
    plain = RunOptions().to_json()
    assert set(plain) == {field.name for field in dataclasses.fields(RunOptions)}
    assert set(plain["source"]) == {field.name for field in dataclasses.fields(SourceOptions)}


@pytest.mark.parametrize("plain", [{"kk": 1}, {"source": {"kk": 1}}])
def test_an_unknown_option_is_named(plain):
    with pytest.raises(UsageError, match="'kk'"):
        RunOptions.from_json(plain)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 0),
        ("k", -3),
        ("k", 2.5),
        ("k", "10"),
        ("k", None),
        ("support_fraction", 0.4),
        ("support_fraction", 1.01),
        ("support_fraction", math.nan),
        ("n_init", 0),
        ("tol", -1e-9),
        ("tol", math.inf),
        ("max_iter", 0),
        ("seed", -1),
        ("cutoff", 0.0),
        ("cutoff", math.inf),
        ("format", "avi"),
        ("foreground", "red"),
        ("threshold", -1.0),
        ("threshold", 256.0),
        ("threshold", math.nan),
        ("min_area", -1),
        ("plot_format", "pdf"),
        ("threads", 0),
        ("fit_frames", 1),
    ],
)
def test_a_value_out_of_range_is_named_with_its_rule(name, value):
    with pytest.raises(UsageError) as caught:
        RunOptions(**{name: value})
    message = str(caught.value)
    assert message.startswith(f"--{name.replace('_', '-')} {value}: must be ")
    assert "\n" not in message


@pytest.mark.parametrize("name", ["support_fraction", "cutoff", "threshold", "min_area", "threads"])
def test_none_leaves_the_choice_to_bgsub(name):
    assert getattr(RunOptions(**{name: None}), name) is None


@pytest.mark.parametrize(
    "values", [{"support_fraction": 0.5}, {"support_fraction": 1.0}, {"tol": 0.0}, {"seed": 0}]
)
def test_bounds_are_included(values):
    assert RunOptions(**values)


def test_an_unknown_output_is_named_with_the_known_ones():
    with pytest.raises(UsageError, match=r"'heatmap'.*background, foreground"):
        RunOptions(outputs=frozenset({"mask", "heatmap"}))


@pytest.mark.parametrize(
    "option", [{"n_init": 5}, {"tol": 1e-3}, {"max_iter": 7}, {"reweight": False}]
)
def test_options_of_trpca_are_refused_with_other_methods(option):
    RunOptions(**option)
    with pytest.raises(UsageError, match="has no effect with --method pca"):
        RunOptions(method="pca", **option)
