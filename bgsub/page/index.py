"""Make the page that lists several results, with a row for each input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgsub.page.facts import cautions, headline
from bgsub.page.films import link
from bgsub.page.template import fill

_SCRIPTS = ("tables.js", "index.js")
_STYLES = ("page.css",)


@dataclass(frozen=True)
class Row:
    """An input in the list.

    Attributes
    ----------
    name : str
    folder : Path
    page : Path
        Its own page.
    thumbnail : str
        Address of a small picture, empty where there is none.
    headline : str
    events, frames : int
    outliers : int or None
        Outlier frames; None where no frame was fitted.
    cautions : list of str
        Warnings and hints.
    """

    name: str
    folder: Path
    page: Path
    thumbnail: str
    headline: str
    events: int
    frames: int
    outliers: int | None
    cautions: list[str]

    @property
    def share(self) -> float | None:
        """Share of the frames that are outliers, in per cent."""
        return None if self.outliers is None else 100 * self.outliers / max(self.frames, 1)


def make_row(
    folder: Path, manifest: Mapping[str, Any], page: Path, events: int, thumbnail: str
) -> Row:
    """Sum up a result for the list."""
    frames = manifest["frames"]
    return Row(
        str(manifest["input"]["name"]),
        folder,
        page,
        thumbnail,
        headline(manifest),
        events,
        int(frames["used"]),
        frames.get("outliers"),
        cautions(manifest),
    )


def make_index(rows: Sequence[Row], path: Path) -> str:
    """Make the page that lists results.

    Parameters
    ----------
    rows : sequence of Row
    path : Path
        Where it will be: its links are relative to it.

    Returns
    -------
    str
        HTML.
    """
    values = {
        "rows": [{"row": row, "href": link(row.page, path)} for row in rows],
        "events": sum(row.events for row in rows),
        "frames": sum(row.frames for row in rows),
    }
    return fill("index.html", scripts=_SCRIPTS, styles=_STYLES, values=values)
