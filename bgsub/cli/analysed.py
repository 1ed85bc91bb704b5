"""Take results that are there, or make some of a film for as long as a command needs them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bgsub.cli import options as shared
from bgsub.cli.logs import Session
from bgsub.cli.progress import make_progress


@contextmanager
def results_of(
    given: str, outputs: frozenset[str], params: Mapping[str, Any], session: Session
) -> Iterator[Path]:
    """Give the folder that was named if a run wrote it, else one that is gone afterwards.

    Parameters
    ----------
    given : str
        A folder of results, or an input.
    outputs : frozenset of str
        What is made of an input.
    params : mapping
        Options of a run.
    session : Session
    """
    from bgsub.pipeline import run as pipeline
    from bgsub.pipeline.directory import has_results

    if has_results(Path(given)):
        yield Path(given)
        return

    options = replace(shared.run_options(params), outputs=outputs)
    with tempfile.TemporaryDirectory(prefix="bgsub-") as place:
        out = Path(place) / "results"
        with make_progress(session) as progress:
            result = pipeline.run(given, out, options, progress=progress)
        for warning in result.warnings:
            session.log("warning", warning)
        yield out
