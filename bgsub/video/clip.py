"""Cut a stretch out of a video, with its sound, or join results one after the other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import InputContainer

from bgsub.errors import InputError, OutputError
from bgsub.video import pyav
from bgsub.video import sink as sinks
from bgsub.video.film import VideoFileSource
from bgsub.video.frames import Bytes, Frame, Layout
from bgsub.video.pyav import seek, stamp_of

_ENCODED = ("width", "height", "extradata")  # what parts of one video must have in common
_KEPT_SOUND = {"aac", "mp3", "ac3", "opus"}  # mp4 players know these; others are encoded anew


class Excerpt(NamedTuple):
    """Times of the first and last frame of an excerpt, and their number if it is known."""

    begin_s: float
    end_s: float
    frames: int | None = None


def copy_excerpt(source: VideoFileSource, out: Path, start_s: float, end_s: float) -> Excerpt:
    """Copy the packets of a stretch and its sound, from the key frame before it on.

    Times count from the video's first frame. InputError if the container cannot hold the codec.

    Packets come in the order of decoding: a picture behind the end may be what the last ones before
    it are made of, and of those that follow it in this order all that are shown before it are kept.
    """
    with source.opened() as (container, stream), av.open(str(out), "w") as target:
        origin = stamp_of(next(pyav.pictures(container, stream))) or 0.0
        seek(container, stream, origin + start_s)
        sound, end = next(iter(container.streams.audio), None), origin + end_s
        begin: float | None = None
        last, latest = 0.0, end
        try:
            ours: dict[int, Any] = {stream.index: target.add_stream_from_template(stream)}
            if sound is not None and sound.codec_context.name in _KEPT_SOUND:
                ours[sound.index] = target.add_stream_from_template(sound)
            chosen = [each for each in container.streams if each.index in ours]
            for packet in pyav.demux(container, *chosen):
                if packet.dts is None or packet.time_base is None:
                    continue
                base, is_picture = float(packet.time_base), packet.stream.index == stream.index
                stamp = (packet.dts if packet.pts is None else packet.pts) * base
                if begin is None:
                    if not is_picture or not packet.is_keyframe:
                        continue
                    begin = last = stamp
                if is_picture:
                    if packet.dts * base > end and stamp > latest:
                        break
                    latest = max(latest, stamp)
                if stamp < begin or (stamp > end and not is_picture):
                    continue
                last = max(last, stamp) if is_picture else last
                shift = int(begin / base)
                packet.pts = None if packet.pts is None else packet.pts - shift
                packet.dts -= shift
                packet.stream = ours[packet.stream.index]
                target.mux(packet)
        except (av.FFmpegError, ValueError) as error:
            message = f"{source.name}: its {source.codec} cannot be copied into {out.suffix}"
            raise InputError(f"{message}; use --mode encode") from error
    return Excerpt((begin or 0.0) - origin, last - origin)


def encode_excerpt(
    frames: Iterable[Frame],
    out: Path,
    *,
    draw: Callable[[Frame], Bytes] | None = None,
    rate: Fraction | None = None,
    threads: int = 1,
) -> Excerpt:
    """Encode frames as H.264, as they are or as `draw` pictures them; nothing without frames."""
    sink, begin, last = None, 0.0, 0.0
    try:
        for frame in frames:
            picture = frame.data if draw is None else draw(frame)
            if sink is None:
                begin = frame.time_s
                layout = frame.layout if draw is None else Layout("bgr", *picture.shape[:2])
                sink = sinks.open_sink(
                    out, out.stem, layout=layout, kind="mp4", rate=rate, threads=threads
                )
            last = frame.time_s
            sink.write(picture, last - begin)
        return Excerpt(begin, last, 0 if sink is None else sink.close())
    except BaseException:
        if sink is not None:
            sink.abort()
        raise


def add_sound(source: VideoFileSource, silent: Path, out: Path, start_s: float) -> bool:
    """Write a silent excerpt that begins at `start_s` with its video's sound; False without one."""
    with source.opened() as (container, stream), av.open(str(silent)) as pictures:
        sound = next(iter(container.streams.audio), None)
        if sound is None:
            return False
        origin = stamp_of(next(pyav.pictures(container, stream))) or 0.0
        length = (pictures.duration or 0) / av.time_base
        seek(container, stream, max(origin + start_s - 1, 0.0))
        with av.open(str(out), "w") as target:
            video = target.add_stream_from_template(pictures.streams.video[0])
            own = target.add_stream("aac", rate=sound.rate)
            own.layout = sound.layout
            for packet in pictures.demux(video=0):
                if packet.dts is not None:
                    packet.stream = video
                    target.mux(packet)
            for frame in _heard(container, sound, origin + start_s, length):
                for encoded in own.encode(frame):
                    target.mux(encoded)
            for encoded in own.encode(None):
                target.mux(encoded)
    return True


