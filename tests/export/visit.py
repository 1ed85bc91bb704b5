"""A film of a visit, and the run on it that clips are cut from."""

from pathlib import Path

import av

from bgsub.pipeline.run import run
from tests.conftest import make_options, make_scene


def run_on_visit(folder: Path) -> Path:
    """Write film.mp4, and the results of a run on it, to a folder."""
    frames = make_scene(n=120, visit=60)
    frames[90:] = make_scene(n=120, visit=120)[90:]
    with av.open(str(folder / "film.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "8", "g": "20"})
        stream.width, stream.height, stream.pix_fmt = 48, 36, "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    outputs = {"mask", "objects", "tracks", "events"}
    run(folder / "film.mp4", folder / "results", make_options(outputs=outputs, format="mkv"))
    return folder
