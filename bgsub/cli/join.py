"""``bgsub join``: join what the parts of a run have made."""

from __future__ import annotations

from pathlib import Path

import click

from bgsub.cli.messages import Session, log_results, make_progress
from bgsub.cli.options import PATH, command


@command(
    "join",
    "bgsub run day.mp4 --segment 10m --part 1/8 --out day/   and 2/8 … 8/8 elsewhere",
    "bgsub join day/                                         when all are done",
)
@click.argument("out", type=PATH, metavar="DIR")
def join_command(session: Session, out: str) -> None:
    """Put together what `bgsub run --part` wrote to DIR, or say what is missing and how to make it.

    Segments of a film become one folder of results; the results of a batch are checked against
    their run.json. The exit code is 6 while something is missing.
    """
    from bgsub.cluster.parts import join

    with make_progress(session) as progress:
        joined = join(Path(out), progress=lambda done, total: progress("check", done, total))
    if joined.what == "segments":
        session.log("summary", f"{joined.units} segments are joined")
    elif joined.what == "inputs":
        session.log("summary", f"the results of {joined.units} inputs are complete")
    log_results(joined.out, session)
