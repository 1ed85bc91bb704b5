"""Hypotheses of the background: the commonest colours of every pixel, and their shares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.camera import (
    Aligned,
    Each,
    Registration,
    align,
    find_registration,
    registration_in,
)
from bgsub.background.light import THUMBNAIL, Light, find_states, fit_light, lit, reach, thumbnail
from bgsub.robustpca.spaces import Flags, Singles, column_median, evenly
from bgsub.video.frames import Bytes, Layout, in_color

# Pixels at which hypotheses are compared with frames, whatever the size of the video.
WORKING_PIXELS = 320 * 240
_MOST_ENLARGED = 3.0  # factor by which small frames are enlarged, at most: more shows nothing more
_MULTIPLE = 16  # pixels of which both sides are multiples: the network halves them four times
_CANDIDATES = 16  # frames whose colours are tried for each hypothesis
# Noises from a colour up to which a frame shows it, and the grey levels that bound this.
_TOLERANCE, _NEAREST, _FURTHEST = 3.0, 7, 26
_LONGEST = 64  # grey levels above which a difference counts no more for temporal variability
# Frames whose hypotheses are kept: masks and objects ask one after the other, in threads.
_THREADS = 4
NOISE_UNIT, _ACTIVITY_UNIT = 8, 4  # what a grey level of noise and of activity is stored as
# What the length of the video is stored as, in differences of times and of their deviations.
LATER_UNIT, SPREAD_UNIT = 127, 400
# Frames, and share of the frames, that show a second colour at least: what is rarer passes by.
_LEAST_FRAMES, _LEAST_SHARE = 2, 0.04
# A change for good: by how much of half of the film one colour is later than the other, the share
# of the frames that show one of both, and that of the rarer one; at least.
_ONCE, _BOTH, _LEAST_PLACE = 0.7, 0.8, 0.12
# Grey levels and share of the pixels that change for good together, and frames in which that is
# looked for; at least.
_LEAST_APART, _LEAST_CHANGED, _LEAST_STAYING = 16, 0.002, 15
# By how much more outline one colour has than the other: where that begins to count, where it
# counts in full, and by how many grey levels it is more at least.
_OUTLINED, _SURELY, _LEAST_OUTLINE = 1.15, 1.4, 12.0
_MOVES = 1.35  # by how much more a thing moves than the place and what lies around it
# By how much less a visit is spread in time, at least and as a rule: see `Plates.order`.
_BETWEEN, _VISIT = 60, 92
_ARRAYS = ("colors", "shares", "noise", "activity", "order", "thumbnail")


def working_size(height: int, width: int) -> tuple[int, int]:
    """Return height and width at which frames of a size are segmented."""
    factor = min((WORKING_PIXELS / (height * width)) ** 0.5, _MOST_ENLARGED)
    tall, wide = (
        max(_MULTIPLE, round(factor * side / _MULTIPLE) * _MULTIPLE) for side in (height, width)
    )
    return tall, wide


def small_of(layout: Layout, row: Bytes, luma: Bytes | None = None) -> Bytes:
    """Return a frame of a layout, as objects are looked for in it, at the working size.

    Its `luma` at that size spares time where it is known.
    """
    height, width = working_size(layout.height, layout.width)
    if not layout.has_chroma or height * width > layout.pixels:
        return in_color(shrunk(layout.seen(row)))
    planes = [shrunk(layout.luma(row)) if luma is None else luma]
    # Planes have fewer pixels here than colours have at the size of the frame.
    for chroma in layout.chroma(row):
        small = chroma
        while small.shape[0] > 1.5 * height and small.shape[1] > 1.5 * width:
            half = small.shape[1] // 2, small.shape[0] // 2
            small = np.asarray(cv2.resize(small, half, interpolation=cv2.INTER_AREA), np.uint8)
        planes.append(np.asarray(cv2.resize(small, (width, height)), np.uint8))
    return layout.colored(*planes)


def at_working_size(frame: Bytes) -> Bytes:
    """Return a frame, (h, w) or (h, w, 3), at the working size, (h', w', 3)."""
    return in_color(shrunk(frame))


def shrunk(frame: Bytes) -> Bytes:
    """Return a frame, (h, w) or (h, w, 3), at the working size with as many channels."""
    height, width = working_size(*frame.shape[:2])
    if frame.shape[:2] != (height, width):
        smaller = height * width < frame.shape[0] * frame.shape[1]
        way = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
        if frame.shape[0] >= 2 * height and frame.shape[1] >= 2 * width:
            # By two first, which is quick: by other factors means take six times as long a pixel.
            half = frame.shape[1] // 2, frame.shape[0] // 2
            frame = np.asarray(cv2.resize(frame, half, interpolation=way), np.uint8)
        frame = np.asarray(cv2.resize(frame, (width, height), interpolation=way), np.uint8)
    return frame


class Plates(NamedTuple):
    """Hypotheses of one state of a scene, at the working size."""

    # The commonest colour of each pixel and the second one, or the first again, (2, h, w, 3); that
    # of a thing that stays, as its outline tells, is the second one however common it is.
    colors: Bytes
    shares: Bytes  # share of the frames that show each, of 255, (2, h, w)
    frames: int  # of the sample, that show this state
    noise: Bytes  # mean difference of a place at rest, in eighths of a grey level, (h, w)
    # Mean difference to the nearer of the colours, in quarters of a grey level, (h, w).
    activity: Bytes
    # By how much the frames that show the second colour are later than those that show the first,
    # and by how much less spread in time, both around 128, (2, h, w): a visitor comes later than
    # the place, which is seen before and after.
    order: Bytes
    thumbnail: Singles  # of the first colours, (3, 30, 40): where the light of frames is fitted


class Hypothesis(NamedTuple):
    """What may lie behind a frame, aligned and in its light, at the working size."""

    aligned: Aligned
    first: Bytes
    second: Bytes
    plates: Plates
    light: Light


class Background:
    """Hypotheses of the background of a video, in each of its states: that of most frames first.

    `registration` is None for a camera at rest, and `shake` the pixels by which frames of the
    sample were displaced, at most.
    """

    def __init__(
        self, states: list[Plates], registration: Registration | None = None, shake: float = 0.0
    ) -> None:
        self.states, self.registration, self.shake = states, registration, shake
        self._reach = [reach(one.colors) for one in states]
        self._latest: tuple[tuple[Bytes, Hypothesis], ...] = ()

    @classmethod
    def learn(cls, frames: Bytes, each: Each = map) -> Background:
        """Learn the background from frames at the working size, (n, h, w, 3) with n ≤ 255.

        They are in order of time, spread over the video. About 35·n operations per pixel and
        channel on bytes; memory of two samples, of three where the camera shakes.
        """
        registration = find_registration(frames, each)
        placed = list(each(partial(align, registration), frames))
        shake = max(one.motion.furthest(*one.frame.shape[:2]) for one in placed)
        state_of, lights = find_states(np.stack([thumbnail(one.frame) for one in placed]))
        states, within = [], reach(frames)
        for state in range(state_of.max() + 1):
            members = np.flatnonzero(state_of == state)
            # One plane below the other: differences of bytes and their maxima are faster so.
            planes = np.empty((len(members), 3, *frames.shape[1:3]), np.uint8)
            for plane, i in zip(planes, members, strict=True):
                plane[:] = lit(placed[i].frame, lights[i], within, back=True).transpose(2, 0, 1)
            moves = [placed[i].motion for i in members] if registration else []
            seen = np.stack([one.sees(*frames.shape[1:3]) for one in moves]) if moves else None
            states.append(count_colors(planes, members / len(frames), seen))
        return cls(states, registration, shake)

    def of(self, frame: Bytes) -> Hypothesis:
        """Return the hypotheses behind a frame, (h, w, 3) at the working size.

        Asked again of an array that was among the last few, it returns the same.
        """
        for known, found in self._latest:
            if known is frame:
                return found
        aligned = align(self.registration, frame)
        small = thumbnail(aligned.frame)
        lights = [fit_light(small, state.thumbnail) for state in self.states]
        best = int(np.argmax([one.explained for one in lights]))
        plates, light = self.states[best], lights[best]
        (low, high), (least, most) = reach(aligned.frame[None]), self._reach[best]
        within = np.minimum(low, least), np.maximum(high, most)
        first, second = (lit(one, light, within) for one in plates.colors)
        found = Hypothesis(aligned, first, second, plates, light)
        self._latest = ((frame, found), *self._latest[: _THREADS - 1])
        return found

    def aligned(self, frame: Bytes) -> Bytes:
        """Return a frame, (h, w, 3) at the working size, moved to the reference."""
        for known, found in self._latest:
            if known is frame:
                return found.aligned.frame
        return align(self.registration, frame).frame

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return it as arrays by name, for an .npz file."""
        found: dict[str, NDArray[Any]] = {
            "background_states": np.array(len(self.states)),
            "background_shake": np.array(self.shake),
        }
        for i, state in enumerate(self.states):
            found |= {f"background_{name}_{i}": getattr(state, name) for name in _ARRAYS}
            found[f"background_frames_{i}"] = np.array(state.frames)
        return found | ({} if self.registration is None else self.registration.arrays())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Background:
        """Return the background of these `arrays`; KeyError or ValueError if they are of none."""
        states: list[Plates] = []
        for i in range(int(arrays["background_states"])):
            found = {name: arrays[f"background_{name}_{i}"] for name in _ARRAYS}
            plates = Plates(**found, frames=int(arrays[f"background_frames_{i}"]))
            height, width = plates.noise.shape
            shape, both = (height, width), (2, height, width)
            shapes = (*both, 3), both, shape, shape, both, (3, *THUMBNAIL[::-1])
            for name, expected in zip(_ARRAYS, shapes, strict=True):
                kind = np.float32 if name == "thumbnail" else np.uint8
                if found[name].shape != expected or found[name].dtype != kind:
                    raise ValueError(name)
            unlike = states and plates.noise.shape != states[0].noise.shape
            if unlike or not 0 < plates.frames < 256 or not np.isfinite(plates.thumbnail).all():
                raise ValueError(i)
            states.append(plates)
        shake = float(arrays["background_shake"])
        if not states or not 0 <= shake < math.inf:
            raise ValueError(shake)
        return cls(states, registration_in(arrays), shake)


