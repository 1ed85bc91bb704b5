"""``bgsub report``: make a page to look at."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import messages
from bgsub.cli import options as shared
from bgsub.cli.files import check_free, load_selected, selection_options
from bgsub.cli.help import Command, examples, option
from bgsub.cli.messages import Session, current_session, log_options, log_results
from bgsub.cli.progress import make_progress
from bgsub.errors import BatchError, BgsubError, InputError, OutputError, UsageError, plural
from bgsub.runtime.files import check_plain, write_file

if TYPE_CHECKING:
    from bgsub.page.pages import Row
    from bgsub.tracking.events import Selection

PAGE = "report.html"


@dataclass(frozen=True)
class How:
    """What becomes of videos, copies or a preview inside, and the options that select events."""

    copies: bool = True
    standalone: bool = False
    selected: Mapping[str, Any] = field(default_factory=dict)


@click.command(
    "report",
    cls=Command,
    epilog=examples(
        "bgsub report results/                        results/report.html",
        "bgsub report results/ -o monday.html",
        "bgsub report results/ --standalone -o mail.html   with a small preview in the file",
        "bgsub report monday/ tuesday/ -o index.html  a page for each, and a list of them",
        "bgsub report batch/                          of all results in a folder",
    ),
)
@click.argument("results", nargs=-1, required=True, type=shared.PATH, metavar="RESULTS...")
@shared.out_option(
    "The page, or the list of several.  [default: report.html in RESULTS]",
    metavar="FILE",
    required=False,
)
@option(
    "Results",
    "--copies/--no-copies",
    default=True,
    show_default=True,
    help="Copy videos that browsers do not play, into a folder beside the page.",
)
@option(
    "Results",
    "--standalone",
    is_flag=True,
    help="Put a small preview of a few hundred frames into the page, for sending it by mail.",
)
@shared.named("force", section="Results")
@selection_options
@log_options
def report_command(
    results: tuple[str, ...],
    out: str | None,
    copies: bool,
    standalone: bool,
    force: bool,
    **params: Any,
) -> None:
    """Make a page of RESULTS that opens in any browser: timeline, videos, events, tracks.

    RESULTS are folders that bgsub run or bgsub apply wrote, or a folder that holds several. Videos
    stay beside the page; nothing is loaded from elsewhere. Several results have a page each, and
    FILE lists them.
    """
    session = current_session()
    folders = _folders(results)
    if len(folders) == 1:
        with session.about(str(folders[0])):
            path = folders[0] / PAGE if out is None else Path(out)
            _check(path, force=force)
            how = How(copies=copies, standalone=standalone, selected=params)
            absent: Counter[str] = Counter()
            _write_report(folders[0], path, session, how, absent, force=force)
            _tell_absent(absent, session)
            log_results(path, session, "{} is written")
        return
    if standalone:
        raise UsageError("--standalone makes one page; give one folder of results")
    path = _index_path(folders) if out is None else Path(out)
    _check(path, force=force)
    rows = _rows(folders, session, How(copies=copies, selected=params), force=force)
    from bgsub.page.pages import encode_page, make_index

    if rows:
        write_file(path, encode_page(make_index(rows, path)))
        session.log("result", f"{path} lists {plural(len(rows), 'result')}", out=str(path))
    if len(rows) < len(folders):
        failed = len(folders) - len(rows)
        raise BatchError(
            f"no page of {failed} of {len(folders)} results was made; the others are done"
        )


def _folders(given: tuple[str, ...]) -> list[Path]:
    """List the folders of results that are meant: a folder of such folders stands for them."""
    from bgsub.pipeline.results import MANIFEST

    found: list[Path] = []
    for each in given:
        folder = Path(each)
        check_plain(folder)
        if len(given) == 1 and not folder.exists():
            raise InputError(f"{folder}: no such folder; name one that bgsub run wrote")
        inside = []
        if folder.is_dir() and not (folder / MANIFEST).is_file():
            inside = sorted(child for child in folder.iterdir() if (child / MANIFEST).is_file())
        found += inside or [folder.parent if folder.name == MANIFEST else folder]
    return list(dict.fromkeys(found))


def _selection(folder: Path, how: How) -> Selection | None:
    return load_selected(folder, how.selected).selection


def _index_path(folders: list[Path]) -> Path:
    parents = {folder.resolve().parent for folder in folders}
    if len(parents) > 1:
        raise UsageError("--out is missing; the results are in several places, name the list")
    return folders[0].parent / PAGE


def _check(path: Path, *, force: bool) -> None:
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise OutputError(f"{path}: exists and is no plain file; choose another name")
    check_free(path, force=force)
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{path}: its folder does not exist; make it or choose another place")


def _load(folder: Path) -> tuple[dict[str, Any], str | None]:
    """Read the facts of a run, and where its film is."""
    from bgsub.pipeline.manifest import load_manifest, recorded_path

    manifest = load_manifest(folder)
    if "input" not in manifest:
        message = f"{folder}: was written by bgsub {manifest.get('command')}"
        raise InputError(f"{message}; a page is made of what bgsub run or bgsub apply wrote")
    return manifest, recorded_path(manifest, manifest["input"]["path"])


def _write_report(
    folder: Path, path: Path, session: Session, how: How, absent: Counter[str], *, force: bool
) -> Row:
    """Write a page; the views that the run did not write are counted."""
    from bgsub.page.pages import encode_page, make_page, make_row

    manifest, footage = _load(folder)
    _check(path, force=force)
    with _copies_of(path, how, force=force) as beside:
        with make_progress(session) as progress:
            page = make_page(
                folder,
                manifest,
                path,
                footage=footage,
                copies=beside,
                standalone=how.standalone,
                selection=_selection(folder, how),
                announce=functools.partial(_announce, session),
                progress=progress,
            )
        write_file(path, encode_page(page.html))
        for shown in page.views:
            if shown.is_absent:
                absent[shown.view] += 1
            elif shown.film is None:
                session.log("warning", f"{shown.view} is not shown: {shown.reason}")
            elif shown.film.path.parent == beside and not how.standalone:
                size = shown.film.path.stat().st_size / 1e6
                session.log("note", f"{shown.film.path}: a copy that browsers play ({size:.1f} MB)")
    return make_row(page, path)


@contextlib.contextmanager
def _copies_of(path: Path, how: How, *, force: bool) -> Iterator[Path | None]:
    """Yield the folder for copies of videos: beside the page, or one that goes with a preview."""
    beside = path.with_name(f"{path.stem}_files")
    if not how.copies:
        yield None
    elif how.standalone:
        with tempfile.TemporaryDirectory(prefix="bgsub-") as folder:
            yield Path(folder)
    elif os.path.lexists(beside) and not force:
        raise OutputError(f"{beside}: exists; replace copies with --force or choose another name")
    else:
        yield beside


def _announce(session: Session, frames: int, size: int) -> None:
    session.log("note", f"the preview of {frames} frames will add about {size / 1e6:.1f} MB")


def _tell_absent(absent: Mapping[str, int], session: Session) -> None:
    """Name the views that runs did not write, in one line for all pages."""
    if absent:
        named = ", ".join(f"{view} ({plural(n, 'page')})" for view, n in absent.items())
        session.log("note", f"views that were not written are left out: {named}")


def _rows(folders: list[Path], session: Session, how: How, *, force: bool) -> list[Row]:
    """Make the pages of several results; one that fails does not stop the others."""
    rows = []
    absent: Counter[str] = Counter()
    for folder in folders:
        with session.about(str(folder), label=str(folder)):
            try:
                rows.append(_one_of_several(folder, session, how, absent, force=force))
            except BgsubError as error:
                messages.log_error(error, session)
    _tell_absent(absent, session)
    return rows


def _one_of_several(
    folder: Path, session: Session, how: How, absent: Counter[str], *, force: bool
) -> Row:
    """Make a result's page, but keep one that its run has written."""
    from bgsub.page.pages import make_page, make_row

    path = folder / PAGE
    manifest, _ = _load(folder)
    if PAGE in manifest.get("outputs", {}) and path.is_file():
        page = make_page(folder, manifest, path, selection=_selection(folder, how))
        return make_row(page, path)
    return _write_report(folder, path, session, how, absent, force=force)
