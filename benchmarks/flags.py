"""What frame flags see and are quiet about: ``python -m benchmarks.flags DATA``.

DATA holds ``moved_object`` and ``waving_trees`` (Wallflower), for ``--rates`` also ``light_switch``
and ``daylight`` (Wallflower) and ``fall`` (CDnet); the sample of this repository is the water.
Every film goes through the default fit and the default cut-off. Patches are put, one at a
random place, brighter or darker, into every tenth of the empty frames, and the film is fitted
again for every size and level: the scene is not known beforehand. σ is the median noise of the
pixels. Empty films are recordings without visitors, and made ones: flashes, noise that doubles, a
daylight ramp and a shadow that sweeps over a recording or a rendered ground. ``--rates`` counts in
calm films how often either score exceeds the cut-off of 1/10 and 1/100; ``--recall`` prints recall
by area and contrast alone, at the default and at 1/100, and ``--figure FILE`` draws it;
``--curtains N`` prints what is flagged of N made films of cloth that sways by an amplitude that
drifts, with and without a visitor before it.
"""

from __future__ import annotations

import argparse
import io
import itertools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.options import RunOptions
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF, cutoff_for
from bgsub.pipeline.run import fit_errors
from bgsub.video.frames import Bytes
from bgsub.video.source import open_source

AREAS = (0.001, 0.003, 0.01, 0.03)
LEVELS = (4, 10, 25, 60)
SMALL_AREAS = (0.0005, 0.001, 0.002, 0.005, 0.01)
CONTRASTS = (3, 4, 6, 8, 10)
RATES = (1 / 10, 1 / 100)

Pictures = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Film:
    """A film, and the frames of it that are empty; visitors are in all others."""

    name: str
    frames: Bytes
    empty: Flags
    bound: float = 0.005


def luma(path: str) -> Bytes:
    """All frames of a film in grey."""
    return np.stack([frame.luma.copy() for frame in open_source(path, color="gray")])


def spans(total: int, *chosen: tuple[int, int]) -> Flags:
    """Frames from 1, both ends included."""
    flags = np.zeros(total, dtype=np.bool_)
    for first, last in chosen:
        flags[first - 1 : last] = True
    return flags


def table_of(frames: Bytes) -> ErrorTable:
    """Errors of a default run."""
    return fit_errors(frames, RunOptions()).table


def rounded(pictures: NDArray[np.floating]) -> Bytes:
    """Whole grey levels within the camera's range."""
    return np.asarray(np.clip(np.rint(pictures), 0, 255), dtype=np.uint8)


def rendered_ground(height: int = 120, width: int = 160) -> Pictures:
    """Texture of two sizes."""
    rng = np.random.default_rng(5)
    fine, coarse = rng.normal(0, 1, (2, height, width))
    coarse = cv2.GaussianBlur(coarse, (0, 0), 6)
    ground = 110 + 30 * coarse / coarse.std() + 60 * cv2.GaussianBlur(fine, (0, 0), 1.2)
    return np.asarray(np.clip(ground, 30, 190), dtype=np.float32)


def shadow(frames: int, width: int, span: tuple[int, int]) -> Pictures:
    """Light of a shadow of 0.6 whose edge sweeps over the picture during a span of the frames."""
    edge = np.interp(np.arange(frames), span, [-20, width + 20])[:, None, None]
    depth = 1 / (1 + np.exp((np.arange(width) - edge) / 1.5))
    return np.asarray(1 - 0.4 * depth, dtype=np.float32)


def wind(total: int, seed: int) -> Pictures:
    """Bushes before a bright sky, which gusts bend; nobody comes.

    The wind's speed strays around its mean by a third of it, the bend grows with its square; every
    bush follows with a delay and a trembling of its own.
    """
    rng = np.random.default_rng(seed)
    height, width = 120, 160
    y, x = np.mgrid[:height, :width].astype(np.float32)
    sky = 225 + 12 * cv2.GaussianBlur(rng.normal(0, 1, (height, width)), (0, 0), 25) * 25
    scene = rendered_ground() * 0.6
    scene = np.where(y < 0.75 * height, sky, scene).astype(np.float32)
    walk = np.zeros(total + 20)
    for step in range(1, walk.size):
        walk[step] = 0.9 * walk[step - 1] + rng.normal(0, 0.44)
    film = np.repeat(scene[None], total, axis=0)
    for _ in range(5):
        leaves = cv2.GaussianBlur(rng.normal(0, 1, (height, width)), (0, 0), 1.5)
        middle, radius = rng.uniform(20, width - 20), rng.uniform(12, 30)
        crown = np.exp(-np.square((x - middle) / radius) - np.square((y - 70) / 40))
        alpha = np.clip(4 * (leaves / leaves.std() * 0.5 + 2 * crown - 1.1), 0, 1)
        alpha = np.asarray(alpha, dtype=np.float32)
        dark, delay, reach = rng.uniform(30, 90), int(rng.integers(0, 20)), rng.uniform(1, 4)
        tremble = rng.normal(0, 0.3, total)
        for frame in range(total):
            gust = 1 + 0.33 * walk[frame + 20 - delay]
            bend = np.float32(reach * gust * abs(gust) + tremble[frame]) * (1.2 - y / height)
            moved = cv2.remap(alpha, x - bend, y, cv2.INTER_LINEAR)
            film[frame] += moved * (dark - film[frame])
    return film


