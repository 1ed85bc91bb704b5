"""Where segments begin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.segments.moments import Film, Moments
from bgsub.segments.plan import divide, equal_parts
from bgsub.video.selection import Position
from bgsub.video.source import open_source


def moments(n, rate=25.0):
    return Moments(np.arange(1, n + 1), np.arange(n) / rate)


@given(st.integers(1, 3000), st.integers(1, 1000))
def test_parts_have_nearly_the_length_in_frames(n, length):
    starts = equal_parts(moments(n), Position(frame=length))
    sizes = np.diff([*starts, n])
    step = max(length, 50)
    assert starts[0] == 0
    assert (sizes[:-1] == step).all()
    assert sizes[-1] <= 1.5 * step + 50
    if len(sizes) > 1:
        assert sizes[-1] >= min(50, step)


@given(st.integers(2, 3000), st.floats(0.1, 60.0))
def test_parts_have_nearly_the_length_in_seconds(n, seconds):
    given_moments = moments(n)
    starts = equal_parts(given_moments, Position(seconds=seconds))
    assert starts[0] == 0
    assert (np.diff([*starts, n]) >= min(n, 50)).all()
    assert (np.diff(given_moments.times[starts]) > min(seconds, 2.0) - 0.05).all()


def test_a_gap_in_the_times_makes_no_empty_part():
    times = np.concatenate([np.arange(100) / 25, 1000 + np.arange(100) / 25])
    starts = equal_parts(Moments(np.arange(1, 201), times), Position(seconds=4.0))
    assert starts.tolist() == [0, 100]


def test_parts_are_of_the_frames_that_are_selected(scene, save, options):
    path = save(scene(300))
    chosen = options(start=11, every=2, segment=50)
    film = Film(open_source(path, start=11, every=2))
    assert film.moments.numbers[:3].tolist() == [11, 13, 15]
    bounds = divide(film, chosen)
    assert [bound.first for bound in bounds] == [11, 111]
    assert [bound.reason for bound in bounds] == ["beginning", "after 50 frames"]


@pytest.mark.parametrize(
    ("segment", "reason"), [("3s", "after 3s"), ("00:00:03", "after 00:00:03")]
)
def test_a_length_may_be_a_time(scene, save, options, segment, reason):
    bounds = divide(Film(open_source(save(scene(200)))), options(segment=segment))
    assert [(bound.first, bound.reason) for bound in bounds[1:]] == [(76, reason), (151, reason)]
