"""Read and decode a stream in a process of its own, which can be killed whatever it waits for.

Runs as ``python -m bgsub.live.reader SETTINGS`` and writes messages to its standard output. It ends
with its parent.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

import av
from av.error import FFmpegError, ProtocolNotFoundError
from av.video.stream import VideoStream

from bgsub.live.messages import End, Message
from bgsub.live.sound import Sound
from bgsub.live.stream import StreamReader
from bgsub.runtime.messages import send
from bgsub.video import pyav
from bgsub.video.decoding import error_reason


def main() -> None:
    """Send all of a stream to standard output, and end."""
    # Ctrl-C, and what a supervisor sends to all, is for the parent to decide on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    settings = json.loads(sys.argv[1])
    # Where a launcher may be in between, who started this is not its parent.
    parent = os.getppid() if os.name == "nt" else settings["parent"]
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    # Nothing that a library prints may get between the messages.
    pipe = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    try:
        for message in read(settings):
            send(pipe, message)
        _finish(pipe, End(""))
    except BrokenPipeError:
        os._exit(0)
    except (FFmpegError, ValueError, OSError) as error:
        _finish(pipe, _end_of(error, settings))


def _end_of(error: Exception, settings: dict[str, Any]) -> End:
    """Say what an error means for somebody who watches."""
    if isinstance(error, ProtocolNotFoundError):
        scheme = settings["address"].partition(":")[0]
        pipe = f"ffmpeg -i {scheme}://… -c copy -f mpegts - | bgsub watch -"
        return End(f"the FFmpeg that PyAV brings cannot connect by {scheme}; use {pipe}", True)
    if settings["format"] == "v4l2" and getattr(error, "errno", None) == errno.ENOTTY:
        return End("it is no camera", True)
    reason = error_reason(error) if isinstance(error, FFmpegError) else str(error)
    return End(reason or type(error).__name__)


def _finish(pipe: BinaryIO, message: Message) -> None:
    """Send the last message and go, without waiting for libraries that may wait for a network."""
    try:
        send(pipe, message)
    finally:
        os._exit(0)


def _end_with_parent(parent: int) -> None:
    """End with whoever started this, though it may have ended while modules were imported."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def read(settings: dict[str, Any]) -> Iterator[Message]:
    """Give all of a stream as messages, but the last.

    Parameters
    ----------
    settings : dict
        ``address``, ``format``, ``options``, ``protocols`` as of a `LiveSource`; ``scale``, None
        for one that leaves about `ANALYSED_PIXELS`; ``every``, the seconds between pictures that
        are analysed, 0 for all; ``sound``, whether it is taken along; ``drops``, whether pictures
        for which there is no time are not decoded. (And ``parent``, the process that this one
        ends with.)
    """
    options = {**settings["options"], "protocol_whitelist": settings["protocols"]}
    if not settings["protocols"]:
        del options["protocol_whitelist"]
    kind = settings["address"].partition(":")[0]
    if kind in {"file", "pipe"}:
        options["format_whitelist"] = pyav.READ
    if kind != "file":
        options |= {"analyzeduration": "1000000"}
    with av.open(
        settings["address"], "r", format=settings["format"], container_options=options
    ) as container:
        stream = container.streams.best("video")
        if not isinstance(stream, VideoStream) or stream.codec_context is None:
            raise ValueError("holds no video that can be decoded")
        sound = Sound.of(container) if settings["sound"] else None
        yield from StreamReader(container, stream, sound, settings).messages()


if __name__ == "__main__":
    main()