def made_films(recording: Bytes) -> Iterator[Film]:
    """Films in which the light or the noise changes and nobody comes."""
    rng = np.random.default_rng(1)
    total, ground = 400, rendered_ground()
    real = recording.astype(np.float32)

    def noise(sigma: NDArray[np.floating] | float) -> Pictures:
        drawn = rng.normal(0, 1, (total, *ground.shape)).astype(np.float32)
        return np.asarray(np.reshape(sigma, (-1, 1, 1)) * drawn, dtype=np.float32)

    def film(name: str, pictures: NDArray[np.floating], bound: float = 0.005) -> Film:
        return Film(name, rounded(pictures), np.ones(len(pictures), dtype=np.bool_), bound)

    flashes = rng.choice(len(real), len(real) // 20, replace=False)
    bright = real.copy()
    bright[flashes] *= rng.uniform(1.1, 1.5, (flashes.size, 1, 1)).astype(np.float32)
    bright[flashes] += rng.uniform(0, 20, (flashes.size, 1, 1)).astype(np.float32)
    yield film("flashes in 5 %, moved_object", bright)
    gain = np.ones((total, 1, 1))
    gain[rng.choice(total, total // 20, replace=False)] = rng.uniform(0.7, 1.5, (20, 1, 1))
    yield film("flashes in 5 %, rendered", ground * gain + noise(3))
    yield film("noise 4, then 8", ground + noise(np.where(np.arange(total) < 300, 4.0, 8.0)))
    yield film("noise 4 rises to 8", ground + noise(np.linspace(4, 8, total)))
    yield film("daylight x0.5-1.2, rendered", ground * ramp(total) + noise(2))
    yield film("daylight x0.5-1.2, moved_object", real * ramp(len(real)))
    yield film("wind in made bushes", wind(total, 3) + noise(2))
    width = ground.shape[1]
    for name, span in (("all of the film", (0, total - 1)), ("a fifth of it", (150, 230))):
        swept = ground * shadow(total, width, span) + noise(2)
        yield film(f"shadow sweeps in {name}", swept, 0.05)
    swept = real * shadow(len(real), real.shape[2], (0, len(real) - 1))
    yield film("shadow sweeps, moved_object", swept, 0.05)


def calm_films(total: int = 1000) -> Iterator[tuple[str, Bytes]]:
    """Films in which only the camera and its light are at work."""
    rng = np.random.default_rng(11)
    ground = rendered_ground(72, 96)
    height, width = ground.shape
    rows = np.arange(height)[None, :, None]
    times = np.arange(total)[:, None, None]
    noise = rng.normal(0, 2, (total, height, width)).astype(np.float32)
    light = np.zeros(total)
    for frame in range(1, total):
        light[frame] = 0.95 * light[frame - 1] + rng.normal(0, 1)
    yield "Gaussian", rounded(ground + noise)
    yield "Gaussian, fine", rounded(ground + noise / 4)
    yield "Gaussian, coarse", rounded(ground + 4 * noise)
    yield "Poisson", rounded(2.0 * rng.poisson(ground / 2, noise.shape))
    yield "t(3)", rounded(ground + 2 * rng.standard_t(3, noise.shape))
    yield "AR(1) light", rounded(ground * (1 + 0.01 * light[:, None, None]) + noise)
    for mains, period in ((50, 7.3), (60, 19.7)):
        bands = 1 + 0.04 * np.sin(2 * np.pi * (times / period + rows / height))
        yield f"{mains} Hz beat", rounded(ground * bands + noise)
    pixels = ground + noise
    for top, left in rng.integers((0, 0), (height, width), (20, 2)):
        pixels[:, top, left] += 60 * (rng.random(total) < 0.3)
    yield "blinking pixels", rounded(pixels)
    moves = [np.array([[1, 0, x], [0, 1, y]]) for x, y in rng.normal(0, 0.2, (total, 2))]
    size, border = (width, height), cv2.BORDER_REPLICATE
    shaken = np.stack([cv2.warpAffine(ground, one, size, borderMode=border) for one in moves])
    yield "tremor", rounded(shaken + noise)
    yield "codec", encoded(rounded(ground + noise))
    yield "noise in rows", rounded(ground + noise + rng.normal(0, 1, (total, height, 1)))


def curtain(total: int, seed: int, *, visitor: bool) -> Film:
    """A curtain before a room sways by an amplitude that drifts; a visitor may walk before it.

    The median amplitude is .5 to 1.5 pixels times four waves, its logarithm a slow walk with a
    standard deviation of .4 to .7. The cloth covers 30 to 100 % of the width, the visitor 3 to 8 %
    of the picture in a tenth of the frames.
    """
    rng = np.random.default_rng(seed)
    height, width = 96, 128
    y, x = np.mgrid[:height, :width].astype(np.float32)

    def spots(size: float) -> Pictures:
        drawn = cv2.GaussianBlur(rng.normal(0, 1, (height, width)), (0, 0), size)
        return np.asarray(drawn / drawn.std(), np.float32)

    room = 110 + 25 * spots(6) + 8 * spots(1.2)
    folds = np.zeros_like(x)
    for number, period in enumerate(rng.uniform(7, 28, 3), start=1):
        phase = rng.uniform(0, 6.3) + 0.3 * np.sin(y / rng.uniform(20, 50))
        folds += np.sin(2 * np.pi * x / period + phase) / number
    cloth = rng.uniform(110, 180) + rng.uniform(15, 35) * folds / folds.std() + 4 * spots(1)
    left, right = rng.uniform(0, 0.3) * width, rng.uniform(0.6, 1) * width
    hem = rng.uniform(0.75, 1.1) * height
    kept = np.exp(-1 / rng.uniform(60, 150))
    walk = np.zeros(total + 300)
    for frame in range(1, walk.size):
        walk[frame] = kept * walk[frame - 1] + np.sqrt(1 - kept**2) * rng.normal()
    amplitudes = rng.uniform(0.5, 1.5) * np.exp(rng.uniform(0.4, 0.7) * walk[300:])
    waves = rng.uniform((0.5, 0.2, 0.4, 0), (2, 1, 1, 6.3), (4, 4)) / (width, height, 1, 1)
    turns = 2 * np.pi * np.arange(total)[:, None] / rng.uniform(12, 50, 4)
    turns = turns + np.cumsum(rng.normal(0, 0.12, (total, 4)), axis=0)
    film = np.empty((total, height, width), np.float32)
    for frame, amplitude in enumerate(amplitudes):
        sway, slope = np.zeros_like(x), np.zeros_like(x)
        for (across, down, size, start), turn in zip(waves, turns[frame], strict=True):
            phase = 2 * np.pi * (across * x + down * y) - turn + start
            strength = amplitude * size * (y / height) ** 0.7
            sway += strength * np.sin(phase)
            slope += strength * 2 * np.pi * across * np.cos(phase)
        at = np.asarray(x - sway, np.float32)
        moved = cv2.remap(cloth, at, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        inside = np.clip(at - left, 0, 1) * np.clip(right - at, 0, 1)
        inside *= np.clip(hem + 0.3 * sway - y, 0, 1)
        film[frame] = room + inside * (moved * (1 + slope / 2) - room)
    empty = np.ones(total, dtype=np.bool_)
    if visitor:
        first = int(rng.uniform(0.3, 0.8) * total)
        empty[first : first + total // 10] = False
        tall = rng.uniform(0.45, 0.75) * height
        look = rng.choice([rng.uniform(25, 75), rng.uniform(200, 240)]) + 10 * spots(2)
        places = np.linspace(0.12, 0.88, total // 10) * width
        for frame, middle in zip(np.flatnonzero(~empty).tolist(), places, strict=True):
            aside, up = x - middle, 0.97 * height - y
            body = np.hypot(aside / (0.17 * tall), (up - 0.42 * tall) / (0.42 * tall)) < 1
            head = np.hypot(aside / (0.08 * tall), (up - 0.9 * tall) / (0.1 * tall)) < 1
            shape = cv2.GaussianBlur((body | head).astype(np.float32), (0, 0), 0.7)
            film[frame] += shape * (look - film[frame])
    name = f"curtain {seed}" + ", visitor" * visitor
    return Film(name, rounded(film + rng.normal(0, 1.5, film.shape)), empty, 0.02)


def encoded(frames: Bytes) -> Bytes:
    """The film as x264 leaves it."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "28", "threads": "1"})
        stream.height, stream.width = frames.shape[1:]
        stream.pix_fmt = "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="gray")))
        container.mux(stream.encode(None))
    file.seek(0)
    with av.open(file, "r") as made:
        shown = [
            np.asarray(one.to_ndarray(format="gray"), np.uint8) for one in made.decode(video=0)
        ]
    return np.stack(shown)


def print_rates(films: Iterable[tuple[str, Bytes]]) -> bool:
    """Print how often the scores of calm films exceed what a rate allows; whether any misses."""
    missed = False
    shown = "".join(f"  score, local {rate:5.0%}" for rate in RATES)
    print(f"{'film':24s} {'frames':>6s}{shown}  flagged")
    for name, frames in films:
        table = table_of(frames)
        local = table.highest if table.local is None else table.local
        shares = [
            float((scores > cutoff_for(rate)).mean())
            for rate in RATES
            for scores in (table.scores, local)
        ]
        flagged = int(table.outliers.sum())
        over = any(
            share > 1.5 * rate for share, rate in zip(shares, np.repeat(RATES, 2), strict=True)
        )
        missed |= over or flagged > 0
        cells = "".join(f"{share:9.1%}" for share in shares)
        print(f"{name:24s} {len(frames):6d}{cells} {flagged:8d}{'  missed' * over}", flush=True)
    return missed


def print_recall(name: str, frames: Bytes, every: int) -> NDArray[np.floating]:
    """Print and return recall of small patches by cut-off (default, 1 %), area and contrast."""
    sigma = noise_of(frames)
    print(f"\n{name}, noise {sigma:.1f}: recall at the default / at 1/100 (others flagged)")
    print(f"{'area':>6s}" + "".join(f"{contrast:>20d}σ" for contrast in CONTRASTS))
    recall = np.empty((2, len(SMALL_AREAS), len(CONTRASTS)))
    for row, area in enumerate(SMALL_AREAS):
        cells = []
        for column, contrast in enumerate(CONTRASTS):
            film, marked = with_patches(frames, area, round(contrast * sigma), every)
            highest = table_of(film).highest
            low, high = (highest > cutoff for cutoff in (DEFAULT_CUTOFF, cutoff_for(1 / 100)))
            recall[:, row, column] = low[marked].mean(), high[marked].mean()
            found = f"{low[marked].mean():.2f} / {high[marked].mean():.2f}"
            cells.append(f"{found} ({low[~marked].sum()}, {high[~marked].sum()})")
        print(f"{area:6.2%}" + "".join(f"{cell:>21s}" for cell in cells), flush=True)
    return recall


def draw_recall(recalls: dict[str, NDArray[np.floating]], path: Path) -> None:
    """Draw recall by contrast, a line for every area; dashed at 1/100."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    panels = figure.subplots(1, len(recalls), sharey=True)
    for axes, (name, (low, high)) in zip(panels, recalls.items(), strict=True):
        for number, area in enumerate(SMALL_AREAS):
            color = f"C{number}"
            axes.plot(CONTRASTS, low[number], "o-", color=color, label=f"{area * 100:g} %")
            axes.plot(CONTRASTS, high[number], ".--", color=color, alpha=0.6)
        axes.set(title=name, xlabel="contrast, σ of the noise", xticks=CONTRASTS)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("frames found")
    panels[-1].legend(title="of the picture", loc="lower right")
    figure.savefig(path, dpi=110)


def ramp(total: int) -> NDArray[np.floating]:
    """Daylight that grows."""
    return np.linspace(0.5, 1.2, total)[:, None, None]


def recordings(data: Path) -> Iterator[Film]:
    """Recordings with and without visitors."""
    moved = luma(str(data / "moved_object" / "moved_object.mp4"))
    yield Film("moved_object 1-637 alone", moved[:637], spans(637, (1, 637)))
    yield Film("moved_object, all", moved, spans(len(moved), (1, 637), (905, 1388)))
    water = luma("sample_videos/water.avi")
    yield Film("water 1-480 alone", water[:480], spans(480, (1, 480)))
    yield Film("water, all", water, spans(633, (1, 480)))
    trees = luma(str(data / "waving_trees" / "frames"))
    # Seen frame by frame: somebody's head comes in at 243, and a back is left in 260.
    yield Film("waving_trees", trees, spans(len(trees), (1, 242), (261, len(trees))))


def calm_parts(data: Path) -> Iterator[tuple[str, Bytes]]:
    """Parts of other recordings in which nobody is in sight."""
    # Seen frame by frame: a sleeve comes in at 797.
    yield "light_switch 1-796, half", luma(str(data / "light_switch" / "light_switch.mp4"))[:796:2]
    yield "daylight 1-1830, third", luma(str(data / "daylight" / "daylight.mp4"))[:1830:3]
    fall = luma(str(data / "fall" / "input"))
    masks = luma(str(data / "fall" / "groundtruth"))
    # Labels above 0 are shadows of cars, and what may be one.
    yield "fall, its empty frames", fall[(masks == 0).all(axis=(1, 2))]


def with_patches(frames: Bytes, area: float, level: int, every: int) -> tuple[Bytes, Flags]:
    """The film with a patch in one frame of so many, and which frames have one."""
    rng = np.random.default_rng(7)
    film, (total, height, width) = frames.copy(), frames.shape
    side = round(float(np.sqrt(area * height * width)))
    other = round(area * height * width / side)
    chosen = np.arange(every // 2, total, every)
    for frame in chosen:
        top, left = rng.integers(height - side + 1), rng.integers(width - other + 1)
        patch = film[frame, top : top + side, left : left + other]
        patch[:] = rounded(patch + float(rng.choice([-level, level])))
    marked = np.zeros(total, dtype=np.bool_)
    marked[chosen] = True
    return film, marked


def noise_of(frames: Bytes) -> float:
    """Median over the pixels of their standard deviation in time, grey levels."""
    return float(np.median(frames[::4].astype(np.float32).std(axis=0)))


def insertions(name: str, frames: Bytes, every: int) -> None:
    """Print recall of patches by area and level, and false flags beside them."""
    sigma = noise_of(frames)
    print(
        f"\n{name}, noise {sigma:.1f}: share of patched frames flagged (number of others flagged)"
    )
    print(f"{'area':>8s}" + "".join(f"{level:>9d} ({level / sigma:4.1f}σ)" for level in LEVELS))
    for area in AREAS:
        cells = []
        for level in LEVELS:
            film, marked = with_patches(frames, area, level, every)
            flagged = table_of(film).outliers
            cells.append(f"{flagged[marked].mean():9.2f} ({int(flagged[~marked].sum()):4d})")
        print(f"{area:8.1%}" + " ".join(cells), flush=True)


def print_curtains(count: int) -> bool:
    """Print what is flagged of made curtains; whether they miss what is promised on average."""
    false, found = [], []
    for seed, visitor in itertools.product(range(count), (False, True)):
        film = curtain(400, seed, visitor=visitor)
        flagged = table_of(film.frames).outliers
        false.append(float(flagged[film.empty].mean()))
        line = f"{film.name:24s} {false[-1]:7.2%} of the empty frames"
        if visitor:
            found.append(float(flagged[~film.empty].mean()))
            line += f", {found[-1]:7.2%} of the visitor's"
        print(line, flush=True)
    print(f"{'mean':24s} {np.mean(false):7.2%} of the empty frames, {np.mean(found):7.2%}")
    return bool(np.mean(false) > 0.02 or np.mean(found) < 0.95)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=10, help="patch one frame in so many")
    parser.add_argument("--rates", action="store_true")
    parser.add_argument("--recall", action="store_true")
    parser.add_argument("--figure", type=Path, help="draw the recall into this file")
    parser.add_argument("--curtains", type=int, metavar="N")
    given = parser.parse_args()
    if given.curtains:
        return int(print_curtains(given.curtains))
    films = list(recordings(given.data))
    moved, water = films[0].frames[9:600], films[2].frames
    if given.rates:
        real = [(film.name, film.frames[film.empty]) for film in films[::2]]
        return int(print_rates([*calm_films(), *real, *calm_parts(given.data)]))
    if given.recall or given.figure:
        recalls = {
            name: print_recall(name, frames, given.every)
            for name, frames in (("moved_object 10-600", moved), ("water 1-480", water))
        }
        if given.figure:
            draw_recall(recalls, given.figure)
        return 0
    print(f"{'film':34s} {'empty':>6s} {'flagged':>8s} {'share':>7s} {'bound':>6s}   visitors")
    missed = 0
    for film in (*films, *made_films(moved)):
        flagged = table_of(film.frames).outliers
        false = int(flagged[film.empty].sum())
        share, others = false / film.empty.sum(), ~film.empty
        missed += bool(share > film.bound)
        line = f"{film.name:34s} {film.empty.sum():6d} {false:8d} {share:7.2%} {film.bound:6.1%}"
        seen = f"   {int(flagged[others].sum())} of {others.sum()}" if others.any() else ""
        print(line + ("  missed" if share > film.bound else "") + seen, flush=True)
    insertions("moved_object 10-600", moved, given.every)
    insertions("water 1-480", water, given.every)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
