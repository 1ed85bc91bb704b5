"""Show a result in a notebook: what was found, the plot and the first events."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bgsub.outliers.events import find_events
from bgsub.page.facts import cautions, headline
from bgsub.page.pictures import data_uri
from bgsub.page.result import read_result
from bgsub.page.template import fill
from bgsub.report.plots import render_errors

_MOST_EVENTS = 10


def as_html(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Give a piece of HTML about a result, with all that it shows inside.

    Parameters
    ----------
    folder : Path
    manifest : mapping
        Its run.json.
    """
    result = read_result(folder, manifest)
    plot = ""
    if result.table is not None:
        events = find_events(result.table)
        plot = data_uri(render_errors(result.table, events, title=result.name), "image/png")
    values = {
        "name": result.name,
        "headline": headline(manifest),
        "cautions": cautions(manifest),
        "plot": plot,
        "events": [(event, result.score(event)) for event in result.events[:_MOST_EVENTS]],
        "left_out": max(0, len(result.events) - _MOST_EVENTS),
    }
    return fill("notebook.html", scripts=(), styles=(), values=values)
