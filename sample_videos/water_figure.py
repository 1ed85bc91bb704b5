"""The walker: a jointed figure seen from the side, with its coverage and its soft shadow.

Lengths are in body heights, x forward, y up from the ground; angles in radians, 0 is straight down
and positive is forward.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from sample_videos.water_scene import (
    HEIGHT,
    WIDTH,
    Array,
    Layer,
    as_array,
    fractal_noise,
    reduce,
)

FIRST_FRAME = 481  # counted from 1
LAST_FRAME = 633
TALL = 61.0  # pixels
GROUND = 117.0  # row of the soles
OVERSAMPLING = 6
CANVAS = (72, 48)  # pixels at the final scale: rows, columns
SOLE, MIDDLE = 68.0, 24.0  # row and column of the ground point in the canvas
FULL_STRIDE = 0.43  # amplitude of the thigh at a full walk
Point = tuple[float, float]
SKIN, HAIR = (0.74, 0.56, 0.46), (0.17, 0.13, 0.11)
COAT, SLEEVE = (0.40, 0.13, 0.12), (0.35, 0.11, 0.11)
TROUSERS, FAR_LEG = (0.14, 0.15, 0.20), (0.10, 0.11, 0.15)
SHOE, BAG = (0.12, 0.10, 0.09), (0.17, 0.17, 0.13)


@dataclass(frozen=True)
class Pose:
    """Where the figure is and what its limbs do in one instant."""

    x: float  # column of the ground point
    facing: float  # +1 to the right, -1 to the left
    pace: float  # 0 stands, 1 walks out
    phase: float  # of the gait
    sway: float  # slow shift of the weight


# Frame, column: in briskly from the left, three halts, one turn.
STATIONS = (
    (476, -23.0), (481, -7.0), (486, 6.5), (491, 18.5), (497, 31.0), (505, 44.0), (515, 53.5),
    (522, 55.5), (556, 56.0), (563, 59.0), (572, 70.0), (582, 84.0), (590, 92.0), (595, 93.5),
    (616, 93.5), (620, 92.0), (626, 85.0), (634, 74.0),
)  # fmt: skip
TURN = 617.0


def plan_walk(rng: np.random.Generator) -> list[Pose]:
    """Poses at four instants a frame, from FIRST_FRAME on: index 4·(frame − FIRST_FRAME) + i."""
    frames, columns = np.array(STATIONS, float).T
    instants = np.arange(frames[0], LAST_FRAME + 1, 0.25)
    x = np.interp(instants, frames, columns)
    kernel = np.hanning(35)
    padded = np.pad(x, 17, mode="reflect", reflect_type="odd")
    x = np.convolve(padded, kernel / kernel.sum(), mode="valid")
    speed = np.gradient(x, 0.25)  # pixels per frame
    pace = np.clip(np.abs(speed) / 1.5, 0, 1)
    stride = 4 * 0.47 * TALL * np.sin(FULL_STRIDE * np.sqrt(np.clip(pace, 0.1, 1)))
    phase = 0.6 + np.cumsum(2 * np.pi * np.abs(speed) * 0.25 / stride)
    beat = rng.uniform(0, 2 * np.pi, 2)
    seconds = instants / 25
    sway = 0.6 * np.sin(1.3 * seconds + beat[0]) + 0.4 * np.sin(2.9 * seconds + beat[1])
    facing = np.clip((TURN - instants) / 2.5, -1, 1)
    facing = np.where(np.abs(facing) < 0.75, np.copysign(0.75, facing), facing)
    keep = instants >= FIRST_FRAME
    return [
        Pose(*(float(v) for v in values))
        for values in zip(x[keep], facing[keep], np.sqrt(pace[keep]), phase[keep], sway[keep],
                          strict=True)
    ]  # fmt: skip


class Walker:
    """Draws the figure of one frame; needs no history."""

    def __init__(self, rng: np.random.Generator) -> None:
        size = (CANVAS[0] * OVERSAMPLING, CANVAS[1] * OVERSAMPLING)
        self._poses = plan_walk(rng)
        self._weave = fractal_noise(rng, size, (9.0, 9.0), 2)
        self._folds = fractal_noise(rng, size, (45.0, 16.0), 3)

    def render(self, frame: int) -> tuple[Layer, Array] | None:
        """Return the figure and its shadow (HEIGHT, WIDTH, 1), or None if nobody is there."""
        if not FIRST_FRAME <= frame <= LAST_FRAME:
            return None
        color = np.zeros((HEIGHT, WIDTH, 3), np.float32)
        alpha = np.zeros((HEIGHT, WIDTH, 1), np.float32)
        shadow = np.zeros((HEIGHT, WIDTH, 1), np.float32)
        first = 4 * (frame - FIRST_FRAME)
        # The shutter is open for half a frame; within it nobody changes sides.
        start, later = self._poses[first : first + 2]
        instants = (start, replace(later, facing=start.facing))
        for pose in instants:
            layer = self._draw(pose)
            color += _place(layer.color * layer.alpha, pose) / len(instants)
            alpha += _place(layer.alpha, pose) / len(instants)
            shadow += _cast(layer.alpha, pose) / len(instants)
        return Layer(as_array(color / np.maximum(alpha, 1e-6)), alpha), shadow

    def _draw(self, pose: Pose) -> Layer:
        """Draw one instant on the canvas, facing right: premultiplied only after reduction."""
        size = (CANVAS[0] * OVERSAMPLING, CANVAS[1] * OVERSAMPLING)
        color, alpha = np.zeros((*size, 3), np.float32), np.zeros(size, np.float32)
        for part, tone in _body(pose):
            mask = np.zeros(size, np.float32)
            for shape in part:
                cv2.fillPoly(mask, [_to_canvas(shape)], 1.0, cv2.LINE_AA, 4)
            soft = cv2.GaussianBlur(mask, (0, 0), 7)
            down, across = np.gradient(soft)
            light = 0.5 * down - float(np.sign(pose.facing)) * across  # the sun is right, ahead
            shade = 0.95 + 4.2 * as_array(light) + 0.07 * self._weave + 0.11 * self._folds
            paint = as_array(tone) * np.clip(shade, 0.4, 1.8)[..., None]
            color += mask[..., None] * (paint - color)
            alpha = np.maximum(alpha, mask)
        return _premultiplied(color, alpha)


def _premultiplied(color: Array, alpha: Array) -> Layer:
    small = reduce(alpha, OVERSAMPLING)
    return Layer(as_array(reduce(color, OVERSAMPLING) / np.maximum(small, 1e-6)),
                 small)  # fmt: skip


def _to_canvas(shape: list[Point]) -> np.ndarray:
    """Body coordinates to OpenCV's fixed-point canvas coordinates (4 fractional bits)."""
    points = np.array(shape)
    columns = (MIDDLE + points[:, 0] * TALL) * OVERSAMPLING
    rows = (SOLE - points[:, 1] * TALL) * OVERSAMPLING
    return np.round(np.stack([columns, rows], 1) * 16).astype(np.int32)