def count_colors(sample: Bytes, times: NDArray[np.float64], seen: Flags | None = None) -> Plates:
    """Count colours of pixels that are `seen` in frames, (n, 3, h, w), in one light, at times."""
    n, _, height, width = sample.shape
    planes = sample.reshape(n, 3 * height, width)
    # A state of one frame says nothing of its noise.
    steps = [_apart(a, b) for a, b in itertools.pairwise(planes)] or [_apart(planes[0], planes[0])]
    rest = column_median(np.stack(steps).reshape(len(steps), -1)).reshape(height, width)
    del steps
    rest = np.minimum(rest, cv2.medianBlur(rest, 5))
    tolerance = np.clip(_TOLERANCE * rest, _NEAREST, _FURTHEST).astype(np.uint8)
    tries = evenly(n, _CANDIDATES)
    open_ = np.ones((n, height, width), np.bool_) if seen is None else seen
    first, shows_first = _commonest(planes, tries, open_, tolerance)
    open_ = open_ > shows_first
    second, shows_second = first.copy(), np.zeros_like(open_)
    # What few frames show otherwise has no second colour: it need not be looked for.
    least = max(_LEAST_FRAMES, _LEAST_SHARE * n)
    (often,) = np.nonzero(np.count_nonzero(open_, axis=0).ravel() >= least)
    if often.size:
        apart = np.take(planes.reshape(n, 3, -1), often, axis=2)
        free = np.take(open_.reshape(n, 1, -1), often, axis=2)
        color, shown = _commonest(apart, tries, free, tolerance.reshape(1, -1)[:, often])
        enough = np.count_nonzero(shown, axis=(0, 1)) >= least
        second.reshape(3, -1)[:, often[enough]] = color[:, enough]
        shows_second.reshape(n, -1)[:, often[enough]] = shown[:, 0, enough]
    counts = [np.count_nonzero(shown, axis=0) * (255 / n) for shown in (shows_first, shows_second)]
    shares = np.rint(counts).astype(np.uint8)
    colors = np.stack([one.reshape(3, height, width).transpose(1, 2, 0) for one in (first, second)])
    order = _order(shows_first, shows_second, times)
    if n >= _LEAST_STAYING:
        _tell_what_stays(sample, (shows_first, shows_second), colors, shares, order)
        first, second = np.ascontiguousarray(colors.transpose(0, 3, 1, 2)).reshape(2, -1, width)
    near, spread = np.zeros((2, height, width), np.float32)
    for plane, shown, again, others in zip(planes, shows_first, shows_second, open_, strict=True):
        off, other = _apart(plane, first), _apart(plane, second)
        near += off * shown
        spread += np.minimum(np.minimum(off, other), _LONGEST) * (shown | again | others)
    count = np.maximum(np.count_nonzero(shows_first, axis=0), 1)
    return Plates(
        np.ascontiguousarray(colors),
        shares,
        n,
        np.clip(np.rint(NOISE_UNIT * near / count), 0, 255).astype(np.uint8),
        np.clip(np.rint(_ACTIVITY_UNIT * spread / n), 0, 255).astype(np.uint8),
        order,
        thumbnail(np.ascontiguousarray(colors[0])),
    )


