from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bgsub.errors import InputError, OutputError
from bgsub.outliers.errors_table import ErrorTable, read_csv, write_csv
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF
from bgsub.outliers.scene_change import SceneChange

HEADER = "frame,time_s,error,rmse,score,outlier"  # of files of version 0.1
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


def make_table(scores: list[float], **more: object) -> ErrorTable:
    n = len(scores)
    values = {
        "frames": np.arange(1, n + 1),
        "times": np.arange(n) / 25,
        "errors": np.full(n, 1200.0),
        "pixels": 300,
        "scores": np.array(scores),
    }
    return ErrorTable(**{**values, **more})


def test_outliers_and_rmse() -> None:
    table = make_table([0.0, 12.0, 12.1])
    assert table.outliers.tolist() == [False, False, True]
    assert table.rmse == pytest.approx(2.0)
    marked = make_table([0.0, 1.0], marked=np.array([True, False]))
    assert marked.outliers.tolist() == [True, False]


def test_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    write_csv(make_table([-0.5, 1150.25], times=np.array([0.0, 1 / 30])), path)
    assert path.read_bytes().decode("ascii").split("\n") == [
        "frame,time_s,error,rmse,score,outlier,doubtful",
        "1,0,1200,2,-0.5,0,0",
        "2,0.03333333333,1200,2,1150.25,1,0",
        "",
    ]


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_round_trip(data: st.DataObject, tmp_path: Path) -> None:
    frames = sorted(data.draw(st.sets(st.integers(1, 10**7), min_size=1, max_size=20)))
    n = len(frames)
    pixels = data.draw(st.integers(1, 10**7))
    errors = np.array(data.draw(st.lists(st.floats(0, 1e10), min_size=n, max_size=n)))
    errors = np.where(errors < 1e-3, 0.0, errors)
    table = ErrorTable(
        frames=np.array(frames),
        times=np.array(data.draw(st.lists(st.floats(0, 1e6), min_size=n, max_size=n))),
        errors=errors,
        pixels=pixels,
        scores=np.array(data.draw(st.lists(finite, min_size=n, max_size=n))),
        cutoff=data.draw(st.floats(-20, 20)),
    )
    write_csv(table, tmp_path / "e.csv")
    again = read_csv(tmp_path / "e.csv")
    assert again.frames.tolist() == frames
    assert again.outliers.tolist() == table.outliers.tolist()
    np.testing.assert_allclose(again.times, table.times, rtol=1e-9)
    np.testing.assert_allclose(again.errors, table.errors, rtol=1e-9)
    np.testing.assert_allclose(again.scores, table.scores, rtol=1e-7)
    np.testing.assert_allclose(again.rmse, table.rmse, rtol=1e-6)
    write_csv(again, tmp_path / "f.csv")
    first, second = (read_csv(tmp_path / name) for name in ("e.csv", "f.csv"))
    assert first.scores.tolist() == second.scores.tolist()


def test_pixels_are_deduced(tmp_path: Path) -> None:
    write_csv(
        make_table([0.0] * 3, errors=np.array([5e6, 0.0, 7.77e8]), pixels=2_073_600), tmp_path / "e"
    )
    assert read_csv(tmp_path / "e").pixels == 2_073_600


@pytest.mark.parametrize(
    ("scores", "cutoff", "expected"),
    [([0, 11, 13], 12.0, DEFAULT_CUTOFF), ([0, 5, 9], 7.0, 5.0), ([0, 20, 30], 25.0, 20.0)],
)
def test_cutoff_is_deduced(scores, cutoff, expected, tmp_path: Path) -> None:
    table = make_table(scores, cutoff=cutoff)
    write_csv(table, tmp_path / "e.csv")
    again = read_csv(tmp_path / "e.csv")
    assert again.cutoff == expected
    assert again.outliers.tolist() == table.outliers.tolist()
    assert again.marked is None


def test_doubtful_frames_are_kept(tmp_path: Path) -> None:
    doubts = np.array([False, True, False])
    write_csv(make_table([0, 5, 30], doubtful=doubts), tmp_path / "e.csv")
    assert read_csv(tmp_path / "e.csv").doubts.tolist() == doubts.tolist()
    assert not make_table([0, 5]).doubts.any()


def test_edited_marks_are_kept(tmp_path: Path) -> None:
    marks = np.array([True, False, True])
    write_csv(make_table([0, 5, 30], marked=marks), tmp_path / "e.csv")
    assert read_csv(tmp_path / "e.csv").outliers.tolist() == marks.tolist()


