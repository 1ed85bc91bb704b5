import logging

import pytest

from bgsub.cluster.pool import Absence, NoWorkersError

ADDRESS = "tcp://there:8786"


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def said(caplog):
    found = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return found


@pytest.fixture
def clock(caplog):
    caplog.set_level(logging.INFO, "bgsub.notes")
    return Clock()


def test_it_is_said_once_a_minute(clock, caplog):
    absence = Absence(ADDRESS, 3600, clock)
    lines = []
    for _ in range(61):
        absence.look(0, 3)
        lines += said(caplog)
        clock.now += 5
    assert len(lines) == 5
    wait = "3 tasks wait; start some, or stop with Ctrl-C"
    assert lines[0] == f"{ADDRESS} has had no worker for 60 s, and {wait}"
    assert "for 2 minutes" in lines[1]
    assert "for 5 minutes" in lines[4]


def test_after_so_long_it_is_an_error_of_use(clock):
    absence = Absence(ADDRESS, 3600, clock)
    absence.look(0, 1)
    clock.now += 3599
    absence.look(0, 1)
    clock.now += 1
    with pytest.raises(NoWorkersError, match=r"had no worker for 60 minutes; start some") as raised:
        absence.look(0, 1)
    assert raised.value.exit_code == 2


def test_who_comes_back_is_welcome_and_the_time_begins_anew(clock, caplog):
    absence = Absence(ADDRESS, 100, clock)
    for workers in (2, 0, 0, 1, 2, 0):
        absence.look(workers, 1)
        clock.now += 70
    assert [" again" in line for line in said(caplog)] == [False, True]


def test_a_short_absence_is_not_worth_a_word(clock, caplog):
    absence = Absence(ADDRESS, 100, clock)
    for workers in (2, 0, 2):
        absence.look(workers, 1)
        clock.now += 30
    assert said(caplog) == []
