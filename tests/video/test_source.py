"""What holds for every source, run over every reader and every odd input."""

import gc
import itertools
import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from bgsub.errors import EmptySelectionError, InputError, UsageError
from bgsub.video.images import write_image
from bgsub.video.source import image_files, is_there, open_source
from tests.video.conftest import encode, make_scene

N, HEIGHT, WIDTH = 6, 48, 64


def images(folder, frames, suffix=".png"):
    """Write frames as images with unpadded numbers, so that their names do not sort by text."""
    folder.mkdir()
    for number, frame in enumerate(frames, 8):
        picture = cv2.cvtColor(frame, cv2.COLOR_RGB2BGR) if frame.ndim == 3 else frame
        write_image(folder / f"frame{number}{suffix}", picture)
    return folder


def rotated(path):
    """Say in an mp4 file that it is to be turned clockwise by a quarter for viewing."""
    data = bytearray(path.read_bytes())
    matrix = data.index(b"tkhd") + 4 + 40  # behind version, times, size in time, layer and volume
    turn = np.array([0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30], ">i4")
    data[matrix : matrix + 36] = turn.tobytes()
    path.write_bytes(data)
    return path


def cut(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


def as_video(name, codec="libx264", pixel_format="yuv420p", **settings):
    def build(make_video, scene, folder):
        color = "gray" not in pixel_format
        return make_video(name, scene(N, color=color), codec, pixel_format, **settings)

    return build


def deep(scene):
    return scene.astype(np.uint16) * 257


def stack_tiff(folder, scene):
    path = folder / "film.tif"
    path.write_bytes(cv2.imencodemulti(".tif", [frame[:, :, ::-1] for frame in scene(N)])[1])
    return path


def saved(path, frames):
    save = np.save if path.suffix == ".npy" else np.savez
    save(path, frames) if path.suffix == ".npy" else save(path, frames=frames, other=np.ones(3))
    return path


def given(build, kind, tolerance, *, size=None, count=N):
    """An input: how it is made, its layout, size and frames, and its luma's tolerance in levels."""
    return build, kind, size, count, tolerance


INPUTS = {
    "mp4": given(as_video("a.mp4"), "yuv420", 12),
    "mkv": given(as_video("a.mkv"), "yuv420", 12),
    "mov": given(as_video("a.mov", "mjpeg", "yuvj420p"), "yuv420", 12),
    "avi": given(as_video("a.avi", "mpeg4"), "yuv420", 12),
    "avi, reordered": given(as_video("b.avi", options={"bf": "2"}), "yuv420", 12),
    "webm": given(as_video("a.webm", "libvpx"), "yuv420", 12),
    "mpg": given(as_video("a.mpg", "mpeg1video"), "yuv420", 16),
    "ts": given(as_video("a.ts", "mpeg2video"), "yuv420", 16),
    "gif": given(as_video("a.gif", "gif", "rgb8"), "bgr", 40),
    "y4m": given(
        as_video("a.y4m", "wrapped_avframe", container_format="yuv4mpegpipe"), "yuv420", 6
    ),
    "raw avi": given(as_video("raw.avi", "rawvideo", "bgr24"), "bgr", 1),
    "lossless": given(as_video("a.ffv1.mkv", "ffv1", "bgr0"), "bgr", 1),
    "4:2:2": given(as_video("422.mkv", "ffv1", "yuv422p"), "bgr", 6),
    "10 bit": given(as_video("10.mkv", "ffv1", "yuv420p10le"), "bgr", 6),
    "grey": given(as_video("grey.mkv", "ffv1", "gray"), "gray", 0),
    "16-bit grey": given(
        lambda make_video, scene, _: make_video(
            "deep.mkv", deep(scene(N, color=False)), "ffv1", "gray16le"
        ),
        "gray",
        0,
    ),
    "alpha": given(
        lambda make_video, scene, _: make_video(
            "alpha.mkv", np.concatenate([scene(N), scene(N)[..., :1]], axis=3), "ffv1", "bgra"
        ),
        "bgr",
        1,
    ),
    "odd size": given(
        lambda make_video, scene, _: make_video("odd.mkv", scene(N, 47, 63), "ffv1", "yuv420p"),
        "yuv420",
        6,
        size=(47, 63),
    ),
    "rotated": given(
        lambda make_video, scene, _: rotated(make_video("turned.mp4", scene(N))),
        "yuv420",
        12,
        size=(WIDTH, HEIGHT),
    ),
    "variable rate": given(
        as_video("variable.mkv", times=[0, 0.04, 0.08, 0.5, 0.54, 2.0]), "yuv420", 12
    ),
    "name": given(as_video("ünïcode 図/12:30 %d [1].mp4"), "yuv420", 12),
    "one frame": given(
        lambda make_video, scene, _: make_video("one.mp4", scene(1)), "yuv420", 12, count=1
    ),
    "truncated": given(
        lambda make_video, scene, _: cut(
            make_video("cut.mkv", scene(20), "ffv1", "bgr0", options={"g": "1"}), 0.5
        ),
        "bgr",
        1,
        count=9,
    ),
    "images": given(lambda _, scene, tmp: images(tmp / "shots", scene(N)), "bgr", 0),
    "grey images": given(
        lambda _, scene, tmp: images(tmp / "shots", scene(N, color=False), ".pgm"), "gray", 0
    ),
    "16-bit images": given(
        lambda _, scene, tmp: images(tmp / "shots", deep(scene(N)), ".tif"), "bgr", 0
    ),
    "one image": given(
        lambda _, scene, tmp: images(tmp / "shots", scene(1)) / "frame8.png", "bgr", 0, count=1
    ),
    "glob": given(
        lambda _, scene, tmp: images(tmp / "ünïcode 図", scene(N)) / "frame*.png", "bgr", 0
    ),
    "printf": given(
        lambda _, scene, tmp: images(tmp / "shots", scene(N)) / "frame%d.png", "bgr", 0
    ),
    "pages": given(lambda _, scene, tmp: stack_tiff(tmp, scene), "bgr", 0),
    "array": given(lambda _, scene, __: scene(N), "bgr", 0),
    "grey array": given(lambda _, scene, __: scene(N, color=False), "gray", 0),
    "16-bit array": given(lambda _, scene, __: deep(scene(N)), "bgr", 0),
    "npy": given(lambda _, scene, tmp: saved(tmp / "a.npy", scene(N)), "bgr", 0),
    "npz": given(lambda _, scene, tmp: saved(tmp / "a.npz", scene(N)), "bgr", 0),
}


@pytest.fixture(params=sorted(INPUTS), scope="module")
def case(request, tmp_path_factory):
    """One of the inputs with what is expected of it; tests must leave it as it is."""
    build, kind, size, count, tolerance = INPUTS[request.param]
    folder, scene = tmp_path_factory.mktemp("case"), make_scene

    def make_video(name, frames, *arguments, **settings):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return encode(path, frames, *arguments, **settings)

    height, width = size or (HEIGHT, WIDTH)
    if request.param == "rotated":
        truth = np.rot90(scene(N), -1, axes=(1, 2))
    else:
        truth = scene(20, height, width, color=kind != "gray")
    return build(make_video, scene, folder), kind, (height, width), count, truth, tolerance


def open_case(case, **options):
    source = case[0] if isinstance(case[0], np.ndarray) else str(case[0])
    return open_source(source, **options)


def luma_of(picture):
    return picture if picture.ndim == 2 else cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)


