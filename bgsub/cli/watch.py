"""``bgsub watch``: say what happens in a stream while it happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgsub.cli import options as opts
from bgsub.cli.messages import Session, asked_to_stop
from bgsub.cli.results import read_ignored, read_places
from bgsub.errors import Interrupted
from bgsub.live.options import StreamOptions, WatchOptions
from bgsub.options import check_areas
from bgsub.tracking.place_options import PlaceOptions


@opts.command(
    "watch",
    "bgsub watch rtsp://camera/stream --out clips/ --keep 10G",
    "bgsub watch /dev/video0 --out clips/ --on-event 'notify-send {event} {file}'",
    "ffmpeg -i IN -f mpegts - | bgsub watch - --out clips/ | jq -r .file",
    "bgsub watch rtsp://camera/stream --regions yard.json --region gate --out clips/",
    "bgsub watch - --size 640x480 --pixel-format yuv420p --rate 25 --out clips/ < raw.yuv",
)
@opts.argument("source", "SOURCE", type=str)
@opts.out_option("Folder for clips.")
@opts.section("Stream", kind=StreamOptions)
@opts.section("Stream", kind=WatchOptions)
@opts.section("Model", kind=WatchOptions)
@opts.named("shadows", "sensitivity", "min_area", "fill_holes", section="Masks")
@opts.section("Events", kind=PlaceOptions)
@opts.section("Events", kind=WatchOptions)
@opts.section("Supervision", kind=WatchOptions)
@opts.section("Resources", kind=WatchOptions)
def watch_command(session: Session, source: str, out: str, **params: Any) -> None:
    """Watch SOURCE: a URL (rtsp, http, tcp, udp, …), a camera, a file, or - for a pipe.

    A JSON line on stdout says when an event starts, goes on and ends; each event gets a clip in
    DIR, made of the stream's own packets. The background is learned from a sliding window while
    the stream plays. A stream that breaks off is opened again. Stop with Ctrl-C or SIGTERM: the
    clip that is being written is finished, and the exit code is 130.
    """
    from bgsub.live.analysis import Sought
    from bgsub.live.feed import read_source
    from bgsub.live.watcher import Watcher
    from bgsub.segmenter.protocol import MaskOptions
    from bgsub.tracking.events import EventFilter

    places = opts.chosen(PlaceOptions, params)
    check_areas(params["min_area"], places.max_area)
    regions, region = read_places(places)
    sought = Sought(
        masks=MaskOptions(params["shadows"], params["sensitivity"], None, params["fill_holes"]),
        min_area=params["min_area"],
        counted=EventFilter(max_area=places.max_area, region=region, ignored=read_ignored(places)),
        regions=regions,
    )
    stream = read_source(source, opts.chosen(StreamOptions, params))
    with session.about(stream.name):
        watcher = Watcher(
            stream,
            Path(out),
            opts.chosen(WatchOptions, params),
            say=click.echo,
            note=lambda text, kind: session.log(kind, text),
            sought=sought,
        )
        with asked_to_stop() as stop:
            watcher.run(stop)
        events = watcher.status.events
        noun = "event" if events == 1 else "events"
        session.log("summary", f"{session.input}: {events or 'no'} {noun}", events=events)
        if stop.is_set():
            raise Interrupted("stopped; no event is open, and every clip is finished")