def _tell_what_stays(
    sample: Bytes, shown: tuple[Flags, Flags], colors: Bytes, shares: Bytes, order: Bytes
) -> None:
    """Put the place first where what came or left, or comes and goes, is seen more often.

    Neither shares nor times tell the place from what stands there for longer, but a thing has an
    outline, and the place goes on into its surroundings. Where the commoner of two colours, which
    follow one another or of which it is seen between the other, has the stronger edge around it,
    both change places, and `order` becomes that of a visit, the more so the clearer that is.
    Whenever it is seen, they do if it has a clear edge and moves more than the place.
    """
    small, large = np.ones((3, 3), np.uint8), np.ones((5, 5), np.uint8)
    gradients = []  # the largest of any channel within a pixel of each, in grey levels
    for one in colors:
        across, down = (cv2.Sobel(one, cv2.CV_32F, x, 1 - x, scale=0.25) for x in (1, 0))
        gradients.append(cv2.dilate(cv2.magnitude(across, down).max(axis=2), small))
    apart = cv2.absdiff(colors[0], colors[1]).max(axis=2) >= _LEAST_APART
    later, spread = order.astype(np.float32) - 128
    free = apart & (shares.sum(axis=0) >= _BOTH * 255) & (shares[1] >= _LEAST_PLACE * 255)
    told = np.zeros_like(free)
    for when in (np.abs(later) >= _ONCE * LATER_UNIT / 2, spread <= -_BETWEEN, np.True_):
        free &= ~told
        changed = cv2.morphologyEx((free & when).view(np.uint8), cv2.MORPH_OPEN, small)
        changed = cv2.morphologyEx(changed, cv2.MORPH_CLOSE, large)
        _, labels, found, _ = cv2.connectedComponentsWithStats(changed)
        for i in np.flatnonzero(found[1:, cv2.CC_STAT_AREA] >= _LEAST_CHANGED * free.size) + 1:
            thing = labels == i
            rim = cv2.morphologyEx(thing.view(np.uint8), cv2.MORPH_GRADIENT, small) > 0
            first, second = (float(one[rim].mean()) for one in gradients)
            sure = (first / max(second, 1.0) - _OUTLINED) / (_SURELY - _OUTLINED)
            unsure = sure <= 0 or first - second < _LEAST_OUTLINE
            if unsure or (when is np.True_ and (sure < 1 or not _moves_more(sample, shown, thing))):
                continue
            wide = (cv2.dilate(thing.view(np.uint8), small) > 0) & ~told & (shares[1] > 0)
            told |= wide
            for one, other in (tuple(colors), tuple(shares), *zip(*shown, strict=True)):
                one[wide], other[wide] = other[wide], one[wide]
            visit = np.array([[128], [128 + _VISIT]], np.float32)
            turned = 256 - order[:, wide].astype(np.float32)
            order[:, wide] = np.clip(turned + min(sure, 1.0) * (visit - turned), 0, 255)


