from __future__ import annotations

import io
import json
import os
import sys

import pytest

from bgsub.cli.messages import Progress, Session, make_progress


@pytest.fixture(autouse=True)
def xterm(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_every_ten_seconds_at_most(capsys) -> None:
    clock = Clock()
    with Progress(Session(), 10.0, clock) as progress:
        for second in range(35):
            clock.now = 100.0 + second
            progress("decode", 2 * second, 100)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "decode: 20 of 100 (20 %), 2/s, 40 s left",
        "decode: 40 of 100 (40 %), 2/s, 30 s left",
        "decode: 60 of 100 (60 %), 2/s, 20 s left",
    ]


def test_a_short_run_says_nothing(capsys) -> None:
    clock = Clock()
    with Progress(Session(), 10.0, clock) as progress:
        progress("decode", 1, None)
        progress("fit", 1, 1)
    assert capsys.readouterr().err == ""


def test_lines_name_their_input_in_a_batch(capsys) -> None:
    clock, session = Clock(), Session()
    with session.about("a/b.avi", label="a/b.avi"), Progress(session, 10.0, clock) as progress:
        clock.now += 11
        progress("decode", 5, None)
    assert capsys.readouterr().err == "a/b.avi: decode: 5\n"


def test_json_lines(capsys) -> None:
    clock, session = Clock(), Session(log_json=True, input="b.avi")
    with Progress(session, 1.0, clock) as progress:
        progress("decode", 0, 40)
        clock.now += 2
        progress("decode", 10, 40)
    entry = json.loads(capsys.readouterr().err)
    assert entry["event"] == "progress"
    wanted = {"stage": "decode", "done": 10, "total": 40, "rate": 5.0, "seconds_left": 6.0}
    assert entry | wanted | {"input": "b.avi"} == entry


