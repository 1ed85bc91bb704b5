"""Draw errors.png for another process, which need not import matplotlib then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import find_events

MODULE = "bgsub.report.plots"
"""What it takes: matplotlib takes longer to import than many runs take."""


class ErrorsFigure(NamedTuple):
    """What is to be drawn."""

    table: ErrorTable
    title: str
    plot_format: Any
    """"png" or "svg"."""

    def render(self) -> bytes:
        """Draw it, and give the file's bytes."""
        from bgsub.report.plots import render_errors

        events = find_events(self.table)
        return render_errors(self.table, events, title=self.title, plot_format=self.plot_format)


def make_artist() -> Callable[[ErrorsFigure], bytes]:
    """Give what draws figures."""
    return ErrorsFigure.render
