"""``bgsub apply``: write the results of a saved model for new footage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bgsub.cli.jobs import Work, plan, read_list, run_batch
from bgsub.cli.messages import Session
from bgsub.cli.options import (
    PATH,
    command,
    name_idle,
    named,
    output_options,
    run_options,
    section,
    source_options,
)
from bgsub.cli.run import batch_options, checked_out, processes_for
from bgsub.errors import InputError


@command(
    "apply",
    "bgsub apply monday/model.npz tuesday.avi --out tuesday/",
    "bgsub apply monday/model.npz *.avi --only mask,errors --out week/",
)
@click.argument("model", type=PATH, metavar="MODEL")
@click.argument("inputs", nargs=-1, type=PATH, metavar="INPUT...")
@batch_options
@source_options
@section("Masks", without=["model"])
@section("Objects")
@output_options
@named("threads")
def apply_command(
    session: Session,
    model: str,
    inputs: tuple[str, ...],
    out: str | None,
    from_file: str | None,
    skip_existing: bool,
    jobs: int,
    **params: Any,
) -> None:
    """Write the results of INPUT with the background in MODEL.

    MODEL is the results folder of an earlier run, or its model.npz. Of a film in segments, which
    has several, the one is used that leaves the least of INPUT unexplained.

    Nothing is fitted, and the memory needed does not depend on the length of INPUT. Its frames must
    have the size of those that MODEL was fitted to; --roi and --scale of that run apply again
    unless you give your own.
    """
    options = run_options(params)
    name_idle(options, session)
    if Path(model).is_dir():
        from bgsub.segments.run import models_in

        if (Path(model) / "model.npz").is_file():
            model = str(Path(model) / "model.npz")
        elif not models_in(Path(model)):
            message = f"{model}: holds no model.npz; write one with `bgsub run --only model`, or"
            raise InputError(f"{message} without --only")
    given = [*inputs, *(read_list(from_file) if from_file else [])]
    folder, processes = checked_out(given, out), processes_for(jobs, given)
    planned = plan(given, folder, subfolders=bool(from_file) or len(given) > 1, keep=skip_existing)
    work = Work("apply", replace(options, jobs=processes), model=model, skip=skip_existing)
    run_batch(planned, work, session, processes=processes)
