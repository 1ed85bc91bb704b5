from __future__ import annotations

import io
import json
import logging
import sys
import warnings

import pytest

from bgsub.cli.messages import NOTES, Session, reporting
from bgsub.errors import RankWarning

logger = logging.getLogger("bgsub.somewhere")


def talk() -> None:
    logger.debug("a detail of %d", 3)
    logger.info("an info")
    logger.warning("a warning")
    logging.getLogger("other").info("not ours")
    logging.getLogger("other").warning("also ours")


@pytest.mark.parametrize(
    ("session", "lines"),
    [
        (Session(), ["warning: a warning", "warning: also ours"]),
        (Session(quiet=True), []),
        (Session(verbose=1), ["an info", "warning: a warning", "warning: also ours"]),
        (
            Session(verbose=2),
            ["a detail of 3", "an info", "warning: a warning", "warning: also ours"],
        ),
    ],
)
def test_levels(session, lines, capsys) -> None:
    with reporting(session):
        talk()
    captured = capsys.readouterr()
    assert captured.err.splitlines() == lines
    assert captured.out == ""


def test_notes_are_said_without_verbose(capsys) -> None:
    note = logging.getLogger(NOTES)
    with reporting(Session()):
        note.info("a.avi: the frames are kept in %s", "there")
    with reporting(Session(quiet=True)):
        note.info("not this")
    assert capsys.readouterr().err == "a.avi: the frames are kept in there\n"
    with reporting(Session(log_json=True)):
        note.info("once")
    entry = json.loads(capsys.readouterr().err)
    assert (entry["event"], entry["level"], entry["message"]) == ("note", "info", "once")
    assert not note.isEnabledFor(logging.INFO)


def test_a_detail_of_an_input_is_said_once(capsys) -> None:
    session = Session(verbose=1)
    with reporting(session):
        for name in ("a.avi", "a.avi", "b.avi"):
            session.input = name
            for _ in range(2):
                logger.info("the codec has no checksums")
                logger.warning("damaged")
                logging.getLogger(NOTES).info("is back")
    said = capsys.readouterr().err.splitlines()
    assert said.count("the codec has no checksums") == 2
    assert said.count("warning: damaged") == said.count("is back") == 6


def test_json_lines(capsys) -> None:
    with reporting(Session(log_json=True, verbose=2)):
        talk()
        warnings.warn("rank 2, not 3", RankWarning, stacklevel=1)
    entries = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [entry["level"] for entry in entries] == ["debug", "info", *["warning"] * 3]
    assert entries[0]["logger"] == "bgsub.somewhere"
    assert entries[-1]["message"] == "rank 2, not 3"
    assert all(entry["time"].endswith("+00:00") for entry in entries)


def test_warnings_of_python_are_one_clean_line_each_time(capsys) -> None:
    with reporting(Session()):
        for _ in range(2):
            warnings.warn("the rank is 2,\nnot 3", RankWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: the rank is 2, not 3\n" * 2


def test_debug_says_where_a_warning_comes_from(capsys) -> None:
    with reporting(Session(debug=True)):
        warnings.warn("odd", RankWarning, stacklevel=1)
    assert f"warning: odd ({__file__}:" in capsys.readouterr().err


def test_everything_is_as_before_afterwards() -> None:
    root, ours = logging.getLogger(), logging.getLogger("bgsub")
    before = list(root.handlers), ours.level, warnings.showwarning, list(warnings.filters)
    with pytest.raises(RuntimeError), reporting(Session(verbose=2)):
        raise RuntimeError
    assert before == (root.handlers, ours.level, warnings.showwarning, list(warnings.filters))


def test_lines_about_an_input_begin_with_its_label(capsys) -> None:
    session = Session()
    with session.about("x/a.avi", label="x/a.avi"):
        session.log("finding", "none of 9 frames stands out")
        session.log("warning", "a.avi: cut off")
        session.log("error", "x/a.avi: cannot be read")
    session.log("hint", "all\ndone")
    assert capsys.readouterr().err.splitlines() == [
        "x/a.avi: none of 9 frames stands out",
        "warning: x/a.avi: cut off",
        "bgsub: x/a.avi: cannot be read",
        "hint: all done",
    ]


def test_quiet_lets_errors_through(capsys) -> None:
    session = Session(quiet=True)
    for event in ("start", "progress", "finding", "hint", "warning", "result", "summary", "log"):
        session.log(event, "something")
    session.log("error", "broken")
    assert capsys.readouterr().err == "bgsub: broken\n"


def test_a_closed_stderr_does_not_end_the_run(monkeypatch) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    Session().log("warning", "nobody hears this")
