"""Identities of objects over time."""

import numpy as np
import pytest

from bgsub.tracking.detections import Detection, find_detections
from bgsub.tracking.tracker import Tracker

from .conftest import RATE, SIZE, draw


def numbers(frame):
    return [seen.track for seen in frame]


def test_who_walks_through_has_one_number_and_its_own_box(follow):
    frames = [[(2 * t, 40, 8, 20, 200)] for t in range(60)]
    seen = follow(frames)
    assert [numbers(frame) for frame in seen] == [[1]] * 60
    assert seen[30][0].box == (60, 40, 8, 20)
    assert seen[30][0].frame == 31
    assert seen[30][0].time_s == pytest.approx(1.2)


def test_what_shows_for_a_moment_is_no_object(follow):
    frames = [[(20, 40, 8, 20, 200)] if t in {10, 11} else [] for t in range(30)]
    assert follow(frames, min_track=3) == [[]] * 30
    assert sum(map(len, follow(frames, min_track=2))) == 2


def test_an_object_that_is_missed_keeps_its_number(follow):
    frames = [[(2 * t, 40, 8, 20, 200)] if not 20 <= t < 35 else [] for t in range(60)]
    assert {number for frame in follow(frames) for number in numbers(frame)} == {1}


def test_an_object_that_is_missed_for_longer_comes_as_another(follow):
    frames = [[(20, 40, 8, 20, 200)] if not 20 <= t < 50 else [] for t in range(90)]
    assert {number for frame in follow(frames) for number in numbers(frame)} == {1, 2}


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("levels", [(200, 200), (20, 200)])
def test_two_that_cross_keep_their_numbers(follow, looks, levels):
    one, two = levels
    frames = [[(2 * t, 40, 8, 20, one), (150 - 2 * t, 44, 8, 20, two)] for t in range(75)]
    seen = follow(frames, looks=looks)
    first, last = seen[0], seen[-1]
    assert len(first) == len(last) == 2
    at = {each.track: each.cx for each in first}
    assert {each.track: each.cx > 80 for each in last} == {n: x < 80 for n, x in at.items()}
    assert any(each.merged for frame in seen for each in frame)


def test_looks_tell_apart_who_meet_and_turn_back(follow):
    way = [min(t, 80 - t) for t in range(80)]
    frames = [[(20 + 1.5 * s, 40, 8, 20, 20), (140 - 1.5 * s, 40, 8, 20, 220)] for s in way]
    seen = follow(frames)
    left = {min(frame, key=lambda each: each.cx).track for frame in (seen[0], seen[-1])}
    assert len(left) == 1


def test_who_stops_for_a_minute_keeps_the_number(follow):
    way = [min(2 * t, 80) if t < 360 else 80 + 2 * (t - 360) for t in range(400)]
    seen = follow([[(x, 40, 8, 20, 200)] for x in way], rate=5)
    assert {number for frame in seen for number in numbers(frame)} == {1}


def test_pieces_of_an_object_are_one(follow):
    whole = [[(2 * t, 40, 8, 20, 200)] for t in range(30)]
    pieces = [[(2 * t, 40, 8, 9, 200), (2 * t, 51, 8, 9, 200)] for t in range(30, 60)]
    seen = follow([*whole, *pieces])
    assert [numbers(frame) for frame in seen] == [[1]] * 60
    assert seen[40][0].box == (80, 40, 8, 20)


def test_who_leaves_the_picture_has_left(follow):
    frames = [[(140 + 3 * t, 40, 8, 20, 200)] if t < 7 else [] for t in range(15)]
    back = [[(150 - t, 40, 8, 20, 200)] for t in range(10)]
    seen = follow([*frames, *back])
    assert {number for frame in seen[:15] for number in numbers(frame)} == {1}
    assert {number for frame in seen[15:] for number in numbers(frame)} == {2}


def test_frames_come_in_order_and_none_is_kept_back_for_long():
    tracker = Tracker(SIZE, rate=RATE, min_track=5)
    rng = np.random.default_rng(0)
    decided = []
    for number in range(1, 100):
        mask = (rng.random((120, 160)) > 0.999).astype(np.uint8) * 255
        decided += tracker.update(number, number / RATE, find_detections(mask)).shown
        assert number - len(decided) < 10
    assert all(each.frame == i for i, frame in enumerate(decided, 1) for each in frame)


