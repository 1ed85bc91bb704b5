"""Objects that have merged are found within the region that they share."""

import numpy as np
import pytest

from bgsub.tracking.detections import find_detections
from bgsub.tracking.targets import Motion, Target, find_shares


def target(x, y, width=10, height=10, color=(), **known):
    motion = Motion(x + width / 2, y + height / 2, (width * height) ** 0.5)
    area = float(width * height)
    return Target(motion, width, height, area, np.array(color, float), **known)


def region_of(draw, places):
    mask, picture = draw(places)
    (found,) = find_detections(mask, picture=picture)
    return found, picture


def inside(box, region):
    x, y, width, height = box
    left, top, wide, high = region
    return (
        x >= left - 1e-6
        and y >= top - 1e-6
        and x + width <= left + wide + 1e-6
        and y + height <= top + high + 1e-6
    )


class TestLearn:
    def test_size_and_colour_move_towards_what_is_seen(self, draw):
        known = target(20, 20, 10, 10, (50, 50, 50), hits=100)
        seen, picture = region_of(draw, [(20, 20, 20, 10, 200)])
        for _ in range(60):
            known.learn(seen, picture)
        assert known.width == pytest.approx(20, abs=0.1)
        assert known.height == pytest.approx(10)
        assert known.area == pytest.approx(200, abs=1)
        assert known.color == pytest.approx([200, 200, 200], abs=1)

    def test_the_first_sights_count_most(self, draw):
        seen, picture = region_of(draw, [(20, 20, 20, 10, 200)])
        young, old = target(20, 20, hits=2), target(20, 20, hits=100)
        young.learn(seen, picture)
        old.learn(seen, picture)
        assert young.width == pytest.approx(15)
        assert old.width == pytest.approx(11.2)

    def test_the_box_lies_around_the_predicted_centre(self):
        known = target(30, 40, 12, 6)
        assert known.box == (30, 40, 12, 6)
        known.motion.vx = 3.0
        known.motion.predict(2, known.size)
        assert known.box == (36, 40, 12, 6)


class TestFindShares:
    def test_each_lies_within_the_region_near_to_where_it_was(self, draw):
        region, picture = region_of(draw, [(40, 40, 10, 10, 30), (48, 40, 10, 10, 220)])
        left, right = target(39, 40), target(50, 41)
        boxes = find_shares([left, right], region, picture)
        assert all(inside(box, region.box) for box in boxes)
        assert boxes[0][0] < boxes[1][0]

    def test_colours_tell_who_is_who_when_motion_is_wrong(self, draw):
        dark, bright = target(40, 40, color=(30,) * 3), target(60, 40, color=(220,) * 3)
        for known, level in ((dark, 30), (bright, 220)):
            alone, picture = region_of(draw, [(*known.box[:2], 10, 10, level)])
            known.learn(alone, picture)
        # They have passed each other: each is predicted some pixels from where it is.
        for known, predicted in ((dark, 50), (bright, 49)):
            known.motion = Motion(predicted, 45, known.size)
            known.motion.predict(1, known.size)
        region, picture = region_of(draw, [(52, 40, 10, 10, 30), (43, 40, 10, 10, 220)])
        boxes = find_shares([dark, bright], region, picture)
        assert boxes[0][0] == pytest.approx(52, abs=1.5)
        assert boxes[1][0] == pytest.approx(43, abs=1.5)

    def test_one_that_the_border_had_cut_takes_what_is_left(self, draw):
        region, picture = region_of(draw, [(0, 40, 24, 10, 60), (22, 40, 10, 10, 60)])
        cut, known = target(0, 40, 4, 10, is_cut=True), target(22, 40)
        boxes = find_shares([cut, known], region, picture)
        assert boxes[0] == pytest.approx((0, 40, 22, 10), abs=2)
        assert cut.width == boxes[0][2]

    @pytest.mark.parametrize("width", [18, 12])
    def test_one_that_is_not_recognised_is_beside_the_other_where_there_is_room(self, draw, width):
        dark, bright = target(40, 40, color=(30,) * 3), target(49, 40, color=(220,) * 3)
        for known, level in ((dark, 30), (bright, 220)):
            alone, picture = region_of(draw, [(*known.box[:2], 10, 10, level)])
            known.learn(alone, picture)
        dark.motion = Motion(50, 45, dark.size)  # drawn to the other
        dark.motion.predict(1, dark.size)
        left = 59 - width  # what is left of the dark one has another colour now
        region, picture = region_of(draw, [(left, 40, width, 10, 120), (49, 40, 10, 10, 220)])
        boxes = find_shares([dark, bright], region, picture)
        assert boxes[1][0] == pytest.approx(49, abs=1)
        assert boxes[0][0] == pytest.approx(41 if width == 18 else 47, abs=1.5)

    def test_without_looks_the_motion_decides(self, draw):
        region, _ = region_of(draw, [(40, 40, 30, 10, 60)])
        boxes = find_shares([target(41, 40), target(58, 40)], region, None)
        assert [box[0] for box in boxes] == pytest.approx([41, 58], abs=0.5)


def test_what_stays_hidden_is_looked_for_now_and_then(draw):
    class Looks:
        asked = 0

        def locate(self, *_):
            self.asked += 1

    looks = Looks()
    one = target(20, 20, color=(50, 50, 50), looks=looks)
    two = target(32, 20, color=(200, 200, 200))
    region, picture = region_of(draw, [(20, 20, 22, 10, 120)])
    asked = []
    for _ in range(25):
        before = looks.asked
        find_shares([one, two], region, picture)
        asked.append(looks.asked > before)
    assert np.flatnonzero(asked).tolist() == [*range(9), 12, 16, 20, 24]


def test_tiny_ones_that_look_alike_part_the_region_among_them(draw):
    region, picture = region_of(draw, [(40, 30, 7, 7, 20), (47, 31, 7, 7, 20)])
    dark = (20, 20, 20)
    pair = [target(x, y, 7, 7, dark) for x, y in ((42.5, 28), (45.5, 33))]  # predictions are off
    for _ in range(8):
        boxes = find_shares(pair, region, picture)
    for box, (x, y) in zip(boxes, ((40, 30), (47, 31)), strict=True):
        assert box[:2] == pytest.approx((x, y), abs=1.0)


def test_tiny_ones_over_each_other_and_large_ones_are_where_they_move(draw):
    region, picture = region_of(draw, [(40, 30, 9, 7, 20)])
    over = [target(x, 30, 7, 7, (20, 20, 20)) for x in (40, 41)]
    assert [box[0] for box in find_shares(over, region, picture)] == pytest.approx(
        [40, 41], abs=0.3
    )
    region, picture = region_of(draw, [(40, 30, 20, 20, 20), (60, 30, 20, 20, 20)])
    large = [target(x, 30, 20, 20, (20, 20, 20)) for x in (44, 58)]
    assert [box[0] for box in find_shares(large, region, picture)] == pytest.approx([44, 58], abs=1)
