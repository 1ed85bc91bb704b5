"""Show where the time of a run goes, module by module.

``python -m benchmarks.stages VIDEO [OPTION...]`` runs ``bgsub run`` on a video with these options
and looks every few milliseconds at which module each of its threads is in; what waits for others is
not counted. Shares of such looks are shares of time, on an idle machine or a busy one.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import bgsub

_EVERY_S = 0.002
_PACKAGE = str(Path(bgsub.__file__).parent)
_WAITING = ("threading.py", "thread.py", "_base.py", "queue.py", "selectors.py")
_SHOWN = 16


def _stage(frame: FrameType | None) -> str | None:
    """Name the innermost module of bgsub that a thread is in; None where it waits."""
    if frame is None or Path(frame.f_code.co_filename).name in _WAITING:
        return None
    imported = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            imported = "imports"
        elif name.startswith(_PACKAGE) and not imported:
            return Path(name).relative_to(_PACKAGE).with_suffix("").as_posix()
        frame = frame.f_back
    return imported or "the interpreter"


class _Sampler(threading.Thread):
    """Counts the modules that all other threads are in."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.counts: Counter[str] = Counter()
        self.ended = threading.Event()

    def run(self) -> None:
        """Look until `ended` is set."""
        while not self.ended.wait(_EVERY_S):
            for number, frame in sys._current_frames().items():
                stage = None if number == self.ident else _stage(frame)
                if stage is not None:
                    self.counts[stage] += 1


def main() -> None:
    """Run, and print a table."""
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    sampler = _Sampler()
    sampler.start()
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["bgsub", "run", *sys.argv[1:], "--out", folder, "--force", "--quiet"]
        from bgsub.cli import main as run  # importing it is a stage of its own

        start = time.process_time()
        try:
            run()
        except SystemExit as end:
            if end.code:
                raise
        seconds = time.process_time() - start
    sampler.ended.set()
    sampler.join()
    total = sampler.counts.total()
    print(f"{seconds:.1f} s of processor time\n\n| module | share |\n|---|---|")
    for stage, count in sampler.counts.most_common(_SHOWN):
        print(f"| {stage} | {100 * count / total:.1f} % |")


if __name__ == "__main__":
    main()