def test_the_display_fits_options_and_stderr(monkeypatch) -> None:
    for stream, session, is_shown in (
        (io.StringIO(), Session(), False),
        (Terminal(), Session(), True),
        (Terminal(), Session(log_json=True), False),
        (Terminal(), Session(quiet=True), False),
        (Terminal(), Session(unseen=True), False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        with make_progress(session) as progress:
            progress("decode", 9, 9)
        assert ("decode: 9 of 9 (100 %)" in stream.getvalue()) == is_shown
    monkeypatch.setenv("TERM", "dumb")
    with make_progress(Session()) as progress:
        progress("decode", 9, 9)
    assert stream.getvalue() == ""


def seen(terminal: Terminal) -> list[str]:
    """The lines that stand on a terminal in the end."""
    lines = terminal.getvalue().removesuffix("\n").split("\n")
    return [line.split("\r")[-1] for line in lines]


def test_a_line_a_stage_is_written_over(monkeypatch) -> None:
    clock, terminal, session = Clock(), Terminal(), Session()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress(session, 0.1, clock, in_place=True) as progress:
        for done in range(1, 5):
            progress("decode", done, 4)
            clock.now += 0.06
        session.log("warning", "look")
        progress("fit", 2, 3)
        progress("write", 7, None)
    assert seen(terminal) == [
        "warning: look",
        "decode: 4 of 4 (100 %), 22.2/s, 0 s left",
        "fit: 2 of 3 (66 %)",
        "write: 7",
    ]
    assert terminal.getvalue().count("decode") == 3  # not at every call
    with session.about("b.avi", label="b.avi"), Progress(session, 0.1, in_place=True) as progress:
        progress("decode", 4, 4)
    assert seen(terminal)[4:] == [""]  # lines of a batch do not stay


def test_a_terminal_that_is_gone_does_not_end_the_run(monkeypatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress(Session(), 0.0, in_place=True) as progress:
        progress("decode", 1, 4)
        terminal.close()
        progress("decode", 2, 4)
        progress("fit", 2, 4)


def test_what_stands_behind_the_stage_may_change_within_one_line(monkeypatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress(Session(), 0.0, lambda: 1.0, in_place=True) as progress:
        for done in range(1, 4):
            progress(f"pcp k=3 · residual {1 / done:.1e}", done, None)
    assert seen(terminal) == ["pcp k=3: 3, residual 3.3e-01"]


def test_lines_say_what_stands_behind_the_stage(capsys) -> None:
    ticks = iter(range(0, 1000, 20))
    progress = Progress(Session(), 10.0, clock=lambda: next(ticks))
    progress("pcp · residual 1.0e+00", 1, None)
    progress("pcp · residual 5.0e-01", 2, None)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(", ")[-1] for line in lines] == ["residual 1.0e+00", "residual 5.0e-01"]


def told(capsys, *steps) -> list[str]:
    """Return what is said of steps that each come so many seconds after the one before."""
    clock = Clock()
    with Progress(Session(), 10.0, clock) as progress:
        for wait_s, *step in steps:
            clock.now += wait_s
            progress(*step)
    return capsys.readouterr().err.splitlines()


def test_nothing_is_foretold_before_anything_is_done(capsys) -> None:
    first = 0, "frames · segment 1 of 3, decode 40 of 500", 0, 1500
    second = 11, "frames · segment 1 of 3, decode 500 of 500", 0, 1500
    third = 19, "frames · segment 2 of 3, write 100 of 500", 600, 1500
    assert told(capsys, first, second, third) == [
        "frames: 0 of 1500 (0 %), segment 1 of 3, decode 500 of 500",
        "frames: 600 of 1500 (40 %), 20/s, 45 s left, segment 2 of 3, write 100 of 500",
    ]


def test_preparation_is_foretold_of_further_segments_alone(capsys) -> None:
    begun = 0, "frames · segment 1 of 3, decode 40 of 500", 0, 1500
    later = 30, "frames · segment 1 of 3, write 1 of 500", 1, 1500
    writing = (0, "writing", 0, 500), (30, "writing", 0, 500), (10, "writing", 100, 500)
    assert told(capsys, begun, later, *writing) == [
        "frames: 1 of 1500 (0 %), 0.0333/s, segment 1 of 3, write 1 of 500",
        "writing: 0 of 500 (0 %)",
        "writing: 100 of 500 (20 %), 10/s, 40 s left",
    ]


def test_a_batch_is_foretold_from_its_beginning(capsys) -> None:
    clock = Clock()
    with Progress(Session(), 10.0, clock) as progress:
        for second in range(41):
            clock.now = 100.0 + second
            progress("batch", second // 30, 4)
    assert capsys.readouterr().err.splitlines() == [
        "batch: 0 of 4 (0 %)",
        "batch: 0 of 4 (0 %)",
        "batch: 1 of 4 (25 %), 0.0333/s, 1 min 30 s left",
        "batch: 1 of 4 (25 %), 0.025/s, 2 min 0 s left",
    ]


def test_of_later_segments_too_the_first_one_foretells_nothing(capsys) -> None:
    first = 0, "frames · segment 3 of 9, decode 40 of 500", 0, 1000
    second = 30, "frames · segment 3 of 9, write 1 of 500", 1, 1000
    third = 20, "frames · segment 5 of 9, write 1 of 500", 501, 1000
    assert [" left" in line for line in told(capsys, first, second, third)] == [False, True]


def test_more_than_was_announced_foretells_nothing(capsys) -> None:
    assert told(capsys, (0, "write", 1, 5), (14, "write", 7, 5)) == ["write: 7 of 5 (100 %), 0.5/s"]


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are POSIX")
def test_a_line_fits_the_terminal_of_stderr(monkeypatch) -> None:
    ours, theirs = os.openpty()
    termios = pytest.importorskip("termios")
    termios.tcsetwinsize(theirs, (24, 30))
    monkeypatch.setenv("COLUMNS", "200")
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with Progress(Session(), 0.0, lambda: 1.0, in_place=True) as progress:
            progress("decode · what stands behind it is long", 1, 4)
        text = os.read(ours, 1000).decode()
    os.close(ours)
    assert text.split("\r")[2] == "decode: 1 of 4 (25 %), what s"
