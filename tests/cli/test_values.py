from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.cli import values
from bgsub.errors import OutputError, UsageError
from bgsub.options import OUTPUTS

K = click.Option(["--k"])


@given(st.integers(1, 10**9))
def test_counts_are_read(number: int) -> None:
    assert values.COUNT.convert(str(number), K, None) == number
    assert values.COUNT.convert(number, K, None) == number


@given(
    st.one_of(st.integers(max_value=0), st.text().filter(lambda text: not text.strip().isdigit()))
)
def test_what_is_no_count_is_refused_by_name_and_value(value: int | str) -> None:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number >= 1:  # as +3 and 1_0, which Python reads too
        return
    with pytest.raises(UsageError, match="must be a whole number of 1 or more") as caught:
        values.COUNT.convert(value, K, None)
    assert str(caught.value).startswith(f"--k {value}: ")


@pytest.mark.parametrize("value", [2.5, True, None, [], "2.5", "nan", "1e3"])
def test_counts_are_whole(value) -> None:
    with pytest.raises(UsageError):
        values.COUNT.convert(value, K, None)


def test_ranks_are_counts_or_auto() -> None:
    assert [values.RANK.convert(value, K, None) for value in ("auto", " Auto ", "3", 4)] == [
        *("auto", "auto"),
        *(3, 4),
    ]
    with pytest.raises(UsageError, match="--k 0: must be a whole number of 1 or more, or auto"):
        values.RANK.convert("0", K, None)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0", "-1", "x", ""])
def test_positive_numbers(value) -> None:
    with pytest.raises(UsageError, match="must be a number above 0"):
        values.POSITIVE.convert(value, K, None)
    assert values.POSITIVE.convert("0.5", K, None) == 0.5


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (values.FRACTION, ["0.5", "1", "0.75"], ["0.49", "1.01", "50%"]),
        (values.LEVEL, ["0", "255", "12.5"], ["-1", "256"]),
        (values.TOLERANCE, ["0", "1e-7"], ["-1e-9"]),
        (values.COUNT_OR_ZERO, ["0", "7"], ["-1"]),
    ],
)
def test_ranges_include_their_ends(kind, good, bad) -> None:
    for value in good:
        assert kind.convert(value, K, None) == float(value)
    for value in bad:
        with pytest.raises(UsageError, match="must be"):
            kind.convert(value, K, None)


def test_positions_are_kept_as_they_are_written() -> None:
    start = click.Option(["--start"])
    for text in ("250", "12.5s", "00:01:02.5"):
        assert values.POSITION.convert(text, start, None) == text
    with pytest.raises(UsageError, match="--start 0: frames are counted from 1"):
        values.POSITION.convert("0", start, None)
    with pytest.raises(UsageError, match="--every 0s: must be"):
        values.STEP.convert("0s", click.Option(["--every"]), None)


def test_regions() -> None:
    assert values.REGION.convert("1,2,30,40", None, None) == (1, 2, 30, 40)
    assert values.REGION.convert([1, 2, 30, 40], None, None) == (1, 2, 30, 40)
    with pytest.raises(UsageError, match=r"--roi '1,2' is not understood; give X,Y,W,H"):
        values.REGION.convert("1,2", None, None)
    with pytest.raises(UsageError, match="W and H 1 or more"):
        values.REGION.convert("1,2,0,4", None, None)


@given(st.lists(st.sampled_from(OUTPUTS), min_size=1))
def test_output_names(names: list[str]) -> None:
    assert values.OUTPUT_NAMES.convert(" , ".join(names), None, None) == frozenset(names)
    assert values.OUTPUT_NAMES.convert(names, None, None) == frozenset(names)


@pytest.mark.parametrize("value", ["", "mask,", "masks", "mask errors"])
def test_unknown_outputs_are_named(value) -> None:
    with pytest.raises(UsageError, match="is no output; choose from background,foreground,mask"):
        values.OUTPUT_NAMES.convert(value, click.Option(["--only"]), None)


def test_sample_sizes() -> None:
    option = click.Option(["--fit-frames"])
    assert values.FRAMES.convert("50", option, None) == 50
    assert values.FRAMES.convert("Auto", option, None) is None
    with pytest.raises(UsageError, match="--fit-frames 1: must be a whole number of 2 or more"):
        values.FRAMES.convert("1", option, None)


def test_amounts_of_memory_are_kept_as_they_are_written() -> None:
    option = click.Option(["--memory"])
    for text in ("600M", "4G", "50%"):
        assert values.MEMORY.convert(text, option, None) == text
    for bad in ("much", "0", "200%", 7, None):
        with pytest.raises(UsageError, match=f"--memory {bad}: must be an amount such as 600M"):
            values.MEMORY.convert(bad, option, None)


def test_folders_are_looked_at_before_any_work(tmp_path) -> None:
    option = click.Option(["--temp"])
    assert values.FOLDER.convert(str(tmp_path), option, None) == str(tmp_path)
    with pytest.raises(OutputError, match=r"--temp .*none: does not exist"):
        values.FOLDER.convert(str(tmp_path / "none"), option, None)
