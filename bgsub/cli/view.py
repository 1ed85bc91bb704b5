"""``bgsub view``: show results in a browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

import click

from bgsub.cli.messages import Session
from bgsub.cli.options import PATH, click_type, command, option
from bgsub.errors import InputError, UsageError
from bgsub.rules import Integer


@command(
    "view",
    "bgsub view results/                      opens the page; Ctrl-C ends",
    "bgsub view batch/ --port 8000 --no-open  prints http://127.0.0.1:8000/",
    "bgsub view results/ --host 192.168.0.7   for other machines of a network that you trust",
)
@click.argument("results", type=PATH, metavar="RESULTS")
@option(
    "Server",
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on; any other than the default lets other machines see the folder.",
)
@option(
    "Server",
    "--port",
    type=click_type(Integer(0, 65535)),
    default=0,
    metavar="N",
    help="Port to listen on.  [default: a free one]",
)
@option(
    "Server",
    "--open/--no-open",
    "opens",
    default=True,
    show_default=True,
    help="Open a browser, where there is a display.",
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
            if opens and _has_display():
                webbrowser.open(server.address)
            try:
                server.serve_forever(poll_interval=0.2)
            except KeyboardInterrupt:
                session.log("note", "ended")


def _made(folder: Path, session: Session) -> dict[str, bytes]:
    """Make the page of a folder that has none, in memory."""
    from bgsub.page.pages import encode_page, make_page
    from bgsub.page.server import PAGE
    from bgsub.pipeline.manifest import load_manifest
    from bgsub.pipeline.results import MANIFEST

    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; name one that bgsub run wrote")
    if (folder / PAGE).is_file():
        return {}
    several = any((child / MANIFEST).is_file() for child in folder.iterdir())
    if several and not (folder / MANIFEST).is_file():
        message = f"{folder}: holds several results and no list of them"
        raise InputError(f"{message}; make it with `bgsub report {folder}`")
    manifest = load_manifest(folder)
    page = make_page(folder, manifest, folder / PAGE)
    for shown in page.views:
        if shown.film is None:
            session.log("warning", f"{shown.view} is not shown: {shown.reason}")
    return {PAGE: encode_page(page.html)}


def _has_display() -> bool:
    """Return whether a browser that is opened would be seen."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
