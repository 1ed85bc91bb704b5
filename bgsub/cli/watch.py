"""``bgsub watch``: say what happens in a stream while it happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgsub.cli import interrupts, values
from bgsub.cli.help import Command, examples, option, together
from bgsub.cli.logs import Session, current_session, log_options
from bgsub.cli.options import named
from bgsub.cli.places import find_region, place_options, read_ignored
from bgsub.errors import Interrupted, UsageError

_source_options = together(
    option("Stream", "--size", metavar="WxH", help="Size of the raw pictures on standard input."),
    option(
        "Stream",
        "--pixel-format",
        metavar="NAME",
        help="Pixel format of raw pictures, such as yuv420p.",
    ),
    option("Stream", "--rate", metavar="RATE", help="Frames per second of raw pictures."),
    option(
        "Stream",
        "--stall",
        default="20s",
        show_default=True,
        metavar="TIME",
        help="Open the stream again when no frame has come for this long.",
    ),
    option(
        "Stream",
        "--drop/--no-drop",
        default=None,
        help="Leave out frames that the analysis has no time for; clips keep them.  [default: "
        "drop, except for files]",
    ),
)

_model_options = together(
    option(
        "Model",
        "--window",
        default="10m",
        show_default=True,
        metavar="TIME",
        help="Learn from the frames of the last while of this length, 500 of them at most.",
    ),
    option(
        "Model",
        "--refresh",
        default="30s",
        show_default=True,
        metavar="TIME",
        help="Learn again after this time.",
    ),
    option(
        "Model",
        "--warm-up",
        default="5s",
        show_default=True,
        metavar="TIME",
        help="Learn for this long at first; nothing is reported meanwhile.",
    ),
    option(
        "Model",
        "--model",
        "model_path",
        type=values.PATH,
        metavar="FILE",
        help="Use the model.npz of a run, and learn nothing.",
    ),
    option(
        "Model",
        "--scale",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="SCALE",
        help="Resize the pictures that are analysed.  [default: to about 480×320 pixels]",
    ),
    option(
        "Model",
        "--every",
        default=None,
        metavar="TIME",
        help="Analyse one frame in this time; clips have all frames.  [default: every frame]",
    ),
)

_event_options = together(
    option(
        "Events",
        "--before",
        default="5s",
        show_default=True,
        metavar="TIME",
        help="Begin clips this long before an event, at the key frame before that.",
    ),
    option(
        "Events",
        "--after",
        default="2s",
        show_default=True,
        metavar="TIME",
        help="End an event when nothing has been in sight for this long.",
    ),
    option(
        "Events",
        "--min-track",
        type=click.IntRange(min=1),
        default=3,
        show_default=True,
        metavar="N",
        help="Frames in which an object must be seen to count.",
    ),
    option(
        "Events",
        "--on-event",
        metavar="CMD",
        help="Run this program when an event starts, goes on and ends, with {event}, {id} and "
        "{file} filled in, and the JSON line on its standard input; no shell is used.",
    ),
    option("Events", "--no-clips", is_flag=True, help="Write no clips."),
    option("Events", "--no-sound", is_flag=True, help="Write clips without the stream's sound."),
    option(
        "Events",
        "--masks",
        is_flag=True,
        help="Write the masks of events beside their clips, as -mask.mkv (FFV1).",
    ),
    option(
        "Events",
        "--clip-format",
        type=click.Choice(["auto", "mp4", "mkv"]),
        default="auto",
        show_default=True,
        help="Format of clips; auto is mp4 where it can hold the stream, else mkv.",
    ),
    option(
        "Events",
        "--keep",
        metavar="AMOUNT",
        help="Remove the oldest clips when there are more than this, as 10G, or older ones, as 7d.",
    ),
)

_status_options = together(
    option(
        "Supervision",
        "--status",
        type=values.PATH,
        metavar="FILE",
        help="Write the state of the watch to FILE as JSON, every two seconds.",
    ),
    option(
        "Supervision",
        "--metrics",
        type=click.IntRange(0, 65535),
        metavar="PORT",
        help="Serve metrics for Prometheus on http://127.0.0.1:PORT/metrics.",
    ),
)


@click.command(
    "watch",
    cls=Command,
    epilog=examples(
        "bgsub watch rtsp://camera/stream --out clips/ --keep 10G",
        "bgsub watch /dev/video0 --out clips/ --on-event 'notify-send {event} {file}'",
        "ffmpeg -i IN -f mpegts - | bgsub watch - --out clips/ | jq -r .file",
        "bgsub watch rtsp://camera/stream --regions yard.json --region gate --out clips/",
        "bgsub watch - --size 640x480 --pixel-format yuv420p --rate 25 --out clips/ < raw.yuv",
    ),
)
@click.argument("source", metavar="SOURCE")
@option(
    "Results",
    "-o",
    "--out",
    type=values.PATH,
    required=True,
    metavar="DIR",
    help="Folder for clips.",
)
@_source_options
@_model_options
@named("shadows", "sensitivity", "min_area", "fill_holes", section="Masks")
@place_options
@_event_options
@_status_options
@option(
    "Resources",
    "--threads",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    metavar="N",
    help="Threads that learn; the stream is decoded and the model learned in processes apart.",
)
@log_options
def watch_command(source: str, out: str, **params: Any) -> None:
    """Watch SOURCE: a URL (rtsp, http, tcp, udp, …), a camera, a file, or - for a pipe.

    A JSON line on stdout says when an event starts, goes on and ends; each event gets a clip in
    DIR, made of the stream's own packets. The background is learned from a sliding window while
    the stream plays. A stream that breaks off is opened again. Stop with Ctrl-C or SIGTERM: the
    clip that is being written is finished, and the exit code is 130.
    """
    from contextlib import ExitStack

    from bgsub.live.hooks import EventHook
    from bgsub.live.source import read_source
    from bgsub.live.status import MetricsServer
    from bgsub.live.watcher import Watcher

    session = current_session()
    stream = read_source(
        source, size=params["size"], pixel_format=params["pixel_format"], rate=params["rate"]
    )
    hook = None if params["on_event"] is None else EventHook(params["on_event"])
    with session.about(stream.name), ExitStack() as stack:
        watcher = Watcher(
            stream,
            Path(out),
            _watch_options(params),
            say=click.echo,
            note=lambda text, kind: session.log(kind, text),
            hook=hook,
        )
        if params["metrics"] is not None:
            server = stack.enter_context(MetricsServer(watcher.status, params["metrics"]))
            session.log("note", f"metrics are on http://127.0.0.1:{server.port}/metrics")
        stop = stack.enter_context(interrupts.asked_to_stop())
        watcher.run(stop)
        _sum_up(watcher.status.events, session)
        if stop.is_set():
            raise Interrupted("stopped; no event is open, and every clip is finished")


def _sum_up(events: int, session: Session) -> None:
    noun = "event" if events == 1 else "events"
    session.log("summary", f"{session.input}: {events or 'no'} {noun}", events=events)


def _watch_options(params: dict[str, Any]) -> Any:
    """Read the options that are times, and the model."""
    from bgsub.background.model import BackgroundModel
    from bgsub.live.clips_folder import Keep, parse_keep, parse_seconds
    from bgsub.live.options import WatchOptions
    from bgsub.local.params import MaskOptions
    from bgsub.tracking.choosing import EventFilter
    from bgsub.tracking.regions import read_regions

    names = ("window", "refresh", "warm_up", "before", "after", "stall")
    times: dict[str, Any] = {
        f"{n}_s": parse_seconds(f"--{n.replace('_', '-')}", params[n]) for n in names
    }
    if times["warm_up_s"] > times["window_s"]:
        raise UsageError("--warm-up is longer than --window; make it shorter")
    if params["masks"] and params["no_clips"]:
        raise UsageError("--masks belong to clips, which --no-clips leaves out; give one of them")
    every, path = params["every"], params["model_path"]
    status, regions = params["status"], params["regions"]
    return WatchOptions(
        **times,
        every_s=0.0 if every is None else parse_seconds("--every", every),
        min_area=params["min_area"],
        min_track=params["min_track"],
        counted=EventFilter(
            max_area=params["max_area"],
            region=find_region(regions, params["region"]),
            ignored=read_ignored(params["ignore"]),
        ),
        regions=() if regions is None else tuple(read_regions(Path(regions))),
        masks=MaskOptions(params["shadows"], params["sensitivity"], None, params["fill_holes"]),
        model=None if path is None else BackgroundModel.load(path),
        scale=params["scale"],
        drops=params["drop"],
        clips=not params["no_clips"],
        sound=not params["no_sound"],
        writes_masks=params["masks"],
        clip_format=params["clip_format"],
        keep=Keep() if params["keep"] is None else parse_keep(params["keep"]),
        threads=params["threads"],
        status=None if status is None else Path(status),
    )
