"""Sum masks up: a heat map of where foreground was, and a table of how much was in which minute."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import writing
from bgsub.pipeline.loop import SceneFrame, Sink
from bgsub.pipeline.scene import LearnedScene
from bgsub.runtime.files import write_rows
from bgsub.tracking.events import EventCollector, SceneEvent
from bgsub.tracking.regions import Region
from bgsub.tracking.tables import read_frames
from bgsub.video.frames import Bytes
from bgsub.video.images import write_image

# Header of activity.csv; the region is empty in the rows of the whole picture.
COLUMNS = ("minute", "start_s", "end_s", "region", "frames", "foreground", "objects", "events")
# Frames, and the sum of their shares of foreground, by minute of the film and region.
Minutes = dict[tuple[int, str], tuple[int, float]]
_MINUTE_S = 60.0
_LEAST_WIDTH = 480  # pixels: smaller heat maps are enlarged, so that the scale can be read


class ActivityOutput(Sink):
    """Counts where masks are foreground, and in each minute: heatmap.npy and .png, activity.csv.

    The place is what the masks show: x, y, width and height in pixels of the input.
    """

    needs = frozenset({"mask"})

    def __init__(
        self,
        folder: Path,
        wanted: Collection[str],
        scene: LearnedScene,
        regions: Sequence[Region],
        place: tuple[int, int, int, int],
    ) -> None:
        self._folder, self._wanted, self._regions = folder, wanted, regions
        shape = scene.layout.height, scene.layout.width
        within = np.full(shape, 255, np.uint8)
        self._cuts = scene.inside is not None
        if scene.inside is not None:
            within[~scene.inside] = 0
        self._places: dict[str, Bytes] = {"": within}
        scale = np.array([shape[1] / place[2], shape[0] / place[3]])
        for region in regions:
            drawn = np.zeros(shape, np.uint8)
            corners = np.rint((region.polygon - place[:2]) * scale).astype(np.int32)
            cv2.fillPoly(drawn, [corners], 255)
            self._places[region.name] = drawn & within
        self._pixels = {name: max(cv2.countNonZero(on), 1) for name, on in self._places.items()}
        self._counts, self._recent = np.zeros(shape, np.uint32), np.zeros(shape, np.uint8)
        self._frames = 0
        self._minutes: Minutes = {}

    def prepare(self, frame: SceneFrame) -> dict[str, float]:
        """Return the share of every region that is foreground."""
        if not cv2.hasNonZero(frame.mask):
            return {}
        inner = {name: frame.mask & on for name, on in self._places.items() if name or self._cuts}
        shares = {"": frame.mask, **inner}
        return {name: cv2.countNonZero(on) / self._pixels[name] for name, on in shares.items()}

    def write(self, frame: SceneFrame, prepared: dict[str, float]) -> None:
        """Count a frame."""
        if self._frames % 255 == 0:
            self._counts += self._recent
            self._recent[:] = 0
        self._frames += 1
        if prepared:
            # 255 is -1 among bytes: this is one pass over them, for 255 frames at most.
            np.subtract(self._recent, frame.mask, out=self._recent)
        minute = int(frame.time_s // _MINUTE_S)
        for name in self._places:
            frames, share = self._minutes.get((minute, name), (0, 0.0))
            self._minutes[minute, name] = frames + 1, share + prepared.get(name, 0.0)

    def close(self) -> None:
        """Write the heat map; background.png is there already."""
        if "heatmap" in self._wanted:
            write_heatmap(self._folder, self._counts + self._recent, self._frames)

    def finish(self, events: Sequence[SceneEvent]) -> None:
        """Write activity.csv, when objects.csv is there."""
        if "activity" in self._wanted:
            write_activity(self._folder, self._minutes, self._regions, events)


def write_heatmap(folder: Path, counts: NDArray[Any], frames: int) -> None:
    """Write heatmap.npy, each pixel's share of foreground, and heatmap.png, over background.png."""
    share = (counts / max(frames, 1)).astype(np.float32)
    path = folder / "heatmap.npy"
    with writing(path):
        np.save(path, share, allow_pickle=False)
    # Our own PNG of 8 bits: libraries for any image take longer to import than all of this.
    data = np.fromfile(folder / "background.png", np.uint8)
    scene = np.asarray(cv2.imdecode(data, cv2.IMREAD_UNCHANGED), np.uint8)
    write_image(folder / "heatmap.png", draw_heatmap(share, scene))


