"""Streams that come faster than they can be decoded, and such that do not."""

from __future__ import annotations

from bgsub.live.decoding import Pace


def skipped(packets, pace=None):
    """Of packets (asked, came, stamp, is_key), the numbers of those for which there is no time."""
    pace = pace or Pace()
    return [i for i, (*times, key) in enumerate(packets) if pace.skips(*times, is_key=key)]


def test_who_waits_for_packets_is_never_late():
    # In bursts of ten seconds every ten seconds, as playlists come.
    burst = [
        (10 * i + j / 1000 - 9 * (j == 0), 10 * i + j / 1000, 10 * i + j / 25, False)
        for i in range(5)
        for j in range(250)
    ]
    assert skipped(burst) == []
    slow = [(i / 25 - 0.03, i / 25, i / 50, True) for i in range(1000)]
    assert skipped(slow) == []


def test_a_film_that_is_read_faster_than_it_plays_is_never_late():
    assert skipped([(i / 50, i / 50, i / 25, False) for i in range(1000)]) == []


def test_what_is_late_is_skipped_up_to_a_key_frame_at_which_it_is_not():
    # Decoding takes twice as long as the stream: late by two seconds after four.
    decoded = [(i / 12.5, i / 12.5, i / 25, i % 25 == 0) for i in range(52)]
    late_s, begin_s = decoded[-1][1], decoded[-1][2]
    # What is not decoded is read at once, and caught up with after two seconds of the stream.
    quick = [(now := late_s + i / 1000, now, begin_s + i / 25, i % 25 == 0) for i in range(1, 101)]
    found = skipped([*decoded, *quick])
    assert found == list(range(51, 101))


def test_a_stream_of_key_frames_alone_is_caught_up_with_at_once():
    decoded = [(i / 12.5, i / 12.5, i / 25, True) for i in range(52)]
    late_s, begin_s = decoded[-1][1], decoded[-1][2]
    quick = [(now := late_s + i / 1000, now, begin_s + i / 25, True) for i in range(1, 101)]
    assert skipped([*decoded, *quick]) == list(range(51, 99))
