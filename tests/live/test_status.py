"""What supervisors are told."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from bgsub.errors import OutputError
from bgsub.live.events import MetricsServer, Status


def test_numbers_for_prometheus():
    status = Status(state="watching", frames=7, latency_s=0.25, event_open=True)
    with MetricsServer(status, 0) as server:
        url = f"http://127.0.0.1:{server.port}/metrics"
        with urllib.request.urlopen(url) as answer:
            text = answer.read().decode()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/etc")
        with pytest.raises(OutputError, match="cannot be served"):
            MetricsServer(status, server.port)
    values = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    assert values["bgsub_up"] == "1"
    assert values["bgsub_frames_total"] == "7"
    assert values["bgsub_latency_s"] == "0.25"
    assert values["bgsub_event_open"] == "1"