def test_frames_that_are_left_out_are_time_that_passes():
    tracker = Tracker(SIZE, rate=RATE)
    decided = []
    for number in range(1, 60, 4):
        mask, picture = draw([(2 * number, 40, 8, 20, 200)])
        found = find_detections(mask, picture=picture)
        decided += tracker.update(number, number / RATE, found, picture).settled
    assert {n for frame in [*decided, *tracker.finish().settled] for n in numbers(frame)} == {1}


def test_who_merges_at_the_border_has_the_size_of_what_is_left_of_the_region(follow):
    """One waits at the border; another comes in, touches it, and both go on together."""

    def places(t):
        first = 12 + 2 * max(0, t - 24)
        return [(min(t - 16, first - 15), 30, 16, 40, 200), (first, 40, 16, 40, 40)]

    frames = [places(t) for t in range(70)]
    decided = follow(frames)
    assert len({seen.track for frame in decided for seen in frame}) == 2
    for t in range(35, 70):
        left, right = sorted(seen.box for seen in decided[t])
        assert abs(left[0] - frames[t][0][0]) <= 2
        assert abs(left[2] - 16) <= 2
        assert abs(right[0] - frames[t][1][0]) <= 2


def test_a_car_does_not_take_the_number_of_a_leaf_that_was_lost(follow):
    leaf = [[(125, 25, 5, 5, 60)] if t < 20 else [] for t in range(60)]
    car = [[(160 - 6 * (t - 35), 35, 40, 20, 200)] if t >= 35 else [] for t in range(60)]
    seen = follow([one + two for one, two in zip(leaf, car, strict=True)], takes_all=True)
    assert {n for frame in seen[:20] for n in numbers(frame)} == {1}
    assert {n for frame in seen[36:55] for n in numbers(frame)} == {2}


def small(frames, step=0.0, at=60.0):
    """Something of 5×5 pixels that moves by some pixels a frame, in so many of 80."""
    return [[(at + step * t, 40, 5, 5, 200)] if t in frames else [] for t in range(80)]


def test_what_is_small_and_still_and_soon_gone_is_no_object(follow):
    assert not any(follow(small(range(5, 40))))
    assert sum(map(len, follow(small(range(5, 40)), takes_all=True))) == 35


@pytest.mark.parametrize(
    ("frames", "step"), [(range(5, 40), 0.5), (range(5, 70), 0.0)], ids=["it moves", "it stays"]
)
def test_what_is_small_is_an_object_from_its_first_frame_if_it_moves_or_stays(follow, frames, step):
    found = follow(small(frames, step))
    assert [i for i, frame in enumerate(found) if frame] == list(frames)
    assert {seen.first_s for frame in found for seen in frame} == {frames[0] / RATE}


def test_what_flickers_in_every_other_frame_is_no_object(follow):
    assert not any(follow(small(range(5, 80, 2))))


def test_what_is_large_and_stays_where_it_is_must_last(follow):
    def wave(frames, level=200):
        return [[(60, 40, 9, 9, level)] if t in frames else [] for t in range(40)]

    assert not any(follow(wave(range(5, 11))))
    assert sum(map(len, follow(wave(range(5, 14))))) == 9
    assert sum(map(len, follow(wave(range(35, 40))))) == 5  # the video ends before it could last


def test_what_is_not_clear_in_any_frame_is_no_object():
    for chance, count in ((140, 0), (200, 20)):
        tracker = Tracker(SIZE, rate=RATE)
        decided = []
        for t in range(20):
            mask, _ = draw([(20 + 2 * t, 40, 8, 20, 200)])
            found = find_detections(mask, scores=np.full_like(mask, chance))
            decided += tracker.update(t + 1, t / RATE, found).settled
        decided += tracker.finish().settled
        assert sum(map(len, decided)) == count


def test_a_score_is_higher_the_longer_the_larger_and_the_clearer():
    def score(chance, side, count):
        tracker, decided = Tracker(SIZE, rate=RATE, takes_all=True), []
        for t in range(count):
            mask, _ = draw([(20 + 2 * t, 40, side, side, 200)])
            found = find_detections(mask, scores=np.full_like(mask, chance))
            decided += tracker.update(t + 1, t / RATE, found).settled
        return [*decided, *tracker.finish().settled][-1][0].score

    usual = score(230, 15, 30)
    assert 0.5 < usual < 1
    assert max(score(180, 15, 30), score(230, 5, 30), score(230, 15, 4)) < usual