def _limb(start: Point, end: Point, wide: float, narrow: float) -> list[Point]:
    """Return a tapered limb with round ends as a polygon."""
    direction = np.arctan2(end[1] - start[1], end[0] - start[0])
    half = np.linspace(np.pi / 2, 3 * np.pi / 2, 9) + direction
    near = [(start[0] + wide * np.cos(a), start[1] + wide * np.sin(a)) for a in half]
    far = [(end[0] - narrow * np.cos(a), end[1] - narrow * np.sin(a)) for a in half]
    return [(float(a), float(b)) for a, b in near + far]


def _oval(center: Point, width: float, height: float) -> list[Point]:
    """Return an ellipse as a polygon; ``width`` and ``height`` are half axes."""
    angles = np.linspace(0, 2 * np.pi, 28, endpoint=False)
    return [
        (center[0] + width * float(np.cos(a)), center[1] + height * float(np.sin(a)))
        for a in angles
    ]


def _reach(start: Point, length: float, angle: float) -> Point:
    """Return the far end of a limb."""
    return start[0] + length * float(np.sin(angle)), start[1] - length * float(np.cos(angle))


def _leg(hip: Point, phase: float, pace: float, rest: float) -> list[Point]:
    """Hip, knee, ankle and toe."""
    thigh = FULL_STRIDE * pace * np.sin(phase) + (1 - pace) * rest + 0.04
    bend = 0.06 + 0.85 * pace * max(0.0, float(np.cos(phase + 0.25))) ** 2
    knee = _reach(hip, 0.245, thigh)
    ankle = _reach(knee, 0.235, thigh - bend)
    pitch = 0.5 * (thigh - bend)
    return [hip, knee, ankle, _reach(ankle, 0.085, np.pi / 2 - 0.25 + min(pitch, 0.25))]


