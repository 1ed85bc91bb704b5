"""Programs of the distribution that serve streams: ffmpeg, and GStreamer's RTSP server."""

from __future__ import annotations

import functools
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

NEEDED = "apt-get install ffmpeg gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-good python3-gi"

_RTSP_SERVER = Path(__file__).with_name("rtsp_server.py")
_CAN_SERVE = (
    "import gi\n"
    "gi.require_version('Gst', '1.0'); gi.require_version('GstRtspServer', '1.0')\n"
    "from gi.repository import Gst, GstRtspServer\n"
    "Gst.init(None)\n"
    "assert Gst.ElementFactory.find('qtdemux') and Gst.ElementFactory.find('rtph264pay')\n"
)


@functools.cache
def rtsp_interpreter():
    """A Python that has GStreamer's RTSP server; None if there is none."""
    for path in dict.fromkeys(("/usr/bin/python3", sys.executable)):
        if Path(path).exists():
            check = subprocess.run([path, "-c", _CAN_SERVE], capture_output=True, check=False)
            if check.returncode == 0:
                return path
    return None


def lacks(protocol):
    """What has to be installed for a protocol to be served; empty if nothing."""
    there = rtsp_interpreter() if protocol.startswith("rtsp") else shutil.which("ffmpeg")
    return "" if there else f"{protocol} cannot be served here: {NEEDED}"


def free_port():
    """A port of loopback that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _relay(target, loses):
    """Pass datagrams on to a port, and lose some; gives the port that takes them."""
    came = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    came.bind(("127.0.0.1", 0))
    chance = random.Random(0)

    def run():
        with came, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
            while True:
                data = came.recv(1 << 16)
                if chance.random() >= loses:
                    gone.sendto(data, ("127.0.0.1", target))

    threading.Thread(target=run, daemon=True).start()
    return came.getsockname()[1]


class Program:
    """One film after another from a port, each from a server of its own.

    Parameters
    ----------
    protocol : {"rtsp", "rtsp over udp", "http", "tcp", "udp"}
    loses : float
        Part of all datagrams, of udp, that get lost on their way.
    """

    def __init__(self, protocol, loses=0.0):
        self._protocol, _, by = protocol.partition(" over ")
        self._transport = by or "tcp"
        self._port = free_port()
        path = "" if protocol in {"tcp", "udp"} else "/film"
        self.url = f"{self._protocol}://127.0.0.1:{self._port}{path}"
        self._process = None
        self._target = f"udp://127.0.0.1:{_relay(self._port, loses)}" if loses else self.url

    def start(self, film):
        """Serve a film, from now on or from when it is asked for."""
        self.kill()
        if self._protocol == "rtsp":
            command = [rtsp_interpreter(), str(_RTSP_SERVER), str(self._port), str(film)]
            command.append(self._transport)
        else:
            listen = {"http": ["-listen", "1"], "tcp": ["-listen", "1"], "udp": []}[self._protocol]
            read = ["ffmpeg", "-v", "error", "-nostdin", "-re", "-i", str(film)]
            command = [*read, "-c", "copy", "-f", "mpegts", *listen, self._target]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if self._protocol == "rtsp":
            assert self._process.stdout.readline() == b"ready\n"

    def stall(self):
        """Keep the connection and send nothing more."""
        self._process.send_signal(signal.SIGSTOP)

    def kill(self):
        """Cut the connection."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self._process = None
