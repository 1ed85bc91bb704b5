"""Call commands that come in as lines of JSON, and say how they ended; killed if one hangs.

It runs the bgsub that PYTHONPATH says, so that another tree can be measured with the same tries.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import warnings
from typing import TextIO

from click.testing import CliRunner


def main() -> None:
    """Answer each line on the standard input with one on the standard output."""
    faulthandler.enable()
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what native code prints is no answer
        warnings.simplefilter("always")
        _answer(answers)


def _answer(answers: TextIO) -> None:
    from bgsub.cli import cli

    for line in sys.stdin:
        result = CliRunner().invoke(cli, json.loads(line))
        failure = ""
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            failure = repr(result.exception)[:300]
        answer = {"code": result.exit_code, "stderr": result.stderr[-20_000:], "failure": failure}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
