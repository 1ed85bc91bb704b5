"""Everything of bgsub's own that reads bytes or text which somebody else wrote."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bgsub.errors import BgsubError
from bgsub.outliers.errors_table import read_csv
from bgsub.paper.options import read_labels
from bgsub.pipeline.results import load_manifest
from bgsub.tracking.events import read_events
from bgsub.tracking.regions import read_regions
from bgsub.tracking.tables import read_objects, read_tracks
from bgsub.video.damage import has_checksums
from bgsub.video.images import read_image
from bgsub.video.selection import Selection, parse_rate, parse_region
from bgsub.video.source import open_source


@dataclass(frozen=True)
class Parser:
    """A parser, and files that it reads.

    Attributes
    ----------
    read : callable
        Is given the bytes and a folder that is its own. It may raise a BgsubError, nothing else.
    sound : tuple of bytes
    """

    read: Callable[[bytes, Path], object]
    sound: tuple[bytes, ...]


def try_out(parser: Parser, data: bytes, folder: Path) -> None:
    """Let a parser read some bytes; what it is not allowed to raise comes through."""
    try:
        parser.read(data, folder)
    except BgsubError as error:
        if error.exit_code == 1:
            raise


def _of_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    def from_bytes(data: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(data)
        return read(path)

    return from_bytes


def _select(data: bytes, folder: Path) -> object:
    start, end, every, region, rate = (data.decode("utf-8", "replace").split("|") + [""] * 5)[:5]
    for parse in (
        lambda: Selection.parse(start or None, end or None, every or None),
        lambda: parse_region(region),
        lambda: parse_rate(rate),
    ):
        try:
            parse()
        except BgsubError as error:
            if error.exit_code == 1:
                raise
    return None


def _frames(path: Path) -> object:
    return [frame.number for frame in open_source(path)]


def _manifest(path: Path) -> object:
    path.rename(path.parent / "run.json")
    return load_manifest(path.parent)


def _saved(save: Callable[..., None], *arrays: object, **named: object) -> bytes:
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


_FRAMES = np.arange(96, dtype=np.uint8).reshape(2, 6, 8)
_ERRORS = b"frame,time_s,error,rmse,score,outlier,doubtful\n1,0,4,2,0,0,0\n2,0.04,4,2,15,1,1\n"
_OBJECTS = b"frame,time_s,track,x,y,width,height,area\n1,0,1,2,3,4,5,12\n2,0.04,1,2,3,4,5,12\n"

PARSERS = {
    "errors.csv": Parser(_of_file("errors.csv", read_csv), (_ERRORS,)),
    "labels": Parser(
        _of_file("truth.csv", lambda path: read_labels(path, np.arange(1, 20))),
        (b"frame,outlier\n1,0\n2,1\n", b"first,last\n3,9\n"),
    ),
    "objects.csv": Parser(
        _of_file("objects.csv", lambda path: list(read_objects(path))), (_OBJECTS,)
    ),
    "tracks.csv": Parser(_of_file("tracks.csv", lambda path: list(read_tracks(path))), (_OBJECTS,)),
    "events": Parser(_of_file("events.json", read_events), (b'{"events": []}', b"event,first\n")),
    "regions": Parser(
        _of_file("regions.json", read_regions),
        (b'{"door": [[1, 2], [3, 4], [5, 9]]}', b"door: 1,2,3,4\n"),
    ),
    "run.json": Parser(
        _of_file("text.json", _manifest),
        (json.dumps({"schema_version": 1, "options": {}, "frames": {"used": 2}}).encode(),),
    ),
    "array": Parser(_of_file("clip.npy", _frames), (_saved(np.save, _FRAMES),)),
    "archive": Parser(
        _of_file("clip.npz", _frames),
        (_saved(np.savez, frames=_FRAMES), _saved(np.savez_compressed, frames=_FRAMES)),
    ),
    "image": Parser(
        _of_file("one.png", read_image),
        (b"P5 4 2 255\n" + bytes(8), b"P6 2 2 255\n" + bytes(12), b"BM" + bytes(60)),
    ),
    "selection": Parser(_select, (b"1|12.5s|2|1,2,3,4|30000/1001", b"00:01:02.5||0.5s|0,0,1,1|25")),
    "checksums": Parser(lambda data, _: has_checksums(data), (bytes(16),)),
}
