"""Tell supervisors how watching goes: a JSON file, and numbers for Prometheus on loopback."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bgsub.errors import OutputError
from bgsub.runtime.temporary import write_file


@dataclass
class Status:
    """How watching goes.

    Attributes
    ----------
    state : str
        ``connecting``, ``learning``, ``watching``, ``lost`` or ``ended``.
    frames, dropped : int
        Frames that were analysed, and that came but were not.
    events, connections, clips_failed : int
    models : int
        Learned so far.
    uptime_s, time_s : float
        Since the start; and time of the frame analysed last.
    latency_s : float
        From the arrival of that frame to its result.
    event_open : bool
    """

    state: str = "connecting"
    frames: int = 0
    dropped: int = 0
    events: int = 0
    connections: int = 0
    clips_failed: int = 0
    models: int = 0
    uptime_s: float = 0.0
    time_s: float = 0.0
    latency_s: float = 0.0
    event_open: bool = False

    def write(self, path: Path) -> None:
        """Write it as JSON, complete at every moment.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        write_file(path, (json.dumps(asdict(self)) + "\n").encode())

    def metrics(self) -> str:
        """Give it as Prometheus text."""
        lines = []
        for name, value in asdict(self).items():
            if name == "state":
                lines += ["# TYPE bgsub_up gauge", f"bgsub_up {int(value in _UP)}"]
                continue
            is_count = name in {"frames", "dropped", "events", "connections", "models"}
            is_count = is_count or name == "clips_failed"
            kind, full = ("counter", f"{name}_total") if is_count else ("gauge", name)
            lines += [f"# TYPE bgsub_{full} {kind}", f"bgsub_{full} {float(value):g}"]
        return "\n".join(lines) + "\n"


_UP = {"learning", "watching"}


class MetricsServer:
    """Serves a status on http://127.0.0.1:PORT/metrics; a context manager.

    Parameters
    ----------
    status : Status
    port : int
        0 is any that is free.

    Attributes
    ----------
    port : int

    Raises
    ------
    OutputError
        If the port is taken.
    """

    def __init__(self, status: Status, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                is_known = self.path in {"/", "/metrics"}
                body = status.metrics().encode() if is_known else b"try /metrics\n"
                self.send_response(200 if is_known else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - theirs
                """Say nothing on stderr."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            raise OutputError(f"--metrics {port}: cannot be served ({error.strerror})") from error
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])

    def __enter__(self) -> MetricsServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
