"""Serve an mp4 of H.264 on rtsp://127.0.0.1:PORT/film at its own pace, with GStreamer.

Runs as ``python3 rtsp_server.py PORT FILM TRANSPORT`` with an interpreter that has gi; TRANSPORT is
tcp or udp. Says ``ready`` when it can be asked.
"""

import sys


def serve(port, film, transport):
    """Serve until killed."""
    import gi  # of another interpreter than the one that runs tests

    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtsp", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstRtsp, GstRtspServer

    Gst.init(None)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(f'( filesrc location="{film}" ! qtdemux ! rtph264pay name=pay0 pt=96 )')
    by = GstRtsp.RTSPLowerTrans
    factory.set_protocols(by.TCP if transport == "tcp" else by.UDP)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    server.get_mount_points().add_factory("/film", factory)
    server.attach(None)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    GLib.MainLoop().run()


if __name__ == "__main__":
    serve(*sys.argv[1:])
