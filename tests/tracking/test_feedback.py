"""What somebody said is no object is dropped when it comes again, and nothing else is."""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from contextlib import closing
from dataclasses import replace

import cv2
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.tracking.feedback import Feedback, drop_alike, examples_of, read_feedback, write_feedback
from bgsub.tracking.recorder import ObjectOptions, ObjectRecorder, View
from bgsub.tracking.tables import read_objects

WIDTH, HEIGHT, RATE = 320, 240, 10
AREA = (0, 0, WIDTH, HEIGHT)
VIEW = View((WIDTH, HEIGHT), AREA, (WIDTH, HEIGHT))


def flag(mask, rng, phase):
    """Gusts of a second or so, in which the cloth's edge and folds differ from the background."""
    if phase % 36 < 14:
        wave = 6 * np.sin(phase / 2)
        tip = (int(250 + wave), int(50 + rng.normal(0, 2)))
        edge = [(210, 40), tip, (248 + int(wave), 74), (210, 66)]
        cv2.fillPoly(mask, [np.array(edge, np.int32)], 255)


def monitor(mask, rng, phase):
    """A screen whose pictures change: parts of it, and at times all of it."""
    if phase % 36 < 14:
        if phase % 36 == 0:
            rng = np.random.default_rng(phase)
            monitor.left, monitor.wide = rng.integers(60, 70), rng.integers(26, 40)
        left = int(monitor.left)
        cv2.rectangle(mask, (left, 60), (left + int(monitor.wide), 84), 255, -1)


@functools.cache
def circle(number):
    return np.random.default_rng(number).uniform((6, 0.3, 0), (22, 0.8, 6))


def insects(mask, rng, phase):
    """Small things that circle around a lamp, each for a few seconds."""
    if phase % 50 < 22:
        radius, speed, angle = circle(phase // 50)
        angle += speed * (phase % 50)
        at = (int(160 + radius * np.cos(angle)), int(40 + 0.7 * radius * np.sin(angle)))
        cv2.circle(mask, at, 2, 255, -1)


@functools.cache
def walker(number):
    """Somebody who crosses the picture, some of them before the flag and the screen."""
    y = np.random.default_rng(1000 + number).uniform(50, 190)
    return y, 1 if number % 2 else -1


def film(n, seed, offset):
    """Yield masks with all three, and of the walker in sight, the centre."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        for disturb in (flag, monitor, insects):
            disturb(mask, rng, i + offset)
        y, direction = walker(i // 80 + offset)
        along = (i % 80 - 10) / 70
        centre = None
        if 0 <= along <= 1:
            x = WIDTH * (along if direction > 0 else 1 - along)
            centre = (x, y)
            cv2.ellipse(mask, (int(x), int(y)), (9, 24), 0, 0, 360, 255, -1)
        yield mask, centre


def follow(folder, n, seed, offset=0):
    """Write the tables of a film, and give what was found, and the tracks by what they are of."""
    folder.mkdir()
    walkers = []
    with closing(ObjectRecorder(folder, VIEW, rate=RATE)) as recorder:
        for i, (mask, centre) in enumerate(film(n, seed, offset), start=1):
            walkers.append(centre)
            recorder.add(i, i / RATE, recorder.detect(mask))
        found = recorder.finish()
    near, across = defaultdict(list), defaultdict(list)
    for seen in read_objects(folder / "objects.csv"):
        centre = walkers[seen.frame - 1]
        is_near = centre is not None and np.hypot(seen.cx - centre[0], seen.cy - centre[1]) < 30
        near[seen.track].append(is_near)
        across[seen.track].append(seen.cx)
    kinds = {name: set() for name in ("walker", "monitor", "insects", "flag")}
    for track, each in near.items():
        place = np.searchsorted((120, 200), np.mean(across[track]))
        kinds["walker" if np.mean(each) > 0.5 else ("monitor", "insects", "flag")[place]].add(track)
    return found, kinds


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """Give the objects of a film of a minute, and the first ten tracks of each disturbance."""
    folder = tmp_path_factory.mktemp("films") / "before"
    _, kinds = follow(folder, 500, seed=1)
    return folder / "objects.csv", {
        name: sorted(tracks)[:10] for name, tracks in kinds.items() if name != "walker"
    }


def test_ten_examples_drop_what_comes_later_and_no_walker(before, tmp_path):
    objects, false = before
    chosen = [track for each in false.values() for track in each]
    assert len(chosen) == 30
    write_feedback(tmp_path / "f.json", examples_of("a.mp4", objects, (WIDTH, HEIGHT), chosen))
    after, kinds = follow(tmp_path / "after", 1600, seed=2, offset=5000)
    feedback = Feedback(read_feedback(tmp_path / "f.json"), (WIDTH, HEIGHT), "f.json")
    kept = drop_alike(tmp_path / "after", after, feedback, AREA, ObjectOptions(), [], 600.0)
    numbers, walkers = {track.track for track in kept.tracks}, kinds.pop("walker")
    for tracks in kinds.values():
        assert len(tracks) >= 40
        assert len(numbers & tracks) <= 0.2 * len(tracks)
    assert len(walkers) >= 19
    assert len(walkers - numbers) <= 0.02 * len(walkers)
    assert {seen.track for seen in read_objects(tmp_path / "after" / "objects.csv")} == numbers
    assert f"{len(feedback.dropped)} tracks were dropped" in feedback.describe()
    assert "without --feedback they are kept" in feedback.describe()
    assert not list((tmp_path / "after").glob("*-all*"))


def test_a_live_track_counts_as_soon_as_it_leaves_the_place(before):
    objects, false = before[0], before[1]["flag"]
    examples = examples_of("a.mp4", objects, (WIDTH, HEIGHT), false)
    feedback = Feedback([each.scaled((640, 480)) for each in examples], (WIDTH, HEIGHT))
    seen = [each for each in read_objects(objects) if each.track == false[-1]]
    assert not any(feedback.takes(each) for each in seen)
    away = [replace(seen[-1], cx=seen[-1].cx - 9 * i) for i in range(1, 20)]
    taken = [feedback.takes(each) for each in away]
    assert taken[-1]
    assert false[-1] not in feedback.dropped


def test_files_that_are_something_else_are_refused(tmp_path):
    path = tmp_path / "f.json"
    for text in ("{", "[]", '{"not_objects": [{"name": "a"}]}', '{"not_objects": 3}'):
        path.write_text(text)
        with pytest.raises(InputError, match=r"f\.json: is no file that `bgsub feedback` wrote"):
            read_feedback(path)
    path.write_text(json.dumps({"schema_version": 1, "not_objects": []}))
    assert read_feedback(path) == []
