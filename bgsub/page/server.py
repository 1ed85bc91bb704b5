"""Serve one folder over HTTP to this machine: whole files and ranges of them, and nothing else."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import mimetypes
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

_log = logging.getLogger(__name__)

PAGE = "report.html"
"""What a folder is shown by."""

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_CHUNK = 1 << 16
_IDLE_S = 60.0

_TYPES = {".html": "text/html; charset=utf-8", ".mkv": "video/x-matroska", ".webp": "image/webp"}


@dataclass(frozen=True)
class Span:
    """A part of a file: its first byte, and how many there are."""

    start: int
    length: int


def parse_range(header: str | None, size: int) -> Span | None:
    """Read a Range header.

    Parameters
    ----------
    size : int
        Bytes of the file.

    Returns
    -------
    Span or None
        None for the whole file: without a header, and for what a server may ignore (several ranges,
        other units).

    Examples
    --------
    >>> parse_range("bytes=10-", 30), parse_range("bytes=-4", 30), parse_range("bytes=0-99", 30)
    (Span(start=10, length=20), Span(start=26, length=4), Span(start=0, length=30))
    """
    match = _RANGE.fullmatch(header.strip()) if header is not None else None
    if match is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:
        start, end = max(0, size - int(last)), size - 1
    else:
        start, end = int(first), min(int(last or size - 1), size - 1)
        if last and int(last) < start:
            return None  # no range, by its grammar
    if start >= size or end < start:
        raise ValueError(f"no byte of {size} is in {header}")
    return Span(start, end - start + 1)


def _is_of_this_machine(host: str) -> bool:
    """Return whether a host is an address, or a name that this machine has for itself."""
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return host in {"localhost", socket.gethostname().lower()}


class FolderServer(ThreadingHTTPServer):
    """Serves the files of a folder, whatever the addresses say that are asked for.

    Parameters
    ----------
    host : str
        Address to listen on.
    port : int
        0 takes a free one.
    made : mapping of str to bytes
        Pages that are in no file, by their path below the folder.

    Notes
    -----
    Requests are answered if their Host header is the address that is served: a page from elsewhere
    whose name leads here is told nothing. Links that lead out of the folder, hidden files and
    folders are not there.
    """

    daemon_threads = True

    def __init__(
        self, folder: Path, host: str, port: int, made: Mapping[str, bytes] | None = None
    ) -> None:
        self.folder = folder.resolve()
        self.made = dict(made or {})
        self.host = host
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _FolderHandler)

    @property
    def address(self) -> str:
        """The address of the folder for a browser on this machine."""
        return f"http://{self._authority(self._shown_host)}/"

    @property
    def _shown_host(self) -> str:
        return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)  # noqa: S104 - nothing is bound

    def _authority(self, host: str) -> str:
        name = f"[{host}]" if ":" in host else host
        port = self.server_address[1]
        return name if port == 80 else f"{name}:{port}"

    def knows(self, authority: str | None) -> bool:
        """Return whether a Host header names this server.

        Where it listens on all addresses, each of them and the machine's name do: another name may
        be one that a foreign page was loaded from.
        """
        if authority is None:
            return False
        named = authority.lower()
        if self._shown_host == self.host:
            return named == self._authority(self.host).lower()
        try:
            host = urlsplit(f"//{named}").hostname or ""
        except ValueError:
            return False
        return named == self._authority(host) and _is_of_this_machine(host)

    def find(self, address: str) -> Path | bytes | None:
        """Find what a request is for: a file, a page in memory, or None."""
        try:
            path = unquote(urlsplit(address).path, errors="surrogateescape")
        except ValueError:
            return None
        parts = [part for part in path.split("/") if part]
        if path.endswith("/"):
            parts.append(PAGE)
        if any(part.startswith(".") or "\\" in part or "\0" in part for part in parts):
            return None
        found = self.folder.joinpath(*parts)
        try:
            real = found.resolve()
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
    timeout = _IDLE_S
    server: FolderServer

    def do_GET(self) -> None:
        """Send a file, or a range of it."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Send what a GET would begin with."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        if not self.server.knows(self.headers.get("Host")):
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, with_body=with_body)
            return
        found = self.server.find(self.path)
        if isinstance(found, bytes):
            self._send(HTTPStatus.OK, len(found), _TYPES[".html"])
            if with_body:
                self.wfile.write(found)
            return
        try:
            file = found.open("rb") if found is not None else None
        except OSError:
            file = None
        if file is None or found is None:
            self._refuse(HTTPStatus.NOT_FOUND, with_body=with_body)
            return
        with file:
            self._send_file(file, found, with_body=with_body)

    def _send_file(self, file: BinaryIO, path: Path, *, with_body: bool) -> None:
        size = file.seek(0, 2)
        kind = _TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0]
        # What a condition is compared with is not sent, so that it never holds.
        wanted = None if "If-Range" in self.headers else self.headers.get("Range")
        try:
            span = parse_range(wanted, size)
        except ValueError:
            more = {"Content-Range": f"bytes */{size}"}
            self._refuse(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, with_body=with_body, more=more)
            return
        more, status = {"Accept-Ranges": "bytes"}, HTTPStatus.OK
        if span is None:
            span = Span(0, size)
        else:
            status = HTTPStatus.PARTIAL_CONTENT
            more["Content-Range"] = f"bytes {span.start}-{span.start + span.length - 1}/{size}"
        self._send(status, span.length, kind or "application/octet-stream", more)
        if with_body:
            file.seek(span.start)
            self._copy(file, span.length)

    def _copy(self, file: BinaryIO, length: int) -> None:
        while length > 0:
            data = file.read(min(_CHUNK, length))
            if not data:  # the file has become shorter; the reader must not wait for the rest
                self.close_connection = True
                return
            self.wfile.write(data)
            length -= len(data)

    def _send(
        self, status: HTTPStatus, length: int, kind: str, more: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(length),
            "Cache-Control": "no-cache",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            **(more or {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _refuse(
        self, status: HTTPStatus, *, with_body: bool, more: Mapping[str, str] | None = None
    ) -> None:
        text = f"{status.value} {status.phrase}\n".encode()
        self._send(status, len(text), "text/plain; charset=utf-8", more)
        if with_body:
            self.wfile.write(text)

    def version_string(self) -> str:
        """Say who answers, without versions."""
        return "bgsub"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Note a request where --debug asks for it."""
        _log.debug("%s: %s", self.address_string(), format % args)
