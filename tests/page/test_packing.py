"""Numbers that are packed come back, and no peak is lost where frames are left out."""

import base64

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bgsub.page.media import frames_shown, pack_flags, pack_floats, pack_integers


def unpacked(packed):
    if "runs" in packed:
        return [first + i * step for first, step, count in packed["runs"] for i in range(count)]
    steps = np.frombuffer(base64.b64decode(packed["steps"]), "<i4")
    return [packed["first"], *(packed["first"] + np.cumsum(steps)).tolist()]


@given(st.lists(st.integers(0, 10**6), max_size=60))
def test_integers_come_back(values):
    assert unpacked(pack_integers(values)) == values


def test_even_steps_take_no_room_and_uneven_ones_four_bytes():
    even, uneven = (
        pack_integers(range(100_000)),
        np.cumsum(np.random.default_rng(0).integers(1, 9, 5000)),
    )
    assert even == {"runs": [[0, 1, 100_000]]}
    packed = pack_integers(uneven)
    assert len(packed["steps"]) < 5.4 * uneven.size
    assert unpacked(packed) == uneven.tolist()


def test_floats_keep_seven_digits_and_flags_their_order():
    values = np.array([0.1, 12345.678, np.nan])
    back = np.frombuffer(base64.b64decode(pack_floats(values)), "<f4")
    np.testing.assert_allclose(back, values, rtol=1e-7)
    flags = np.arange(21) % 3 == 0
    bits = base64.b64decode(pack_flags(flags))
    assert [bits[i >> 3] >> (i & 7) & 1 for i in range(21)] == flags.astype(int).tolist()


def test_all_frames_are_kept_where_there_is_room():
    shown = frames_shown([np.zeros(50)], np.zeros(50, bool), 50)
    assert shown.tolist() == list(range(50))


@given(st.integers(0, 1000))
def test_every_peak_and_dip_of_every_stretch_is_kept(seed):
    rng = np.random.default_rng(seed)
    curves = [rng.normal(size=3000), rng.normal(size=3000)]
    always = rng.random(3000) < 0.02
    shown = frames_shown(curves, always, 600)
    assert shown.size <= 600
    assert (np.diff(shown) > 0).all()
    assert np.isin(np.flatnonzero(always), shown).all()
    for curve in curves:
        assert {int(curve.argmax()), int(curve.argmin()), 0, 2999} <= set(shown.tolist())
        # The envelope of a coarse stretch is that of all frames.
        for begin in range(0, 3000, 500):
            inside = shown[(shown >= begin) & (shown < begin + 500)]
            assert curve[inside].max() >= np.sort(curve[begin : begin + 500])[-3]


def test_many_flagged_frames_leave_room_for_the_others():
    always = np.zeros(10_000, bool)
    always[1000:9000] = True
    curve = np.sin(np.arange(10_000) / 50)
    shown = frames_shown([curve], always, 500)
    assert shown.size <= 500
    assert {1000, 8999} <= set(shown.tolist())
    assert (shown < 1000).any()
