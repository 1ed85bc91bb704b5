"""A unit of work that is killed where its input is poison, and waits where it is a sleeper."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from bgsub.cli import cluster


def main():
    line = cluster._line()
    request = json.loads(line)
    path = Path(request.get("directory", ""), request["input"])
    if path.stem == "poison":
        with path.with_suffix(".tries").open("a") as tries:
            tries.write("x")
        sys.stderr.write("a library is about to crash\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if path.stem == "sleeper":
        path.with_suffix(".pid").write_text(str(os.getpid()))
        while os.read(0, 1):
            time.sleep(0.01)
        path.with_suffix(".end").write_text("stopped")
        sys.exit()
    cluster._line = lambda: line
    cluster.main()


if __name__ == "__main__":
    main()
