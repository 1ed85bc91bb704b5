"""Options: ranges, and the way to JSON and back."""

from __future__ import annotations

import dataclasses
import json
import math
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bgsub
from bgsub.errors import InputError, UsageError
from bgsub.options import DEFAULT_OUTPUTS, EXTRA_OUTPUTS, OUTPUTS, RunOptions, SourceOptions
from bgsub.video.images import read_image

ROOT = Path(__file__).resolve().parent.parent


def test_the_defaults_are_the_documented_ones():
    options = RunOptions()
    assert (options.k, options.n_init, options.reweight) == ("auto", 10, True)
    assert (options.format, options.foreground) == ("mp4", "abs")
    assert options.outputs == DEFAULT_OUTPUTS == set(OUTPUTS) - EXTRA_OUTPUTS


@given(
    k=st.integers(1, 99) | st.just("auto"),
    cutoff=st.none() | st.floats(0.1, 1e6),
    outputs=st.sets(st.sampled_from(OUTPUTS)),
    start=st.none() | st.integers(1, 99) | st.just("1.5s"),
    roi=st.none() | st.tuples(*[st.integers(0, 999)] * 2, *[st.integers(1, 999)] * 2),
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
        ("fit_frames", "most"),
        ("jobs", 0),
        ("reweight", 1),
        ("clean", "yes"),
        ("memory", "much"),
        ("ignore", 7),
        ("method", "svd"),
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
    with pytest.raises(UsageError, match=r"--only heat: .*background, foreground"):
        RunOptions(outputs=frozenset({"mask", "heat"}))


def test_values_are_stored_in_their_own_types(tmp_path):
    options = RunOptions(
        outputs=["mask", "errors"],
        threads=np.int64(2),
        ignore=tmp_path / "clock.png",
        source=SourceOptions(roi=[1, 2, 3, 4], scale=1),
    )
    assert options.outputs == frozenset({"mask", "errors"})
    assert (type(options.threads), type(options.ignore)) == (int, str)
    assert (options.source.roi, type(options.source.scale)) == ((1, 2, 3, 4), float)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start", 0),
        ("start", "soon"),
        ("end", [3]),
        ("every", "0s"),
        ("scale", 0),
        ("scale", math.inf),
        ("roi", (1, 2, 3)),
        ("roi", (0, 0, 0, 9)),
        ("mask_image", 3),
        ("color", "blue"),
        ("on_bad_frame", None),
        ("fps", 0),
        ("fps", "often"),
        ("fps", "1/0"),
        ("fps", True),
        ("fps", math.nan),
        ("fps", 1e-300),
    ],
)
def test_options_of_the_input_are_checked_too(name, value):
    with pytest.raises(UsageError, match=f"^--{name.replace('_', '-')} "):
        SourceOptions(**{name: value})


def test_the_end_does_not_lie_before_the_start():
    with pytest.raises(UsageError, match="end 5 lies before start 9"):
        SourceOptions(start=9, end="5")


@pytest.mark.parametrize(
    ("plain", "error"),
    [
        *((shape, InputError) for shape in (7, None, [], {"source": 7}, {"source": None})),
        *((value, UsageError) for value in ({"k": None}, {"seed": math.nan}, {"k": math.inf})),
    ],
)
def test_json_of_a_wrong_shape_is_refused_in_a_line(plain, error):
    with pytest.raises(error) as caught:
        RunOptions.from_json(plain)
    assert "\n" not in str(caught.value)


def test_what_json_lacks_has_its_default():
    assert RunOptions.from_json({"k": 3}) == RunOptions(k=3)


@pytest.mark.parametrize("kind", [RunOptions, SourceOptions])
def test_the_docstring_says_every_option(kind):
    for one in dataclasses.fields(kind):
        assert one.name == "source" or f"\n{one.name} : {one.type}\n    " in kind.__doc__


def test_the_tables_of_the_documentation_are_those_of_the_declarations(capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    runpy.run_module("benchmarks.option_tables", run_name="__main__")
    printed = capsys.readouterr().out
    assert (ROOT / "docs" / "options.md").read_text(encoding="utf-8") == printed


def test_a_smallest_area_above_the_largest_is_refused():
    with pytest.raises(UsageError, match="--min-area 500 is more than --max-area 20"):
        RunOptions(min_area=500, max_area=20)
    assert RunOptions(min_area=20, max_area=20).max_area == 20


def test_areas_are_pixels_of_the_input_whatever_the_scale():
    half = SourceOptions(scale=0.5)
    assert RunOptions(min_area=200, max_area=200, source=half).min_area == 200
    with pytest.raises(UsageError, match="--min-area 201 is more than --max-area 200"):
        RunOptions(min_area=201, max_area=200, source=half)


def test_lines_have_names_of_their_own():
    with pytest.raises(UsageError, match="--line gate: is there twice"):
        RunOptions(line=("gate:1,2,3,4", "gate:5,6,7,8"))
    assert len(RunOptions(line=("gate:1,2,3,4", "gate:1,2,3,4", "5,6,7,8")).line) == 2


def visited():
    """Frames of a place, the last with an object of 400 pixels."""
    rng = np.random.default_rng(0)
    place = np.kron(rng.integers(80, 120, (15, 20)), np.ones((4, 4)))
    frames = (place + rng.normal(0, 2, (12, 60, 80))).astype(np.uint8)
    frames[9:, 20:40, 20:40] = 220
    return frames


@pytest.mark.parametrize(("model", "scale"), [("paper", 1.0), ("paper", 0.5), ("local", 0.5)])
def test_a_smallest_area_is_the_same_at_every_scale(model, scale):
    """An object of 400 pixels stays with 200 as the least and goes with 600, scaled or not."""
    frames = visited()
    for least in (200, 600):
        *_, (_, mask) = bgsub.masks(frames, model=model, k=1, scale=scale, min_area=least)
        assert mask.any() == (least == 200)


def test_a_smallest_area_is_that_of_the_input_for_a_scaled_model_too(tmp_path):
    frames = visited()
    half = bgsub.RunOptions(k=1, outputs={"model"}, source=bgsub.SourceOptions(scale=0.5))
    bgsub.run(frames, tmp_path / "run", half)
    for least in (200, 600):
        out = tmp_path / str(least)
        chosen = bgsub.RunOptions(outputs={"mask"}, format="png", min_area=least)
        bgsub.apply(tmp_path / "run" / "model.npz", frames, out, chosen)
        last = max((out / "mask").iterdir())
        assert read_image(last).any() == (least == 200)