def _arm(shoulder: Point, swing: float, pace: float, rest: float) -> list[Point]:
    """Shoulder, elbow and hand; a standing figure has its hands in its pockets."""
    upper = 0.55 * pace * swing - (1 - pace) * rest
    bend = pace * (0.30 + 0.22 * swing) + (1 - pace) * 0.75
    elbow = _reach(shoulder, 0.165, upper)
    return [shoulder, elbow, _reach(elbow, 0.15, upper + bend)]


def _body(pose: Pose) -> list[tuple[list[list[Point]], tuple[float, float, float]]]:
    """List the parts from far to near: polygons and a colour each."""
    lean = 0.035 * pose.pace + 0.008 * pose.sway
    shift = 0.006 * pose.sway
    hip = (shift, 0.51)
    legs = [_leg(hip, pose.phase + side, pose.pace, rest) for side, rest in ((np.pi, 0.09),
            (0.0, -0.07))]  # fmt: skip
    drop = min(point[1] for leg in legs for point in leg[2:]) - 0.022
    legs = [[(x, y - drop) for x, y in leg] for leg in legs]
    hip = legs[0][0]
    shoulder = (hip[0] + lean + 0.005, hip[1] + 0.295)
    swing = float(np.sin(pose.phase))
    arms = [_arm(shoulder, s, pose.pace, rest) for s, rest in ((swing, 0.18), (-swing, 0.24))]
    nod = 0.02 * pose.pace + 0.006 * pose.sway
    head = (shoulder[0] + 0.022 + nod, shoulder[1] + 0.125)
    parts: list[tuple[list[list[Point]], tuple[float, float, float]]] = []
    parts += [([_limb(arms[0][0], arms[0][1], 0.036, 0.030),
                _limb(arms[0][1], arms[0][2], 0.030, 0.024)], (0.27, 0.09, 0.09)),
              ([_oval(arms[0][2], 0.02, 0.022)], SKIN)]  # fmt: skip
    for leg, tone in zip(legs, (FAR_LEG, TROUSERS), strict=True):
        parts += [([_limb(leg[2], leg[3], 0.028, 0.018)], SHOE),
                  ([_limb(leg[0], leg[1], 0.064, 0.044), _limb(leg[1], leg[2], 0.044, 0.030)],
                   tone)]  # fmt: skip
    chest = (shoulder[0] + 0.004, shoulder[1] - 0.035)
    belly = (hip[0] + 0.004, hip[1] + 0.02)
    parts += [([_limb(head, (shoulder[0], shoulder[1]), 0.03, 0.034)], SKIN),
              ([_limb(chest, belly, 0.079, 0.074), _limb(shoulder, chest, 0.05, 0.075)], COAT),
              ([_limb((chest[0] - 0.1, chest[1] + 0.0), (belly[0] - 0.095, belly[1] + 0.09),
                      0.045, 0.055)], BAG),
              ([_oval(head, 0.048, 0.062), _oval((head[0] + 0.046, head[1] - 0.012), 0.014,
                                                 0.013)], SKIN),
              ([_oval((head[0] - 0.024, head[1] + 0.018), 0.040, 0.05),
                _oval((head[0] + 0.002, head[1] + 0.048), 0.045, 0.024)], HAIR),
              ([_limb(arms[1][0], arms[1][1], 0.040, 0.033),
                _limb(arms[1][1], arms[1][2], 0.033, 0.026)], SLEEVE)]  # fmt: skip
    if pose.pace > 0.35:
        parts.append(([_oval(arms[1][2], 0.021, 0.024)], SKIN))
    return parts


def _place(canvas: Array, pose: Pose) -> Array:
    """Put a canvas into the picture at the pose's column, mirrored when it faces left."""
    move = np.array([[pose.facing, 0, pose.x - pose.facing * MIDDLE], [0, 1, GROUND - SOLE]])
    placed = cv2.warpAffine(canvas, move, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR)
    return as_array(placed).reshape(HEIGHT, WIDTH, -1)


def _cast(alpha: Array, pose: Pose) -> Array:
    """Cast the shadow: the coverage folded down towards the camera and to the left, softened."""
    lay, shear = -0.36, 0.42
    move = np.array([
        [pose.facing, shear, pose.x - pose.facing * MIDDLE - shear * SOLE],
        [0, lay, GROUND - 0.8 - lay * SOLE],
    ])  # fmt: skip
    flat = as_array(cv2.warpAffine(alpha, move, (WIDTH, HEIGHT), flags=cv2.INTER_AREA))
    return as_array(cv2.GaussianBlur(flat, (0, 0), 0.9)).reshape(HEIGHT, WIDTH, 1)
