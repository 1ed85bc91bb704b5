"""What is decoded of a film of which few frames are selected gives these frames, and no others."""

from __future__ import annotations

import functools
import io

import av
import numpy as np
import pytest

from bgsub.video import pyav
from bgsub.video.selection import Selection
from bgsub.video.source import open_source
from tests.video.stamped_films import VARIABLE, N, encode

SELECTIONS = [
    {"every": "5"},
    {"every": "30"},
    {"every": "0.7s"},
    {"start": "50"},
    {"start": "61", "end": "70"},
    {"start": "2s", "every": "4", "end": "3.5s"},
    {"start": "120"},
]
ENCODERS = {
    "closed": ("libx264", {"g": "12", "bf": "3"}, "film.mp4"),
    "open": (
        "libx264",
        {"g": "12", "bf": "3", "x264-params": "open-gop=1:b-pyramid=2"},
        "film.mkv",
    ),
    "refreshed": ("libx264", {"g": "12", "x264-params": "intra-refresh=1"}, "film.mp4"),
    "stream": ("libx264", {"g": "12", "bf": "3"}, "film.ts"),
    "old": ("mpeg4", {"g": "12", "bf": "2"}, "film.mp4"),
    "pictures": ("mjpeg", {}, "film.mkv"),
    "lossless": ("ffv1", {"g": "10"}, "film.mkv"),
}


FORMATS = {"mp4": "mp4", "mkv": "matroska", ".ts": "mpegts"}


@pytest.fixture(params=ENCODERS)
def film(tmp_path, request):
    """120 frames at 25 a second in which everything moves."""
    path = tmp_path / ENCODERS[request.param][2]
    path.write_bytes(encoded(request.param))
    return path


@functools.cache
def encoded(kind):
    codec, options, name = ENCODERS[kind]
    rng = np.random.default_rng(0)
    scene = rng.integers(0, 255, (18, 60, 3)).repeat(4, axis=0).repeat(4, axis=1).astype(np.uint8)
    memory = io.BytesIO()
    with av.open(memory, "w", format=FORMATS[name[-3:]]) as container:
        stream = container.add_stream(codec, rate=25, options=options)
        stream.width, stream.height = 96, 72
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for i in range(120):
            image = np.ascontiguousarray(scene[:, i : i + 96])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    return memory.getvalue()


@pytest.fixture
def decoded(monkeypatch):
    """How many pictures were made by decoders."""
    counts = []
    original = pyav.decode

    def decode(packet):
        frames = original(packet)
        counts.append(len(frames))
        return frames

    monkeypatch.setattr(pyav, "decode", decode)
    return counts


def frames_of(path, selection):
    source = open_source(str(path), threads=2, **selection)
    frames = [(frame.number, frame.time_s, frame.data.tobytes()) for frame in source]
    return frames, source.bad_frames, source.warnings


def picked(path, selection):
    """The frames of a selection among all of them."""
    everything, bad, warnings = frames_of(path, {})
    picker = Selection.parse(**selection).picker()
    states = {number: (number, time_s, data) for number, time_s, data in everything}
    states |= {each.number: each for each in bad}
    moments = sorted([frame[:2] for frame in everything] + [(b.number, b.time_s) for b in bad])
    chosen = [states[number] for number, time_s in moments if picker.wants(number, time_s)]
    return [one for one in chosen if isinstance(one, tuple)], warnings


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_frames_numbers_and_times_are_those_of_decoding_all(film, selection):
    frames, bad, warnings = frames_of(film, selection)
    assert (frames, warnings) == picked(film, selection)
    assert bad == []


@pytest.mark.parametrize(
    ("selection", "most"), [({"every": "30"}, 0.7), ({"start": "61", "end": "70"}, 0.4)]
)
@pytest.mark.parametrize("film", ["closed", "stream", "pictures", "lossless"], indirect=True)
def test_what_nobody_needs_is_not_decoded(film, decoded, selection, most):
    frames_of(film, selection)
    assert sum(decoded) < most * 120


def test_damage_is_told_as_when_all_is_decoded(film):
    data = bytearray(film.read_bytes())
    place = len(data) // 2
    data[place : place + 300] = bytes(300)
    film.write_bytes(data)
    assert frames_of(film, {"every": "5"})[0] == picked(film, {"every": "5"})[0]


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_a_film_of_variable_rate_is_skipped_through_too(tmp_path, decoded, selection):
    path = encode(tmp_path / "a.mkv", options={"g": "12", "bf": "2"}, stamps=VARIABLE)
    expected, _ = picked(path, selection)
    before = sum(decoded)
    assert frames_of(path, selection)[0] == expected
    assert sum(decoded) - before < N
