import ctypes
import gc
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import av
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.video import pyav
from bgsub.video.film_index import Place
from bgsub.video.seek import frames_at
from bgsub.video.source import open_source


def test_a_title_in_latin_1_is_no_obstacle(make_video, scene):
    path = make_video("title.mkv", scene(3), "ffv1", "gray")
    with av.open(str(path)) as source, av.open(str(path.with_name("t.mkv")), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        target.metadata["title"] = "Tuer_e"
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                target.mux(packet)
    titled = path.with_name("12:30 é.mkv")
    titled.write_bytes(path.with_name("t.mkv").read_bytes().replace(b"Tuer_e", b"T\xfcr\xe9_e"))
    with pyav.open_input(titled) as container:
        assert container.streams.video[0].width == scene(3).shape[2]


LISTS = {
    "a.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n",
    "a.mp4": "\ufeff#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n",
    "a.txt": "ffconcat version 1.0\nfile secret.ts\n",
    "a.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n",
    "a.mpd": '<?xml version="1.0"?>\n<!-- x -->\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>',
    "a.xml": '<?xml version="1.0"?><CompositionPlaylist></CompositionPlaylist>',
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_other_files_are_refused(name, make_video, scene, tmp_path):
    make_video("secret.ts", scene(30))
    (tmp_path / name).write_text(LISTS[name], encoding="utf-8")
    with pytest.raises(InputError, match=rf"^{name}: is an? .*other files.*; give the video"):
        open_source(tmp_path / name)


@pytest.mark.parametrize("name", ["concat", "hls", "sdp", "vobsub"])
def test_ffmpeg_refuses_lists_itself(name, make_video, scene, monkeypatch):
    path, genuine = make_video("a.ts", scene(3)), av.open
    monkeypatch.setattr(av, "open", lambda file, **given: genuine(file, format=name, **given))
    with pytest.raises(av.ArgumentError), pyav.open_input(path):
        pass


_READ_AGAIN_AND_AGAIN = """
import sys
import av
from bgsub.video.source import open_source
av.logging.set_level(av.logging.VERBOSE)
for _ in range(8):
    print(sum(1 for _ in open_source(sys.argv[1], threads=8)))
"""


def test_a_damaged_film_does_not_hang_a_program_that_hears_ffmpegs_messages(encode):
    frames = np.random.default_rng(0).integers(0, 255, (40, 120, 160, 3), dtype=np.uint8)
    path = encode(frames)
    data = bytearray(Path(path).read_bytes())
    for place in np.linspace(0.1 * len(data), 0.9 * len(data), 20).astype(int):
        data[place : place + 8] = b"\xff" * 8
    Path(path).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", _READ_AGAIN_AND_AGAIN, path],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert len(done.stdout.split()) == 8


class _Mallinfo(ctypes.Structure):
    _fields_: ClassVar = [(f"field{index}", ctypes.c_size_t) for index in range(10)]


def _bytes_in_use():
    gc.collect()
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        pytest.skip("only glibc 2.33 and later can be asked")
    ask.restype = _Mallinfo
    return ask().field7


def test_looking_up_frames_keeps_no_memory(make_video, scene):
    """A hundred bytes and a half for each seek were 20 MB at the end of a day in segments."""
    source = open_source(make_video("film.mp4", scene(40), "mpeg4", options={"g": "4"}))
    keys = {number: (number - 1) / 25 for number in (9, 21, 33)}
    places = [Place(number, time_s, time_s, time_s) for number, time_s in keys.items()]
    looked = [len(list(frames_at(source, places)))]
    before = _bytes_in_use()
    looked += [len(list(frames_at(source, places))) for _ in range(40)]
    assert set(looked) == {3}
    assert _bytes_in_use() - before < 40 * 300