def test_files_of_spreadsheet_programs(tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    text = f'{HEADER}\r\n"1",0.0,4,2,-1,0\r\n3,0.1,9,3,99,1\r\n\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    table = read_csv(path)
    assert table.frames.tolist() == [1, 3]
    assert table.outliers.tolist() == [False, True]


def test_scene_change_is_not_in_the_file(tmp_path: Path) -> None:
    write_csv(make_table([0.0, 20.0], scene_change=SceneChange(2, 0.04)), tmp_path / "e.csv")
    assert read_csv(tmp_path / "e.csv").scene_change is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "its first line must begin frame,time_s"),
        (f"{HEADER}\n", "holds no frames"),
        (f"{HEADER}\n1,0,4,2,0\n", "line 2: 5 values, where 6 are needed"),
        (f"{HEADER}\n1,0,4,2,0,0\n2,x,4,2,0,0\n", "line 3: time_s 'x' is not a number"),
        (f"{HEADER}\n1,0,nan,2,0,0\n", "error 'nan' is not a number"),
        (f"{HEADER}\n1,0,4,2,inf,0\n", "score 'inf' is not a number"),
        (f"{HEADER}\n1,0,-4,2,0,0\n", "error -4 is negative"),
        (f"{HEADER}\n1,0,4,2,0,0\n2,0,4,1e-200,0,0\n", "line 3: error 4 does not belong to rmse"),
        (f"{HEADER}\n1,0,4,1e200,0,0\n", "line 2: error 4 does not belong to rmse 1e200"),
        (f"{HEADER}\n1,0,4,0,0,0\n", "line 2: error 4 does not belong to rmse 0"),
        (f"{HEADER}\n0,0,4,2,0,0\n", "frame 0 is not a whole number of 1 or more"),
        (f"{HEADER}\n1.5,0,4,2,0,0\n", "frame 1.5 is not"),
        (f"{HEADER}\n1e300,0,4,2,0,0\n", "frame 1e300 is not"),
        (f"{HEADER}\n1,0,4,2,0,2\n", "outlier 2 is neither 0 nor 1"),
        (f"{HEADER}\n2,0,4,2,0,0\n2,0,4,2,0,0\n", "line 3: frame 2 does not come after frame 2"),
        (f'{HEADER}\n"1,0,4,2,0,0\n', "CSV"),
        (f"{HEADER},doubtful\n1,0,4,2,0,0\n", "line 2: 6 values, where 7 are needed"),
        (f"{HEADER},doubtful\n1,0,4,2,0,0,2\n", "doubtful 2 is neither 0 nor 1"),
        (f"{HEADER},doubtful,more\n1,0,4,2,0,0,0,0\n", "its first line must begin frame,time_s"),
    ],
)
def test_what_is_no_table(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_csv(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert words in message
    assert "\n" not in message


def test_binary_missing_and_folder(tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    path.write_bytes(b"\x00\xff\xfe" * 50)
    with pytest.raises(InputError, match="not even a CSV"):
        read_csv(path)
    with pytest.raises(InputError, match="No such file"):
        read_csv(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read_csv(tmp_path)


def test_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"none.errors\.csv: cannot be written"):
        write_csv(make_table([0.0]), tmp_path / "none" / "errors.csv")


def test_both_scores_flag_and_the_file_says_which(tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    table = make_table([0.0, 13.0, 2.0, 40.0], local=np.array([1.0, 3.0, 12.5, 90.0]))
    assert table.flags == ["", "whole", "place", "both"]
    write_csv(table, path)
    assert path.read_text().splitlines()[2] == "2,0.04,1200,2,13,1,0,3,whole"
    back = read_csv(path)
    assert back.local is not None
    assert back.local.tolist() == [1.0, 3.0, 12.5, 90.0]
    assert back.flags == table.flags
    assert back.cutoff == DEFAULT_CUTOFF


@pytest.mark.parametrize("more", ["local", "flag,local", "local,flag"])
def test_files_with_fewer_columns_are_read(more: str, tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    values = {"local": "30", "flag": "place"}
    row = ",".join(values[name] for name in more.split(","))
    path.write_text(f"{HEADER},{more}\n1,0,4,2,0,1,{row}\n")
    assert read_csv(path).outliers.tolist() == [True]
    path.write_text(f"{HEADER},{more},{more}\n1,0,4,2,0,1,{row},{row}\n")
    with pytest.raises(InputError, match="first line"):
        read_csv(path)
