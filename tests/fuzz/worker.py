"""Call commands that come in as lines of JSON, and say how they ended; killed if one hangs.

It runs the bgsub that PYTHONPATH says, so that another tree can be measured with the same tries.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import warnings
from typing import Any

import numpy as np
from click.testing import CliRunner


def main() -> None:
    """Answer each line on the standard input with one on the standard output."""
    faulthandler.enable()
    if hasattr(faulthandler, "register"):  # whoever waits in vain asks where
        faulthandler.register(signal.SIGUSR1)
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what native code prints is no answer
        warnings.simplefilter("always")
        for line in sys.stdin:
            answers.write(json.dumps(answer(json.loads(line))) + "\n")
            answers.flush()


def answer(question: Any) -> dict[str, Any]:
    """Read a film, or run a command, as a line of JSON says."""
    return _read(**question) if isinstance(question, dict) else _call(question)


def _call(arguments: list[str]) -> dict[str, Any]:
    """Run a command."""
    from bgsub.cli import cli

    result = CliRunner().invoke(cli, arguments)
    failure = ""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        failure = repr(result.exception)[:300]
    return {"code": result.exit_code, "stderr": result.stderr[-20_000:], "failure": failure}


def _read(film: str, threads: int | None, target: str) -> dict[str, Any]:
    """Read a film, and write down every frame of it."""
    from bgsub.errors import BgsubError
    from bgsub.video.source import open_source

    try:
        source = open_source(film, color="gray", threads=threads)
        frames = [(frame.number, frame.time_s, frame.luma.copy()) for frame in source]
    except BgsubError as error:
        return {"code": error.exit_code, "stderr": str(error), "failure": ""}
    except Exception as error:  # noqa: BLE001 - whatever comes is what is asked for
        return {"code": 1, "stderr": "", "failure": repr(error)[:300]}
    np.savez(
        target,
        numbers=np.array([number for number, _, _ in frames], dtype=np.int64),
        times=np.array([time_s for _, time_s, _ in frames], dtype=np.float64),
        luma=np.array([luma for _, _, luma in frames], dtype=np.uint8),
        bad=np.array([bad.number for bad in source.bad_frames], dtype=np.int64),
        unseen=np.array(getattr(source, "unseen_damage", "")),
        doubtful=np.array(list(getattr(source, "doubtful_frames", [])), dtype=np.int64),
    )
    return {"code": 0, "stderr": "\n".join(source.warnings), "failure": ""}


if __name__ == "__main__":
    main()