def test_pictures_numbers_and_times(case):
    _, kind, (height, width), count, truth, tolerance = case
    source = open_case(case)
    frames = list(source)
    assert (source.layout.kind, source.layout.height, source.layout.width) == (kind, height, width)
    assert source.input_size == (width, height)
    assert [frame.number for frame in frames] == list(range(1, count + 1))
    assert source.decoded == count
    assert source.bad_frames == []
    times = [frame.time_s for frame in frames]
    assert times[0] == 0
    assert all(earlier < later for earlier, later in itertools.pairwise(times))
    for frame, expected in zip(frames, truth, strict=False):
        assert frame.layout == source.layout
        assert frame.data.shape == (source.layout.size,)
        assert frame.image.shape[:2] == (height, width)
        difference = frame.luma.astype(int) - luma_of(np.ascontiguousarray(expected))
        assert np.abs(difference).mean() <= max(tolerance / 4, 0.5 * (kind == "bgr"))
        assert np.percentile(np.abs(difference), 98) <= tolerance
        if tolerance <= 1 and kind == "bgr":
            np.testing.assert_array_equal(frame.image, expected)


def test_two_passes_are_identical(case):
    source = open_case(case)
    first = [(frame.number, frame.time_s, frame.data.tobytes()) for frame in source]
    warnings = source.warnings
    assert [(frame.number, frame.time_s, frame.data.tobytes()) for frame in source] == first
    assert source.warnings == warnings
    one_thread = open_case(case, threads=1)
    assert [frame.data.tobytes() for frame in one_thread] == [data for _, _, data in first]