def draw_heatmap(share: NDArray[np.float32], scene: Bytes) -> Bytes:
    """Draw a heat map over a picture, by the root of the share, which shows who passes too."""
    top = max(float(share.max()), 1e-6)
    level = np.sqrt(share / top)
    grey = scene if scene.ndim == 2 else cv2.cvtColor(scene, cv2.COLOR_BGR2GRAY)
    heat = cv2.applyColorMap((level * 255).astype(np.uint8), cv2.COLORMAP_INFERNO)
    weight = np.where(share > 0, 0.45 + 0.45 * level, 0.0)[..., None]
    picture = np.asarray((1 - weight) * grey[..., None] + weight * heat, np.uint8)
    larger = -(-_LEAST_WIDTH // picture.shape[1])
    if larger > 1:
        picture = np.asarray(cv2.resize(picture, None, fx=larger, fy=larger), np.uint8)
    return np.concatenate([picture, _scale(picture.shape[1], top)])


def _scale(width: int, top: float) -> Bytes:
    """Draw the colours from 0 to the highest share."""
    unit = max(1.0, width / 960)
    strip = np.full((round(44 * unit), width, 3), 255, np.uint8)
    left, right, bar = round(12 * unit), width - round(12 * unit), round(14 * unit)
    ramp = np.linspace(0, 255, right - left).astype(np.uint8)[None]
    colors = cv2.applyColorMap(ramp, cv2.COLORMAP_INFERNO)
    strip[round(6 * unit) : bar + round(6 * unit), left:right] = colors
    font, size, thick = cv2.FONT_HERSHEY_SIMPLEX, 0.45 * unit, max(1, round(unit))
    for place in (0.0, 0.5, 1.0):
        text = f"{100 * top * place**2:.3g} %" + (" of the frames" if place == 1.0 else "")
        wide = cv2.getTextSize(text, font, size, thick)[0][0]
        x = round(left + place * (right - left - wide))
        cv2.putText(strip, text, (x, round(38 * unit)), font, size, (0, 0, 0), thick, cv2.LINE_AA)
    return strip


def write_activity(
    folder: Path, minutes: Minutes, regions: Sequence[Region], events: Sequence[SceneEvent]
) -> None:
    """Write activity.csv from the masks of each minute, the folder's objects.csv and its events."""
    tracks: dict[tuple[int, str], set[int]] = defaultdict(set)
    stays = {region.name: EventCollector() for region in regions}
    for objects in read_frames(folder / "objects.csv"):
        minute = int(objects[0].time_s // _MINUTE_S)
        tracks[minute, ""].update(seen.track for seen in objects)
        for region in regions:
            here = [seen for seen in objects if region.holds(seen.cx, seen.cy)]
            tracks[minute, region.name].update(seen.track for seen in here)
            stays[region.name].add(here)
    going: dict[tuple[int, str], int] = defaultdict(int)  # an event that lasts is in several
    for name, found in {"": events, **{n: stay.finish() for n, stay in stays.items()}}.items():
        for event in found:
            for minute in range(int(event.start_s // _MINUTE_S), int(event.end_s // _MINUTE_S) + 1):
                going[minute, name] += 1
    path, rows = folder / "activity.csv", []
    for (minute, name), (frames, share) in sorted(minutes.items()):
        row = [minute + 1, f"{minute * _MINUTE_S:g}", f"{(minute + 1) * _MINUTE_S:g}", name]
        row += [frames, f"{share / frames:.12g}", len(tracks[minute, name]), going[minute, name]]
        rows.append(row)
    with writing(path):
        write_rows(path, [COLUMNS, *rows])


def join_heatmaps(folders: Sequence[Path], frames: Sequence[int], out: Path) -> None:
    """Write the heat map of a film from those of its segments; background.png is there already."""
    shares = (np.load(folder / "heatmap.npy").astype(np.float64) for folder in folders)
    counts = sum(np.rint(share * n) for share, n in zip(shares, frames, strict=True))
    write_heatmap(out, np.asarray(counts), sum(frames))


def join_activity(
    folders: Iterable[Path], out: Path, regions: Sequence[Region], events: Sequence[SceneEvent]
) -> None:
    """Write activity.csv of a film from those of its segments, and the film's objects.csv."""
    minutes: Minutes = {}
    for folder in folders:
        with (folder / "activity.csv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                place, more = (int(row["minute"]) - 1, row["region"]), int(row["frames"])
                frames, share = minutes.get(place, (0, 0.0))
                minutes[place] = frames + more, share + float(row["foreground"]) * more
    write_activity(out, minutes, regions, events)