def shirt_and_legs(t, step=1.5):
    return [(10 + step * t, 30, 12, 16, 200), (11 + step * t, 50, 10, 18, 60)]


def test_parts_of_one_silhouette_that_walk_together_are_one_object(follow):
    found = follow([shirt_and_legs(t) for t in range(60)])
    assert [numbers(frame) for frame in found] == [[1]] * 60
    assert found[30][0].box == (55, 30, 12, 38)
    assert found[30][0].area == 12 * 16 + 10 * 18


def test_what_is_above_another_and_stays_behind_is_another_object(follow):
    both = [[shirt_and_legs(t, 0)[0], shirt_and_legs(t, 1.5)[1]] for t in range(60)]
    assert {n for frame in follow(both) for n in numbers(frame)} == {1, 2}


def test_cars_in_a_row_are_two(follow):
    row = [[(60, t, 16, 12, 200), (60, 16 + t, 16, 12, 60)] for t in range(90)]
    assert {n for frame in follow(row) for n in numbers(frame)} == {1, 2}


def test_what_leaves_a_region_at_the_border_is_no_piece_of_it(follow):
    """Cars that come out of a jam far away: each passes close to it, and none belongs to it."""
    frames = []
    for t in range(160):
        cars = [s for s in (t - start for start in range(0, 160, 40)) if 0 <= s < 60]
        frames.append([(60, 0, 30, 30, 200), *((68, 31 + s, 12, 8, 120) for s in cars)])
    seen = follow(frames)
    jam = [each.box for frame in seen[20:] for each in frame if each.box[1] < 5]
    assert max(height for *_, height in jam) <= 42
    assert len({each.track for frame in seen for each in frame}) >= 4


def test_a_piece_that_is_soon_swallowed_is_no_object_within_the_whole(follow):
    """Somebody sits down over what a chair showed for a moment."""
    chair = [(90, 60, 8, 8, 90)]
    frames = [[(20 + 2 * t, 40, 16, 40, 200), *(chair if 20 <= t < 30 else [])] for t in range(36)]
    frames += [[(88, 40, 16, 40, 200)] for _ in range(40)]
    seen = follow(frames)
    assert [numbers(frame) for frame in seen[40:]] == [[1]] * len(seen[40:])


def test_a_piece_of_what_comes_in_is_no_object_within_it(follow):
    """A sleeve and a shoe come over the border before what joins them."""
    frames = [[(150 - t, 30, 12, 6, 200), (150 - t, 74, 12, 6, 60)] for t in range(8)]
    frames += [[(142 - t, 20, 30 + t, 60, 120)] for t in range(60)]
    seen = follow(frames)
    assert [len(frame) for frame in seen[12:]] == [1] * len(seen[12:])
    assert seen[-1][0].box[2] > 50


def test_who_is_behind_another_is_not_shown_and_keeps_the_number(follow):
    places = [[(70, 20, 24, 60, 40), (30 + 2 * t, 40, 10, 24, 220)] for t in range(50)]
    frames = [[tall] if 70 <= walker[0] <= 84 else [walker, tall] for tall, walker in places]
    seen = follow(frames)
    assert {n for frame in seen for n in numbers(frame)} == {1, 2}
    assert len(seen[22]) == 1
    assert len(seen[-1]) == 2


def test_what_has_merged_scores_less_than_what_is_alone(follow):
    frames = [[(2 * t, 40, 8, 20, 20), (150 - 2 * t, 44, 8, 20, 200)] for t in range(75)]
    seen = follow(frames, looks=False)
    merged = [each.score for frame in seen for each in frame if each.merged]
    alone = [each.score for frame in seen[20:30] for each in frame]
    assert min(merged) < 0.8 < min(alone)


def test_every_frame_of_a_slow_film_is_shown_once():
    tracker = Tracker(SIZE, rate=0.1)
    faint = Detection((50, 50, 20, 20), 60, 60, 400, 0.55)
    shown = [each for n in range(1, 13) for each in tracker.update(n, 10.0 * n, [faint]).shown]
    assert len(shown + tracker.finish().shown) == 12