def _heard(
    container: InputContainer, sound: AudioStream, start: float, length: float
) -> Iterator[av.AudioFrame]:
    """Decode the sound of a stretch; its first sample is that of the stretch's first frame."""
    resampler = av.AudioResampler(format="fltp", layout=sound.layout, rate=sound.rate)
    packets = pyav.demux(container, sound)
    for frame in (each for packet in packets for each in sound.codec_context.decode(packet)):
        stamp = pyav.seconds(frame.pts, frame.time_base)
        if stamp is None or stamp + frame.samples / frame.sample_rate < start:
            continue
        if stamp > start + length:
            return
        for plain in resampler.resample(frame):
            first = round((stamp - start) * plain.sample_rate)
            samples = np.ascontiguousarray(plain.to_ndarray()[:, max(0, -first) :], np.float32)
            if not samples.size:
                continue
            part = av.AudioFrame.from_ndarray(samples, "fltp", plain.layout.name)
            part.sample_rate, part.pts = plain.sample_rate, max(0, first)
            part.time_base = Fraction(1, plain.sample_rate)
            yield part


def join_videos(
    parts: Sequence[tuple[Path, float]], out: Path, *, title: str, rate: Fraction | None
) -> int:
    """Copy the packets of videos that `VideoSink` wrote into one; return the number of its frames.

    Each part comes with the time of its first frame in seconds, increasing. OutputError if the file
    cannot be written, or the parts were encoded in different ways.
    """
    kind: sinks.VideoKind = "mkv" if out.suffix == ".mkv" else "mp4"
    clock = sinks.FrameClock(rate, kind)
    count, last = 0, -1
    with sinks.writing_to(out, IndexError), sinks.open_container(out, kind, title=title) as target:
        own: Any = None
        for path, begin_s in parts:
            begin = clock.tick(begin_s) * clock.time_base
            with pyav.open_input(path.absolute()) as container:
                stream = container.streams.video[0]
                own = own or target.add_stream_from_template(stream)
                ours, theirs = own.codec_context, stream.codec_context
                if any(getattr(ours, name) != getattr(theirs, name) for name in _ENCODED):
                    message = f"{path}: was encoded in another way than the segments before it"
                    advice = "run all of them with one version of bgsub and of PyAV"
                    raise OutputError(f"{message}; {advice}")
                shift = max(round(begin / (pyav.fraction(stream.time_base) or 1)), last + 1)
                for packet in container.demux(stream):
                    if not packet.size or packet.dts is None:
                        continue
                    last = shift + int(packet.pts or 0)
                    packet.pts, packet.dts = last, shift + int(packet.dts or 0)
                    packet.stream = own
                    target.mux(packet)
                    count += 1
    sinks.check_count(out, sinks.count_frames(out), count)
    return count


def join_pictures(folders: Sequence[Path], out: Path) -> int:
    """Number the pictures of several folders through in one; return how many, or OutputError."""
    count = 0
    with sinks.writing_to(out):
        out.mkdir(exist_ok=True)
        for folder in folders:
            for number in range(1, sum(1 for _ in folder.iterdir()) + 1):
                count += 1
                link_or_copy(folder / f"{number:06d}.png", out / f"{count:06d}.png")
    return count


def join_arrays(folders: Sequence[Path], out: Path) -> int:
    """Join the frames of Zarr arrays, a chunk at a time; return how many, or OutputError."""
    import zarr

    parts = [zarr.open_array(store=str(folder), mode="r", zarr_format=2) for folder in folders]
    first = parts[0]
    with sinks.writing_to(out):
        size, chunk = first.shape[1:], first.chunks[0]
        target = sinks.begin_zarr(out, size, first.dtype, chunk, dict(first.attrs))
        for part in parts:
            for start in range(0, part.shape[0], chunk):
                target.append(np.asarray(part[start : start + chunk]))
    return int(target.shape[0])


def link_or_copy(source: Path, target: Path) -> None:
    """Link a file under a second name, or copy it on file systems without links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
