"""Servers of the distribution on loopback, cut and stalled on purpose; make test-servers."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import decoded, ends_once, film_file, walk
from .programs import Program, lacks

pytestmark = pytest.mark.servers


@pytest.fixture(params=["rtsp", "rtsp over udp", "http", "tcp", "udp"])
def program(request):
    """A server of a kind."""
    if reason := lacks(request.param):
        pytest.skip(reason)
    program = Program(request.param)
    yield program
    program.kill()


def said(watched, text):
    return sum(text in note for note in watched.notes)


def visits(n, first, seed):
    """Somebody is there for three seconds, from a frame on, and again every seven."""
    return walk(n, [(start, start + 75) for start in range(first, n, 175)], (64, 48), seed)


def check_clips(lines, scene):
    """Each event's clips show somebody; beside him is the scene, nothing grey or torn."""
    ends = [line for line in lines if line["event"] == "end"]
    for line in ends:
        seen = 0
        for path in line["files"]:
            for picture in decoded(path):
                away = np.abs(picture.astype(int) - scene)
                assert np.concatenate([away[:20], away[52:]]).mean() < 8
                seen += (away.max(axis=2) > 60).sum() > 60
        assert seen >= 3
    return len(ends)


def test_a_server_is_cut_and_stalled(watch, program, tmp_path):
    film = visits(1400, 100, seed=0)
    paths = {
        "first": film_file(tmp_path / "first.mp4", film),
        "comes at once": film_file(tmp_path / "at-once.mp4", visits(1400, 0, seed=0)),
    }
    watched = watch(program.url, stall_s=6.0, pauses_s=(0.2, 0.4, 0.8), before_s=1.0)
    if not program.url.startswith("udp"):
        watched.wait(lambda w: said(w, "trying again") >= 2)
    program.start(paths["first"])
    watched.wait(lambda w: w.count("update") >= 1)
    program.kill()
    tries, backs = said(watched, "trying again"), said(watched, "is back")
    # Who sends datagrams is missed only when nothing has come for a while.
    watched.wait(lambda w: said(w, "trying again") > tries)
    program.start(paths["comes at once"])
    watched.wait(lambda w: said(w, "is back") > backs)
    watched.wait(lambda w: w.count("end") >= 1 and w.count("start") == w.count("end"))
    stalls = said(watched, "nothing came for 6 s")
    program.stall()
    watched.wait(lambda w: said(w, "nothing came for 6 s") > stalls)
    program.start(paths["first"])
    ends = watched.count("end")
    watched.until(lambda w: w.count("end") > ends)
    ends_once(watched.lines)
    assert watched.watcher.status.connections >= 2
    assert check_clips(watched.lines, film[0].astype(int)) >= 2


def test_what_gets_lost_on_the_way_is_left_out(watch, tmp_path):
    if reason := lacks("udp"):
        pytest.skip(reason)
    film = visits(1400, 100, seed=0)
    program = Program("udp", loses=0.05)
    program.start(film_file(tmp_path / "film.mp4", film))
    try:
        watched = watch(program.url).until(lambda w: w.count("end") == 2)
    finally:
        program.kill()
    ends_once(watched.lines)
    assert check_clips(watched.lines, film[0].astype(int)) >= 2
