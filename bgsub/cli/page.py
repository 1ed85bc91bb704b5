"""``bgsub report`` and ``bgsub view``: make a page to look at, and show it in a browser."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import webbrowser
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import options as opts
from bgsub.cli.messages import Session, log_error, log_results, make_progress
from bgsub.cli.results import load_selected, selection_options
from bgsub.errors import BatchError, BgsubError, InputError, OutputError, UsageError, plural
from bgsub.page import PAGE
from bgsub.pipeline.results import MANIFEST, load_manifest, recorded_path
from bgsub.rules import Integer, Text
from bgsub.runtime.files import check_free, check_plain, write_file

if TYPE_CHECKING:
    from bgsub.page.pages import Row


@opts.command(
    "report",
    "bgsub report results/                        results/report.html",
    "bgsub report results/ -o monday.html",
    "bgsub report results/ --standalone -o mail.html   with a small preview in the file",
    "bgsub report monday/ tuesday/ -o index.html  a page for each, and a list of them",
    "bgsub report batch/                          of all results in a folder",
)
@opts.argument("results", "RESULTS...", nargs=-1, required=True)
@opts.out_option(
    "The page, or the list of several.  [default: report.html in RESULTS]",
    "-o --out FILE",
    required=False,
)
@opts.option(
    "Results",
    "--copies/--no-copies",
    "Copy videos that browsers do not play, into a folder beside the page.",
    default=True,
)
@opts.option(
    "Results",
    "--standalone",
    "Put a small preview of a few hundred frames into the page, for sending it by mail.",
)
@opts.named("force", section="Results")
@selection_options
def report_command(
    session: Session, results: tuple[str, ...], out: str | None, **params: Any
) -> None:
    """Make a page of RESULTS that opens in any browser: timeline, videos, events, tracks.

    RESULTS are folders that bgsub run or bgsub apply wrote, or a folder that holds several. Videos
    stay beside the page; nothing is loaded from elsewhere. Several results have a page each, and
    FILE lists them.
    """
    from bgsub.page.pages import encode_page, make_index

    folders, absent = _folders(results), Counter[str]()
    write = functools.partial(_write_page, session, params, absent)
    if len(folders) == 1:
        with session.about(str(folders[0])):
            path = folders[0] / PAGE if out is None else Path(out)
            write(folders[0], path)
            _name_absent(session, absent)
            log_results(path, session, "{} is written")
        return
    if params["standalone"]:
        raise UsageError("--standalone makes one page; give one folder of results")
    if out is None and len({folder.resolve().parent for folder in folders}) > 1:
        raise UsageError("--out is missing; the results are in several places, name the list")
    path = folders[0].parent / PAGE if out is None else Path(out)
    _check(path, force=params["force"])
    rows = []
    for folder in folders:  # one that fails does not stop the others
        with session.about(str(folder), label=str(folder)):
            try:
                rows.append(write(folder, folder / PAGE, keep=True))
            except BgsubError as error:
                log_error(error, session)
    _name_absent(session, absent)
    if rows:
        write_file(path, encode_page(make_index(rows, path)))
        session.log("result", f"{path} lists {plural(len(rows), 'result')}", out=str(path))
    if len(rows) < len(folders):
        failed = f"no page of {len(folders) - len(rows)} of {len(folders)} results was made"
        raise BatchError(f"{failed}; the others are done")


def _folders(given: tuple[str, ...]) -> list[Path]:
    """List the folders of results that are meant: a folder of such folders stands for them."""
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


def _check(path: Path, *, force: bool) -> None:
    """Raise OutputError if a page cannot be written there."""
    check_free(path, force=force, plain=True)
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{path}: its folder does not exist; make it or choose another place")


def _write_page(
    session: Session,
    params: Mapping[str, Any],
    absent: Counter[str],
    folder: Path,
    path: Path,
    *,
    keep: bool = False,
) -> Row:
    """Write the page of results, and count the views that their run did not write.

    With `keep`, it is not written where the run has done that.
    """
    from bgsub.page.pages import encode_page, make_page, make_row

    manifest, standalone, force = load_manifest(folder), params["standalone"], params["force"]
    if "input" not in manifest:
        message = f"{folder}: was written by bgsub {manifest.get('command')}"
        raise InputError(f"{message}; a page is made of what bgsub run or bgsub apply wrote")
    selection = load_selected(folder, params).selection
    if keep and PAGE in manifest.get("outputs", {}) and path.is_file():
        return make_row(make_page(folder, manifest, path, selection=selection), path)
    _check(path, force=force)
    beside = path.with_name(f"{path.stem}_files") if params["copies"] else None
    with ExitStack() as stack:
        if beside is not None and standalone:
            beside = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bgsub-")))
        elif beside is not None and os.path.lexists(beside) and not force:
            message = f"{beside}: exists; replace copies with --force or choose another name"
            raise OutputError(message)
        page = make_page(
            folder,
            manifest,
            path,
            footage=recorded_path(manifest, manifest["input"]["path"]),
            copies=beside,
            standalone=standalone,
            selection=selection,
            announce=lambda frames, size: session.log(
                "note", f"the preview of {frames} frames will add about {size / 1e6:.1f} MB"
            ),
            progress=stack.enter_context(make_progress(session)),
        )
        write_file(path, encode_page(page.html))
        for shown in page.views:
            if shown.is_absent:
                absent[shown.view] += 1
            elif shown.film is None:
                session.log("warning", f"{shown.view} is not shown: {shown.reason}")
            elif shown.film.path.parent == beside and not standalone:
                size = shown.film.path.stat().st_size / 1e6
                message = f"{shown.film.path}: a copy that browsers play ({size:.1f} MB)"
                session.log("note", message)
    return make_row(page, path)


def _name_absent(session: Session, absent: Counter[str]) -> None:
    """Name the views that runs did not write, in one line for all pages."""
    if absent:
        named = ", ".join(f"{view} ({plural(n, 'page')})" for view, n in absent.items())
        session.log("note", f"views that were not written are left out: {named}")


@opts.command(
    "view",
    "bgsub view results/                      opens the page; Ctrl-C ends",
    "bgsub view batch/ --port 8000 --no-open  prints http://127.0.0.1:8000/",
    "bgsub view results/ --host 192.168.0.7   for other machines of a network that you trust",
)
@opts.argument("results", "RESULTS")
@opts.option(
    "Server",
    "--host ADDRESS",
    "Address to listen on; any other than the default lets other machines see the folder.",
    Text(),
    default="127.0.0.1",
)
@opts.option(
    "Server", "--port N", "Port to listen on.  [default: a free one]", Integer(0, 65535), default=0
)
@opts.option(
    "Server", "--open/--no-open opens", "Open a browser, where there is a display.", default=True
)
def view_command(session: Session, results: str, host: str, port: int, opens: bool) -> None:
    """Serve the folder RESULTS on this machine and open its page; Ctrl-C ends it, with exit code 0.

    RESULTS is a folder that bgsub run or bgsub apply wrote, or one for which bgsub report made a
    list. Nothing outside of it is served, and nothing is written.
    """
    from bgsub.page.server import FolderServer

    folder = Path(results)
    with session.about(results):
        made = _made(folder, session)
        try:
            server = FolderServer(folder, host, port, made)
        except (OSError, UnicodeError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            message = f"{host}:{port}: cannot be listened on ({reason})"
            raise UsageError(f"{message}; choose another --port or --host") from error
        with server:
            click.echo(server.address)
            sys.stdout.flush()
            session.log("note", f"serving {folder}; Ctrl-C ends")
            has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
            if opens and (has_display or sys.platform in {"darwin", "win32"}):
                webbrowser.open(server.address)
            try:
                server.serve_forever(poll_interval=0.2)
            except KeyboardInterrupt:
                session.log("note", "ended")


def _made(folder: Path, session: Session) -> dict[str, bytes]:
    """Make the page of a folder that has none, in memory."""
    from bgsub.page.pages import encode_page, make_page

    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; name one that bgsub run wrote")
    if (folder / PAGE).is_file():
        return {}
    several = any((child / MANIFEST).is_file() for child in folder.iterdir())
    if several and not (folder / MANIFEST).is_file():
        message = f"{folder}: holds several results and no list of them"
        raise InputError(f"{message}; make it with `bgsub report {folder}`")
    page = make_page(folder, load_manifest(folder), folder / PAGE)
    for shown in page.views:
        if shown.film is None:
            session.log("warning", f"{shown.view} is not shown: {shown.reason}")
    return {PAGE: encode_page(page.html)}
