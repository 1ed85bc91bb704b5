"""The format of what is written decides about files, not about what is found."""

import csv

import av
import numpy as np
import pytest

from bgsub.evaluation.masks import open_grey
from bgsub.pipeline.run import apply, run
from bgsub.video.images import read_image
from tests.conftest import make_options, read_video

WRITTEN = ("mask", "scores", "objects", "events")


def faint_visit(n=9, height=32, width=40, seed=3):
    """RGB frames of mottled colours; from frame 5 on something passes that differs by little."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(40, 200, (height // 8, width // 8, 3))
    place = np.kron(blocks, np.ones((8, 8, 1)))
    visitor = np.array((126, 104, 136)) + rng.normal(0, 14, (14, 14, 3))
    frames = []
    for i in range(n):
        frame = place + rng.normal(0, 3, place.shape)
        if i >= 5:
            frame[12:26, 13 + i : 27 + i] = visitor
        frames.append(np.clip(frame, 0, 255).astype(np.uint8))
    return frames


@pytest.fixture(scope="module", params=["yuv420p", "bgr0"])
def film(request, tmp_path_factory):
    """A lossless film in one of the pixel formats."""
    path = tmp_path_factory.mktemp("film") / "clip.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.height, stream.width, stream.pix_fmt = 32, 40, request.param
        for image in faint_visit():
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module")
def learned(film):
    """Results of a run on it, with a model."""
    out = film.parent / "learned"
    run(film, out, make_options(format="mkv", outputs=(*WRITTEN, "model")))
    return out


def found(out):
    """Masks, scores and tables of a run."""
    (mask,) = out.glob("mask*")
    scores = out / ("scores" if mask.is_dir() else "scores.mkv")
    pictures = [np.stack(list(open_grey(str(path)).pick(range(9)))) for path in (mask, scores)]
    with (out / "objects.csv").open() as file:
        return pictures[0] > 127, pictures[1], list(csv.reader(file))


def test_no_format_changes_a_mask(film, learned, tmp_path, options):
    masks, scores, objects = found(learned)
    assert masks.any()
    for other in ("mp4", "png"):
        run(film, tmp_path / other, options(format=other, outputs=WRITTEN))
        same = found(tmp_path / other)
        np.testing.assert_array_equal(same[1], scores)
        np.testing.assert_array_equal(same[0], masks)
        assert same[2] == objects


def test_a_model_of_one_format_makes_the_same_masks_in_all(film, learned, tmp_path, options):
    expected = np.stack(list(open_grey(str(learned / "mask.mkv")).pick(range(9))))
    for other in ("mkv", "png", "mp4"):
        out = tmp_path / other
        apply(learned / "model.npz", film, out, options(format=other, outputs={"mask"}))
        (mask,) = out.glob("mask*")
        pictures = np.stack(list(open_grey(str(mask)).pick(range(9))))
        np.testing.assert_array_equal(pictures > 127, expected > 127)
    mask = learned / "mask.mkv"
    assert (tmp_path / "mkv" / mask.name).read_bytes() == mask.read_bytes()


@pytest.mark.parametrize("film", ["yuv420p", "yuv444p", "gray"], indirect=True)
def test_what_is_written_without_loss_gives_the_film_back(film, tmp_path, options):
    outputs = {"foreground", "background", "mask"}
    chosen = options(format="png", foreground="signed", outputs=outputs, model="paper")
    run(film, tmp_path / "out", chosen)
    background, foreground = (
        np.stack([read_image(one) for one in sorted((tmp_path / "out" / name).iterdir())])
        for name in ("background", "foreground")
    )
    shown = read_video(film, "gray" if background.ndim == 3 else "bgr24")
    np.testing.assert_array_equal(foreground + background - np.uint8(128), shown)
