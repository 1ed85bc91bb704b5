"""Time how many seconds of a film are done in a second by the clock: masks, and events only.

python -m benchmarks.realtime masks|events FILM [SECONDS [OPTION ...]]
    The film is repeated, as packets, until it has so many seconds (200 for masks, 900 for events).
    Masks are of every frame in full size, made in segments of 2500 frames, two at a time. Of
    events, every fifth frame is looked at, at half its size. OPTION is one more of bgsub run.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import av

_WAYS: dict[str, tuple[float, tuple[str, ...]]] = {
    "masks": (200.0, ("--only", "mask", "--segment", "2500", "--jobs", "2")),
    "events": (900.0, ("--only", "objects,tracks,events", "--every", "5", "--scale", "0.5")),
}


def repeat(film: str, path: Path, seconds: float) -> tuple[float, str]:
    """Write a film again and again into a file; gives its seconds, and what it is."""
    with av.open(film) as source, av.open(str(path), "w") as target:
        stream = source.streams.video[0]
        rate, base = stream.average_rate or Fraction(25), stream.time_base or Fraction(1, 90000)
        own = target.add_stream_from_template(stream)
        frame, shift, count = round(1 / rate / base), 0, 0
        while shift * base < seconds:
            last = 0
            source.seek(0)
            for packet in source.demux(stream):
                if packet.dts is None or packet.pts is None:
                    continue
                last = max(last, packet.pts + frame)
                packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                packet.stream = own
                target.mux(packet)
                count += 1
            shift += last
        what = f"{stream.width}×{stream.height}, {float(rate):g} frames a second, {count} frames"
    return count / float(rate), what


def main() -> None:
    """Print the seconds of the film that a second does."""
    default, options = _WAYS[sys.argv[1]]
    options += tuple(sys.argv[4:])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else default
    with tempfile.TemporaryDirectory() as folder:
        long = Path(folder) / "long.mp4"
        length, what = repeat(sys.argv[2], long, seconds)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [sys.executable, "-m", "bgsub", "run", str(long), *options, "--quiet"]
        subprocess.run([*command, "--out", str(Path(folder) / "out")], check=True)
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{what}; {' '.join(options)}")
    print(f"{length:.0f} s of film in {wall:.0f} s: {length / wall:.2f} times real time", end="")
    print(f" ({cpu:.0f} s of CPU: {length / cpu:.2f} on one core's time)")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
