"""A small scene made on the spot: waves over what stands, and a visitor in its last third."""

import functools
import gc
import json
import os
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import av
import cv2
import numpy as np
import pytest
from av.video.reformatter import VideoReformatter
from hypothesis import settings

from bgsub.options import DEFAULT_OUTPUTS, OUTPUTS, RunOptions, SourceOptions
from bgsub.pipeline.run import run
from bgsub.runtime.threads import Workers
from bgsub.video.images import write_image
from tests.video.conftest import encode as encode_film
from tests.white_figures import leave_white
from tests.worker_groups import (  # noqa: F401 - hooks
    pytest_configure,
    pytest_keyboard_interrupt,
    pytest_testnodedown,
    pytest_testnodeready,
)

# A busy machine is no failure. Where a change is judged, it meets the same examples every time.
settings.register_profile(
    "unhurried", deadline=None, derandomize="CI" in os.environ, max_examples=50
)
settings.load_profile("unhurried")

N_FRAMES, VISIT = 48, 32


def make_scene(
    n=N_FRAMES, height=24, width=32, *, color=True, visit=VISIT, noise=2.0, seed=0, texture=12
):
    """Frames, RGB or grey, with a square that walks about from index `visit` on.

    Without a texture that stands, each fit would look long for where the camera has moved to.
    """
    return _scene(n, height, width, color, visit, noise, seed, texture).copy()


@functools.cache
def _scene(n, height, width, color, visit, noise, seed, texture):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width].astype(float)
    standing = 15 * np.cos(y / 4) + texture * np.sin(1.1 * x) * np.sin(0.9 * y)
    frames = []
    for i in range(n):
        gray = 110 + 10 * np.sin((x + 3 * i) / 5) + standing
        frame = np.stack([gray, 20 + 0.8 * gray, 200 - 0.6 * gray], axis=-1) if color else gray
        frame = frame + rng.normal(0, noise, frame.shape)
        if i >= visit:
            top, left = 8 + i % 5, 8 + i % 7
            frame[top : top + 7, left : left + 7] = (220, 200, 70) if color else 205
        frames.append(np.clip(frame, 0, 255))
    return np.array(frames).astype(np.uint8)


def read_video(path, pixel_format="bgr24"):
    """All frames of a video file, decoded by PyAV alone, with one scaler for all of them."""
    to = VideoReformatter().reformat
    with av.open(str(path)) as container:
        frames = container.decode(video=0)
        return np.stack([to(frame, format=pixel_format).to_ndarray() for frame in frames])


def make_options(**changes):
    """Options of a quick run; those of the source may be given among the others.

    The scene sways in two dimensions. A figure, which takes a third of a run, is drawn on request.
    """
    of_source = {
        name: changes.pop(name)
        for name in list(changes)
        if name in SourceOptions.__dataclass_fields__
    }
    changes["outputs"] = frozenset(changes.get("outputs", DEFAULT_OUTPUTS - {"plot"}))
    return RunOptions(
        **{"k": 2, "seed": 1, "threads": 1, **changes}, source=SourceOptions(**of_source)
    )


def make_facts(path="/gone/a.avi", **changes):
    """What a run.json holds at least; `input` is changed, the rest is replaced."""
    return {
        "schema_version": 1,
        "bgsub_version": "0.1.0",
        "command": "run",
        "options": RunOptions().to_json(),
        "frames": {"used": 9},
        "cutoff": None,
        "scene_change": None,
        "bad_frames": [],
        "input": {"path": path, "name": Path(path).name, "size_bytes": 1, "sha256": "ab" * 32}
        | changes.pop("input", {}),
        **changes,
    }


def pytest_collection_finish():
    """Collect garbage seldom, and spare it the tests, which are more than all that one leaves."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _look_at(descriptor):
    """Stand in for `os.fsync`, which is slow: no test sees what outlives a loss of power."""
    os.fstat(descriptor)


os.fsync = _look_at

# Each run says the versions of all libraries, and none changes while tests run.
metadata.version = functools.cache(metadata.version)

# Figures are put together, but their paper stays white: to paint one takes longer than many runs.
leave_white()


def pytest_runtest_setup(item):
    """Paint figures in tests that look at them, and lay them out: see the mark `figures`."""
    mark = item.get_closest_marker("figures")
    leave_white(mark is None, laid_out=mark is not None and mark.kwargs.get("layout", True))


@pytest.fixture
def scene():
    return make_scene


@pytest.fixture
def options():
    return make_options


@pytest.fixture
def video():
    return read_video


@pytest.fixture
def workers():
    with Workers(2) as pool:
        yield pool


@pytest.fixture
def opencv_threads():
    """So many threads does OpenCV take, whatever the environment says."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(3)
    yield 3
    cv2.setNumThreads(before)


@pytest.fixture
def save(tmp_path):
    """Save frames as an .npy file of tmp_path and give its path."""

    def save_as(frames, name="clip.npy"):
        path = tmp_path / name
        np.save(path, frames)
        return str(path)

    return save_as


@pytest.fixture
def encode(tmp_path):
    """Encode RGB frames as 4:2:0 video, nearly without loss."""

    def encode_as(frames, name="clip.mp4"):
        path = tmp_path / name
        with av.open(str(path), "w") as container:
            stream = container.add_stream("libx264", rate=25, options={"crf": "4"})
            stream.height, stream.width = frames.shape[1:3]
            stream.pix_fmt = "yuv420p"
            for image in frames:
                container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
            container.mux(stream.encode(None))
        return str(path)

    return encode_as


@pytest.fixture
def images(tmp_path):
    """Save RGB or grey frames as a folder of PNG files; some may be cut short."""

    def save_as(frames, name="shots", broken=()):
        folder = tmp_path / name
        folder.mkdir()
        for number, frame in enumerate(frames, 1):
            path = folder / f"f{number}.png"
            write_image(path, np.ascontiguousarray(frame[..., ::-1] if frame.ndim == 3 else frame))
            if number in broken:
                path.write_bytes(path.read_bytes()[:60])
        return str(folder)

    return save_as


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory):
    """Everything that a run can write, without loss and with a signed foreground, of a colour clip.

    Gives frames (BGR), path, out, options and result. Tests must leave it as it is.
    """
    folder = tmp_path_factory.mktemp("whole")
    frames = make_scene()
    np.save(folder / "clip.npy", frames)
    options = make_options(format="mkv", foreground="signed", threads=2, outputs=OUTPUTS)
    path, out = str(folder / "clip.npy"), folder / "new" / "results"
    result = run(path, out, options)
    return SimpleNamespace(
        frames=frames[..., ::-1], path=path, out=out, options=options, result=result
    )


@pytest.fixture(scope="session")
def visit(tmp_path_factory):
    """A folder with film.mp4, which shows a visit, and results of a run on it.

    Tests must leave it as it is.
    """
    folder = tmp_path_factory.mktemp("visit")
    frames = make_scene(80, visit=40)
    frames[60:] = make_scene(80, visit=80)[60:]
    encode_film(folder / "film.mp4", frames, options={"crf": "8", "g": "20"})
    chosen = {"outputs": {"mask", "objects", "tracks", "events"}, "format": "mkv"}
    run(folder / "film.mp4", folder / "results", make_options(**chosen, model="paper"))
    return folder


@pytest.fixture
def manifest_of():
    def read(out: Path):
        return json.loads((out / "run.json").read_text(encoding="utf-8"))

    return read


@pytest.fixture
def contents():
    """Names of all files below a folder, hidden ones included, with their bytes."""

    def look(folder: Path):
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    return look