def _moves_more(sample: Bytes, shown: tuple[Flags, Flags], thing: Flags) -> bool:
    """Return whether the first colour moves more than the second, and than what lies around."""
    around = (cv2.dilate(thing.view(np.uint8), np.ones((15, 15), np.uint8)) > 0) & ~thing
    moves = []
    for color, where in ((0, thing), (1, thing), (0, around)):
        here, there = sample[1:, :, where], sample[:-1, :, where]
        steps = (np.maximum(here, there) - np.minimum(here, there)).max(axis=1)
        steps = steps[shown[color][1:, where] & shown[color][:-1, where]]
        moves.append(float(steps.mean()) if steps.size else math.nan)
    return all(moves[0] + 0.5 >= _MOVES * (other + 0.5) for other in moves[1:])


def _order(first: Flags, second: Flags, times: NDArray[np.float64]) -> Bytes:
    """Return the `order` of two colours from the frames that show them, (n, h, w)."""
    moments = []
    for shows in (first, second):
        count, total, squares = np.zeros((3, *shows.shape[1:]), np.float32)
        for shown, time in zip(shows, times, strict=True):
            count += shown
            total += shown * np.float32(time)
            squares += shown * np.float32(time * time)
        mean = total / np.maximum(count, 1)
        deviation = np.sqrt(np.maximum(squares / np.maximum(count, 1) - mean * mean, 0))
        moments.append((mean, deviation, count > 0))
    (early, wide, _), (late, narrow, there) = moments
    order = np.stack([LATER_UNIT * (late - early), SPREAD_UNIT * (wide - narrow)]) * there
    return np.asarray(np.clip(np.rint(128 + order), 0, 255), np.uint8)


