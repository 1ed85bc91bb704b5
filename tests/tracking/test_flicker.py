"""What only flickers: small, nearly still and soon gone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bgsub.tracking import flicker
from bgsub.tracking.flicker import FlickerSieve, small_area
from bgsub.tracking.tracker import Observation


def seen(frame, track=1, x=10.0, area=20.0, score=2.0):
    """Something of 5 by 4 pixels, ten frames a second."""
    return Observation(frame, frame / 10, track, (x, 20, 5, 4), x + 2, 22, area, score, "")


def counted(observations, sieve=None):
    """Frames in which it counts."""
    sieve = sieve or FlickerSieve(60)
    return [each.frame for each in observations if sieve.sift([each]).counted]


def test_small_is_a_share_of_what_is_looked_at():
    assert small_area((7, 9, 100, 50)) == small_area((0, 0, 50, 100)) == 16


def test_what_is_small_counts_when_it_has_lasted_or_moved_or_grown():
    assert counted(seen(f) for f in range(20)) == []
    assert counted(seen(f) for f in range(25)) == [20, 21, 22, 23, 24]
    assert counted(seen(f, score=1.4) for f in range(102)) == [100, 101]
    assert counted(seen(f, x=10 + f) for f in range(10)) == [7, 8, 9]  # 1.5 √20 is 6.7
    assert counted([seen(1), seen(2, area=60), seen(3)]) == [2, 3]
    assert counted([seen(1)], FlickerSieve()) == [1]


def test_what_counts_has_counted_since_it_was_first_seen():
    sieve = FlickerSieve(60)
    for frame in range(20):
        sieve.sift([seen(frame, 1 + (frame < 5))])
    sifted = sieve.sift([seen(30, 1), seen(30, 2), seen(30, 3)])
    assert [each.track for each in sifted.counted] == [1, 2]
    assert [(first.frame, now.frame, now.track) for first, now in sifted.since] == [
        (0, 30, 2),
        (5, 30, 1),
    ]
    assert sieve.sift([seen(31, 1)]).since == []


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.floats(0, 40), st.floats(1, 100), st.floats(1, 3)),
        max_size=60,
    )
)
def test_what_counts_once_counts_on_and_is_said_once(steps):
    sieve, begun = FlickerSieve(60), set()
    for frame, (track, x, area, score) in enumerate(steps):
        sifted = sieve.sift([seen(frame, track, x, area, score)])
        new = {now.track for _, now in sifted.since}
        assert not new & begun
        begun |= new
        assert [each.track for each in sifted.counted] == [track] * (track in begun)


def test_tracks_that_were_seen_long_ago_are_forgotten(monkeypatch):
    monkeypatch.setattr(flicker, "_MOST_TRACKS", 10)
    sieve = FlickerSieve(60)
    for track in range(100):
        sieve.sift([seen(track, track), seen(track, 1000)])
        assert len(sieve._tracks) <= 10
    assert len(sieve.sift([seen(100, 1000)]).counted) == 1
