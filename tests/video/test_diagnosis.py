"""What is said of films of which less is there than they announce."""

from fractions import Fraction

import av
import pytest

from bgsub.video.decoding import Oddity
from bgsub.video.diagnosis import diagnose, shortfall
from bgsub.video.film_header import FilmHeader, Reach
from bgsub.video.source import open_source
from bgsub.video.survey import PacketNote, PictureNote, Survey


@pytest.mark.parametrize(
    ("name", "codec", "pixel_format"),
    [
        ("cut.mp4", "libx264", "yuv420p"),
        ("cut.mkv", "libx264", "yuv420p"),
        ("cut.avi", "mjpeg", "yuvj420p"),
        ("cut.webm", "libvpx", "yuv420p"),
        ("cut.gif", "gif", "rgb8"),
        ("raw.avi", "rawvideo", "bgr24"),
        ("cut.y4m", "wrapped_avframe", "yuv420p"),
    ],
)
def test_a_cut_file_gives_what_it_holds_and_says_so(make_video, scene, name, codec, pixel_format):
    settings = {"container_options": {"movflags": "faststart"}} if name == "cut.mp4" else {}
    if name == "cut.y4m":
        settings["container_format"] = "yuv4mpegpipe"
    if codec == "libx264":
        settings["options"] = {"bf": "0"}  # pictures in the order in which they are shown
    path = make_video(name, scene(60), codec, pixel_format, **settings)
    whole = [frame.data.tobytes() for frame in open_source(path)]
    source = open_source(path)
    list(source)
    always = [
        text for text in source.warnings if "cannot be seen" in text or "does not tell" in text
    ]
    assert source.warnings == always
    assert len(always) == (name in {"raw.avi", "cut.y4m", "cut.gif"})
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * 0.7)])
    source = open_source(path)
    frames = [frame.data.tobytes() for frame in source]
    assert 20 <= len(frames) < 60
    assert frames == whole[: len(frames)]
    about = "" if name in {"cut.gif", "cut.y4m"} else " of about 60"
    expected = f"decoded {len(frames)}{about} frames: the file is cut off or damaged"
    assert source.warnings == [*always, expected]
    early = open_source(path, end=5)
    list(early)
    assert early.warnings == always


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_picture_that_is_cut_is_named_and_those_behind_it_keep_their_numbers(
    make_video, scene, share
):
    path = make_video("cut.mp4", scene(60), container_options={"movflags": "faststart"})
    whole = [frame.data.tobytes() for frame in open_source(path)]
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
        numbers = [round(packet.pts * packet.time_base * 25) + 1 for packet in packets]
    cut = next(i for i in range(30, 60) if numbers[i] < max(numbers[:i]))
    end = packets[cut].pos + max(1, int(packets[cut].size * share))
    path.write_bytes(path.read_bytes()[:end])
    source = open_source(path)
    frames = {frame.number: frame.data.tobytes() for frame in source}
    assert numbers[cut] in {bad.number for bad in source.bad_frames}
    assert numbers[cut] < max(frames)
    assert frames == {number: whole[number - 1] for number in frames}


def header(form="matroska,webm", **facts):
    return FilmHeader(form, "h264", rate=Fraction(25), duration_s=4.0, frames=100, **facts)


CUT, UNSURE = "the file is cut off or damaged", "the file is damaged, numbers and times are unsure"


@pytest.mark.parametrize(
    ("found", "reach", "good", "said"),
    [
        (header(), Reach(0.0, 3.96, 4.0), 100, []),
        (header(), Reach(0.0, 1.96, 2.0), 50, [f"decoded 50 of about 100 frames: {CUT}"]),
        (
            header("yuv4mpegpipe", size=900),
            Reach(0.0, 3.96, 4.0, 800),
            100,
            [f"decoded 100 frames: {CUT}"],
        ),
        (header("asf"), Reach(2.0, 3.96, 4.0), 50, [f"decoded 50 of about 100 frames: {UNSURE}"]),
    ],
)
def test_a_shortfall_is_told_with_what_was_announced(found, reach, good, said):
    assert shortfall(found, good, 0, reach, good) == said


def test_what_is_known_to_be_damaged_falls_short_whatever_was_found():
    reach = Reach(0.0, 3.96, 4.0)
    assert shortfall(header(), 100, 0, reach, 100, is_damaged=True) == [
        "decoded 100 frames: the file is cut off or damaged"
    ]


def looks(*errors):
    """Give what two looks at 10 pictures noted, the strict and the lenient one."""

    def look(*, strict):
        packets = [
            PacketNote(i / 25, i / 25, 100 * i, 100, False, False, error)
            for i, error in enumerate(errors[not strict])
        ]
        pictures = [PictureNote(i, i + 1, i / 25, True, False) for i in range(10)]
        return Survey(packets, pictures)

    return look


def test_a_codec_that_departs_from_the_standard_everywhere_is_not_damaged():
    look = looks(["odd"] * 10, [""] * 10)
    found = diagnose(header(), Oddity("odd"), look)
    assert found.good == 10
    assert "its codec departs from the standard: damage may go unseen" in dict(found.notes).values()


def test_what_the_strict_look_alone_noticed_is_damaged():
    look = looks([*[""] * 4, "odd", *[""] * 5], [""] * 10)
    found = diagnose(header(), Oddity("odd"), look)
    assert [entry.number for entry in found.entries if entry.reason or entry.doubtful] == [5]
