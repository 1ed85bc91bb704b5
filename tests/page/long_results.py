"""Results of a long film, made without running one."""

import json
import shutil

import av
import numpy as np

from bgsub.tracking.events import SceneEvent, write_events

CELL, WIDTH, HEIGHT = 16, 160, 96


def write_long_results(results, folder, *, frames, events):
    """Turn the results of a short run into those of a long film, and give their run.json.

    Scores are noise, pictures are hard to compress. Stripes below each write its number from 1 to
    10 in binary.
    """
    shutil.copytree(results, folder)
    values = np.random.default_rng(0).normal(5, 2, (frames, 3))
    rows = ["frame,time_s,error,rmse,score,outlier,doubtful,local,flag"]
    rows += [
        f"{i},{0.04 * i - 0.04:.9g},{768 * a * a:.9g},{abs(a):.9g},{b:.9g},0,0,{c:.9g},"
        for i, (a, b, c) in enumerate(values.tolist(), start=1)
    ]
    (folder / "errors.csv").write_text("\n".join(rows) + "\n", encoding="ascii")
    step = frames // events
    write_events([_event(k, step) for k in range(1, events + 1)], folder)
    for name in ("background.mp4", "foreground.mp4", "input.mp4", "mask.mp4"):
        (folder / name).unlink()
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def _event(k, step):
    last = k * step
    return SceneEvent(
        number=k,
        kind="object",
        first_frame=last - step // 2,
        last_frame=last,
        start_s=0.04 * (last - step // 2),
        end_s=0.04 * last,
        peak_frame=last - step // 10,
        peak_s=0.04 * (last - step // 10),
        area=12.0,
        tracks=(k,),
        box=(1.0, 2.0, 3.0, 4.0),
    )


def write_film(path, frames, noise=255):
    """Write a film of many frames quickly: the packets of a short one, over and over."""
    rng = np.random.default_rng(1)
    with av.open(str(path), "w") as container:
        options = {"preset": "ultrafast", "g": "1", "x264-params": "sliced-threads=0"}
        stream = container.add_stream("libx264", rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        packets = []
        for number in range(1, 11):
            blocks = rng.integers(0, noise + 1, (HEIGHT // 6, WIDTH // 5, 3))
            picture = np.kron(blocks, np.ones((6, 5, 1))).astype(np.uint8)
            for bit in range(WIDTH // CELL):
                cell = slice(bit * CELL, (bit + 1) * CELL)
                picture[-CELL:, cell] = 235 if number >> bit & 1 else 20
            packets += stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24"))
        packets += stream.encode(None)
        data = [bytes(packet) for packet in packets]
        base = packets[0].time_base
        for i in range(frames):
            packet = av.Packet(data[i % len(data)])
            packet.pts = packet.dts = round(i * 0.04 / base)
            packet.time_base, packet.stream, packet.is_keyframe = base, stream, True
            container.mux(packet)
