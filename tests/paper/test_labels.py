from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import InputError
from bgsub.paper.options import UNKNOWN, read_labels

NUMBERS = np.arange(1, 11)


@pytest.fixture
def write(tmp_path):
    def write_text(text):
        path = tmp_path / "frames.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write_text


def test_frames_that_are_not_listed_are_unknown(write):
    labels = read_labels(write("frame,outlier\n2,0\n3,1\n99,1\n"), NUMBERS)
    assert labels[1] == 0
    assert labels[2] == 1
    assert (np.delete(labels, [1, 2]) == UNKNOWN).all()


@pytest.mark.parametrize("header", ["first,last", "first_frame,last_frame", " First , LAST "])
def test_spans_leave_all_others_ordinary(write, header):
    labels = read_labels(write(f"{header}\n3,4\n\n9,20\n"), NUMBERS)
    assert np.flatnonzero(labels == 1).tolist() == [2, 3, 8, 9]
    assert (labels >= 0).all()


def test_columns_may_stand_in_any_order_among_others(write):
    text = "﻿time_s,outlier,frame,score\n0.1,1,4,7\n0.2,0,5,8\n"
    labels = read_labels(write(text), NUMBERS)
    assert (labels[3], labels[4]) == (1, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "first line must be frame,outlier or first,last"),
        ("a,b\n1,2\n", "first line must be frame,outlier or first,last"),
        ("frame,outlier\n1,2\n", "line 2: outlier 2 is neither 0 nor 1"),
        ("frame,outlier\n1,1\nx,0\n", "line 3: frame 'x' is not a whole number"),
        ("frame,outlier\n1\n", "line 2: outlier is missing"),
        ("first,last\n5,3\n", "line 2: last 3 lies before first 5"),
        ("first,last\n50,60\n", "marks 0 of the 10 frames compared as outliers and 10"),
        ("frame,outlier\n1,1\n2,1\n", "as outliers and 0 as ordinary"),
        (b"\xff\xfe\x00", "is no CSV text file"),
    ],
)
def test_mistakes_are_named(write, text, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read_labels(write(text), NUMBERS)


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_labels(tmp_path / "none.csv", NUMBERS)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("labels") / "frames.csv"
    path.write_bytes(raw)
    with pytest.raises(InputError):
        read_labels(path, NUMBERS)


@given(st.lists(st.booleans(), min_size=10, max_size=10).filter(lambda x: any(x) and not all(x)))
def test_both_forms_say_the_same(tmp_path_factory, flags):
    folder = tmp_path_factory.mktemp("labels")
    (folder / "a.csv").write_text(
        "frame,outlier\n" + "".join(f"{i},{int(f)}\n" for i, f in enumerate(flags, 1))
    )
    (folder / "b.csv").write_text(
        "first,last\n" + "".join(f"{i},{i}\n" for i, f in enumerate(flags, 1) if f)
    )
    first, second = (read_labels(folder / name, NUMBERS) for name in ("a.csv", "b.csv"))
    assert np.array_equal(first, second)
    assert np.array_equal(first, np.array(flags))