def _apart(one: Bytes, other: Bytes) -> Bytes:
    """Return the largest channel difference of two frames of stacked planes, (h, w)."""
    red, green, blue = cv2.absdiff(one, other).reshape(3, -1, one.shape[1])
    return np.asarray(cv2.max(cv2.max(red, green), blue), np.uint8)


def _commonest(
    planes: Bytes, tries: NDArray[np.int64], open_: Flags, tolerance: Bytes
) -> tuple[Bytes, Flags]:
    """Return the colour that most frames show where they are open, and which do, (n, h, w)."""
    _, height, width = open_.shape
    most = np.zeros((height, width), np.uint8)
    color = planes[tries[0]].copy()
    wide = color.reshape(3, height, width)
    for candidate in tries:
        count = np.zeros((height, width), np.uint8)
        for plane, free in zip(planes, open_, strict=True):
            count += (_apart(plane, planes[candidate]) <= tolerance) & free
        count *= open_[candidate]
        better = count > most
        np.copyto(most, count, where=better)
        np.copyto(wide, planes[candidate].reshape(wide.shape), where=better)
    shown = np.empty(open_.shape, np.bool_)
    total = np.zeros((3, height, width), np.float32)
    for plane, free, shows in zip(planes, open_, shown, strict=True):
        np.logical_and(_apart(plane, color) <= tolerance, free, out=shows)
        total += plane.reshape(3, height, width) * shows
    count = np.maximum(np.count_nonzero(shown, axis=0), 1)
    mean = np.where(most > 0, np.rint(total / count), wide)
    return mean.astype(np.uint8).reshape(3 * height, width), shown