def test_a_selection_gives_the_very_same_frames(case):
    count = case[3]
    everything = list(open_case(case))
    source = open_case(case, start=2, every=2) if count > 1 else open_case(case, end=1)
    chosen = everything[1::2] if count > 1 else everything
    frames = list(source)
    assert [frame.number for frame in frames] == [frame.number for frame in chosen]
    assert source.decoded == count
    for frame, expected in zip(frames, chosen, strict=True):
        assert frame.time_s == expected.time_s
        np.testing.assert_array_equal(frame.data, expected.data)


def test_start_by_time_is_exact(case):
    everything = list(open_case(case))
    moment = everything[len(everything) // 2].time_s
    frames = list(open_case(case, start=f"{moment:.6f}s"))
    assert frames[0].number == len(everything) // 2 + 1


@pytest.mark.parametrize("color", ["gray", "color"])
def test_colour_on_demand(case, color):
    kind = case[1]
    source = open_case(case, color=color)
    frame = next(iter(source))
    reference = next(iter(open_case(case)))
    if color == "gray":
        assert frame.data.size == source.layout.pixels
    else:
        assert source.layout.kind == ("bgr" if kind == "gray" else kind)
        assert frame.image.ndim == 3
    difference = frame.luma.astype(int) - reference.luma
    assert np.abs(difference).max() <= (2 if kind == "bgr" else 0)


def test_region_scale_and_mask(case):
    height, width = case[2]
    mask = np.zeros((height, width), np.uint8)
    mask[: height // 2] = 255
    source = open_case(case, roi="4,2,32,40", scale=0.5, mask_image=mask)
    frame = next(iter(source))
    assert (source.layout.width, source.layout.height) == (16, 20)
    assert source.input_size == (width, height)
    whole = next(iter(open_case(case)))
    expected = cv2.resize(whole.luma[2:42, 4:36], (16, 20), interpolation=cv2.INTER_AREA)
    assert np.abs(frame.luma.astype(int) - expected).max() <= 2
    assert source.pixel_mask.shape == (20, 16)
    assert source.pixel_mask[0].all()
    assert not source.pixel_mask[-1].any()


def test_an_iteration_that_is_left_early_closes_its_file(case):
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("this system does not list open files")

    def opened() -> int:
        # Of this film alone: what other tests left may be closed meanwhile.
        return sum(os.path.realpath(one).startswith(str(case[0])) for one in descriptors.iterdir())

    source = open_case(case)
    gc.collect()  # what tests of the same film before this one left in cycles
    before = opened()
    frames = iter(source)
    next(frames)
    frames.close()
    assert opened() == before


# What cannot be read, and options that make no sense.


def bad_text(tmp):
    (tmp / "notes.mp4").write_text("this is no video\n" * 200)
    return tmp / "notes.mp4"


def bad_terminal_text(tmp):
    (tmp / "notes.txt").write_text("this is no video\n" * 200)
    return tmp / "notes.txt"


def bad_empty(tmp):
    (tmp / "empty.mp4").touch()
    return tmp / "empty.mp4"


def bad_folder(tmp):
    (tmp / "folder" / "sub.png").mkdir(parents=True)
    (tmp / "folder" / ".hidden.png").touch()
    (tmp / "folder" / "notes.txt").touch()
    return tmp / "folder"


def empty_images(tmp):
    for name in ("a.png", "b.tif"):
        (tmp / name).touch()
    return tmp


def bad_images(tmp):
    (tmp / "a.png").write_bytes(b"no image")
    (tmp / "b.png").touch()
    return tmp


def bad_npz(tmp):
    np.savez(tmp / "two.npz", one=np.ones(3), two=np.ones(3))
    return tmp / "two.npz"


def bad_npy(tmp):
    np.save(tmp / "objects.npy", np.array([{}], dtype=object))
    return tmp / "objects.npy"


def bad_zip(tmp):
    (tmp / "no.npz").write_bytes(b"PK\x03\x04 and no more")
    return tmp / "no.npz"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda tmp: tmp / "missing.mp4", r"missing.mp4: no such file or folder; check the path"),
        (lambda tmp: tmp / "none*.png", r"none\*.png: nothing matches"),
        (lambda tmp: tmp / "none%03d.png", r"none%03d.png: no file has a name of this pattern"),
        (bad_text, r"notes.mp4: is not a video that can be read"),
        (bad_terminal_text, r"notes.txt: is (a text|not a video)"),
        (bad_empty, r"empty.mp4: is empty \(0 bytes\)"),
        (bad_folder, r"folder: holds no images; give a folder with png"),
        (empty_images, r": none of its images can be decoded \(a.png: the file is empty\);"),
        (bad_images, r": none of its images can be decoded \(a.png: .*not an image"),
        (bad_npz, r"two.npz: holds one, two; save the frames alone"),
        (bad_npy, r"objects.npy: is not an array file"),
        (bad_zip, r"no.npz: is not an array file"),
        (lambda _: np.zeros((3, 4, 5)), r"array: is float64 of shape \(3, 4, 5\); expected uint8"),
        (lambda _: np.zeros((4, 5), np.uint8), r"of shape \(4, 5\); expected uint8"),
        (lambda _: np.zeros((0, 4, 5), np.uint8), r"array: is empty, of shape \(0, 4, 5\)"),
        (lambda _: np.zeros((2, 4, 5, 4), np.uint8), r"of shape \(2, 4, 5, 4\); expected"),
    ],
)
def test_bad_inputs_are_named_in_one_line(build, message, tmp_path, capfd):
    given = build(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        open_source(given)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_unreadable_permission(tmp_path, monkeypatch):
    path = tmp_path / "locked.mp4"
    path.write_bytes(b"secret")
    opened = Path.open

    def refuse(self, *arguments, **settings):
        if self == path:
            raise PermissionError(13, "Permission denied")
        return opened(self, *arguments, **settings)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(
        InputError, match=r"locked.mp4: cannot be read \(permission denied\); check"
    ):
        open_source(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(InputError, match=r"pipe.mp4: is a pipe"):
        open_source(tmp_path / "pipe.mp4")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": 5, "end": 2}, "end 2 lies before start 5"),
        ({"start": "soon"}, "start 'soon' is not understood"),
        ({"every": 0}, "every 0: must be 1 frame"),
        ({"scale": 0}, "scale 0: must be above 0"),
        ({"roi": "0,0,65,48"}, r"array: roi 0,0,65,48 reaches out of the picture of 64×48"),
        ({"roi": "all"}, "roi 'all' is not understood"),
        ({"color": "blue"}, "color 'blue' is unknown; choose auto, gray, color"),
        ({"on_bad_frame": "cry"}, "on_bad_frame 'cry' is unknown; choose skip, repeat, fail"),
        ({"mask_image": np.ones((3, 3), np.uint8)}, "mask image: the mask image has 3×3"),
        ({"mask_image": np.ones((48, 64))}, "mask image: is float64 of shape"),
    ],
)
def test_options_that_make_no_sense(options, message, scene):
    with pytest.raises(UsageError, match=message):
        open_source(scene(N), **options)


