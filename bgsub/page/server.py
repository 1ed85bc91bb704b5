"""Serve one folder over HTTP to this machine: whole files and ranges of them, and nothing else."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import logging
import mimetypes
import re
import socket
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bgsub.page import PAGE

_log = logging.getLogger(__name__)
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_CHUNK = 1 << 16
_HEADERS = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
_TYPES = {".html": "text/html; charset=utf-8", ".mkv": "video/x-matroska", ".webp": "image/webp"}
# Addresses that stand for all, and what a browser on this machine calls them.
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - nothing is bound


def parse_range(header: str | None, size: int) -> range | None:
    """Return the bytes that a Range header asks of a file of so many; ValueError if it has none.

    None is the whole file, as for what a server may ignore (several ranges, other units).
    """
    match = _RANGE.fullmatch(header.strip()) if header is not None else None
    if match is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if first and last and int(last) < int(first):
        return None  # no range, by its grammar
    start = int(first) if first else max(0, size - int(last))
    asked = range(start, min(int(last) + 1, size) if first and last else size)
    if not asked:
        raise ValueError(f"no byte of {size} is in {header}")
    return asked


class FolderServer(ThreadingHTTPServer):
    """Serves the files of a folder, and pages that were made and are in no file.

    Requests are answered if their Host header is the address that is served: a page from elsewhere
    whose name leads here is told nothing. Links that lead out of the folder, hidden files and
    folders are not there.
    """

    daemon_threads = True

    def __init__(
        self, folder: Path, host: str, port: int, made: Mapping[str, bytes] | None = None
    ) -> None:
        self.folder, self.host, self.made = folder.resolve(), host, dict(made or {})
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _FolderHandler)

    @property
    def address(self) -> str:
        """The address of the folder for a browser on this machine."""
        return f"http://{self._authority(_ANYWHERE.get(self.host, self.host))}/"

    def _authority(self, host: str) -> str:
        name = f"[{host}]" if ":" in host else host
        port = self.server_address[1]
        return name if port == 80 else f"{name}:{port}"

    def knows(self, authority: str | None) -> bool:
        """Return whether a Host header names this server, any of its addresses, or the machine.

        Another name may be one that a foreign page was loaded from.
        """
        named = (authority or "").lower()
        if self.host not in _ANYWHERE:
            return named == self._authority(self.host).lower()
        try:
            host = urlsplit(f"//{named}").hostname or ""
        except ValueError:
            return False
        own = host in {"localhost", socket.gethostname().lower()}
        with contextlib.suppress(ValueError):
            own = own or bool(ipaddress.ip_address(host))
        return own and named == self._authority(host)

    def find(self, address: str) -> Path | bytes | None:
        """Return what a request is for: a file, a page in memory, or None."""
        try:
            path = unquote(urlsplit(address).path, errors="surrogateescape")
        except ValueError:
            return None
        parts = [part for part in path.split("/") if part]
        if path.endswith("/"):
            parts.append(PAGE)
        if any(part.startswith(".") or "\\" in part or "\0" in part for part in parts):
            return None
        try:
            real = self.folder.joinpath(*parts).resolve()
            if real.is_relative_to(self.folder) and real.is_file():
                return real
        except (OSError, ValueError, RuntimeError):  # a name that is too long, a circle of links
            return None
        return self.made.get("/".join(parts))

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - the base's
        """Note what went wrong: readers of videos hang up in the middle as they please."""
        _log.debug("a request was not answered to its end", exc_info=True)


class _FolderHandler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    protocol_version = "HTTP/1.1"
    timeout = 60.0
    server: FolderServer

    def do_GET(self) -> None:
        """Send a file, or a range of it."""
        if not self.server.knows(self.headers.get("Host")):
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
            return
        found = self.server.find(self.path)
        try:
            if found is None:
                raise FileNotFoundError(self.path)
            file = io.BytesIO(found) if isinstance(found, bytes) else found.open("rb")
        except OSError:
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        name = Path(PAGE if isinstance(found, bytes) else found)
        kind = _TYPES.get(name.suffix.lower()) or mimetypes.guess_type(name.name)[0]
        with file:
            size = file.seek(0, 2)
            # What a condition is compared with is not sent, so that it never holds.
            wanted = None if "If-Range" in self.headers else self.headers.get("Range")
            try:
                part = parse_range(wanted, size)
            except ValueError:
                status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
                self._refuse(status, {"Content-Range": f"bytes */{size}"})
                return
            more, status = {"Accept-Ranges": "bytes"}, HTTPStatus.OK
            if part is not None:
                status = HTTPStatus.PARTIAL_CONTENT
                more["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
            start, left = (part.start, len(part)) if part is not None else (0, size)
            self._head(status, left, kind or "application/octet-stream", more)
            file.seek(start)
            while left > 0 and self.command != "HEAD":
                data = file.read(min(_CHUNK, left))
                if not data:  # the file has become shorter; the reader must not wait for the rest
                    self.close_connection = True
                    return
                self.wfile.write(data)
                left -= len(data)

    do_HEAD = do_GET  # noqa: N815 - the name that the base calls

    def _head(self, status: HTTPStatus, length: int, kind: str, more: Mapping[str, str]) -> None:
        self.send_response(status)
        about = {"Content-Type": kind, "Content-Length": str(length)}
        for name, value in {**about, **_HEADERS, **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def _refuse(self, status: HTTPStatus, more: Mapping[str, str] | None = None) -> None:
        text = f"{status.value} {status.phrase}\n".encode()
        self._head(status, len(text), "text/plain; charset=utf-8", more or {})
        if self.command != "HEAD":
            self.wfile.write(text)

    def version_string(self) -> str:
        """Return who answers, without versions."""
        return "bgsub"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Note a request where --debug asks for it."""
        _log.debug("%s: %s", self.address_string(), format % args)
