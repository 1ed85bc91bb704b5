"""``bgsub apply``: write the results of a saved model for new footage."""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bgsub.cli import options as shared
from bgsub.cli.help import Command, examples
from bgsub.cli.jobs import Job, Recipe, read_list, show_result
from bgsub.cli.messages import Session, current_session, log_options
from bgsub.cli.progress import make_progress
from bgsub.cli.run import batch_options, do_all, processes_for
from bgsub.errors import InputError
from bgsub.options import RunOptions


@click.command(
    "apply",
    cls=Command,
    epilog=examples(
        "bgsub apply monday/model.npz tuesday.avi --out tuesday/",
        "bgsub apply monday/model.npz *.avi --only mask,errors --out week/",
    ),
)
@click.argument("model", type=shared.PATH, metavar="MODEL")
@click.argument("inputs", nargs=-1, type=shared.PATH, metavar="INPUT...")
@batch_options
@shared.source_options
@shared.section("Masks", without=["model"])
@shared.section("Objects")
@shared.output_options
@shared.named("threads")
@log_options
def apply_command(
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
    from bgsub.cli.effects import name_idle

    options = shared.run_options(params)
    name_idle(options, shared.typed_options(), current_session())
    model = str(_model_in(Path(model)))
    given = [*inputs, *(read_list(from_file) if from_file else [])]
    options = replace(options, jobs=processes_for(jobs, given))
    work = functools.partial(_apply_one, Path(model), options)
    recorded = None if Path(model).is_dir() else model
    skip = Recipe("apply", options, recorded) if skip_existing else None
    do_all(given, out, work, from_list=from_file is not None, skip=skip, jobs=jobs)


def _model_in(place: Path) -> Path:
    """Return the model of a results folder, that folder if it has several, or the file given."""
    if not place.is_dir():
        return place
    if not (place / "model.npz").is_file():
        from bgsub.segments.run import models_in

        if models_in(place):
            return place
        message = f"{place}: holds no model.npz"
        raise InputError(f"{message}; write one with `bgsub run --only model`, or without --only")
    return place / "model.npz"


def _apply_one(model: Path, options: RunOptions, job: Job, session: Session) -> None:
    """Apply the model to one input; of several, the one that knows it best."""
    from bgsub.pipeline import run as pipeline

    if model.is_dir():
        from bgsub.segments.run import choose_model, models_in

        model = choose_model(models_in(model), job.input, options)
        session.log("note", f"{model} leaves the least of it unexplained and is used")
    began = time.monotonic()
    with make_progress(session) as progress:
        result = pipeline.apply(model, job.input, job.out, options, progress=progress)
    show_result(result, session, began)