@pytest.mark.parametrize("kind", ["bool", "uint16", "png"])
def test_masks_of_all_kinds(kind, scene, tmp_path):
    inside = np.zeros((HEIGHT, WIDTH), bool)
    inside[5:20, 7:30] = True
    mask = {"bool": inside, "uint16": inside.astype(np.uint16) * 65535}.get(kind)
    if kind == "png":
        mask = tmp_path / "mask.png"
        write_image(mask, np.dstack([inside * np.uint8(255)] * 3))
    source = open_source(scene(N), mask_image=mask)
    np.testing.assert_array_equal(source.pixel_mask, inside)


def test_footage_is_there_as_a_file_a_folder_or_a_pattern_of_images(tmp_path):
    for name in ("a1.png", "a2.png", "film.mp4"):
        (tmp_path / name).write_bytes(b"x")
    for name in ("", "film.mp4", "*.png", "a%d.png"):
        assert is_there(str(tmp_path / name))
    for name in ("no", "b.mp4", "*.tif", "b%d.png", "no/*.png"):
        assert not is_there(str(tmp_path / name))


def test_images_are_listed_in_the_order_of_their_frames(tmp_path):
    for name in ("a10.png", "a9.png", "film.mp4"):
        (tmp_path / name).write_bytes(b"x")
    for name in ("", "*.png", "a%d.png"):
        assert [file.name for file in image_files(str(tmp_path / name))] == ["a9.png", "a10.png"]
    assert image_files(str(tmp_path / "film.mp4")) == image_files(str(tmp_path / "no")) == []


def test_black_mask(scene):
    with pytest.raises(EmptySelectionError, match="no pixel of the mask image is white"):
        open_source(scene(N), mask_image=np.zeros((HEIGHT, WIDTH), np.uint8))
