"""bgsub watch as it is called: pipes, signals, kills, and mistakes in its options."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bgsub.pipeline.run import run
from bgsub.video.images import write_image
from tests.conftest import make_options
from tests.live.conftest import SIZE, children_of, decoded, film_file, transport, walk
from tests.processes import is_running
from tests.video.conftest import encode

QUICK = ["--warm-up", "1s", "--refresh", "2s", "--before", "0.5s", "--after", "0.6s", "--no-drop"]
RAW = ["--size", "48x36", "--pixel-format", "rgb24", "--rate", "10"]


def start(*arguments, **settings):
    command = [sys.executable, "-m", "bgsub", "watch", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **{**pipes, **settings})


def raw(frames):
    return b"".join(np.ascontiguousarray(frame).tobytes() for frame in frames)


def lines(output):
    return [json.loads(line) for line in output.decode().splitlines()]


def test_raw_pictures_come_through_a_pipe(tmp_path):
    process = start("-", *RAW, *QUICK, "--out", tmp_path / "clips")
    out, errors = process.communicate(raw(walk(42, [(14, 28)])), timeout=120)
    assert process.returncode == 0, errors
    first, *_, last = lines(out)
    assert (first["event"], last["event"], last["reason"]) == ("start", "end", "gone")
    assert "standard input: raw pictures, 48×36 pixels" in errors.decode()
    assert "standard input: 1 event" in errors.decode()
    shown = decoded(last["file"])
    assert shown[0].shape[:2] == SIZE[::-1]
    assert sum(int(((f[..., 0] > 175) & (f[..., 1] < 100)).sum()) > 40 for f in shown) == 14


def to_start(process, film):
    """Feed a film until an event has started and gone on."""
    process.stdin.write(film)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["event"] == "start"
    return json.loads(process.stdout.readline())


def test_sigterm_finishes_the_clip_of_y4m(tmp_path):
    film = encode(tmp_path / "a.y4m", np.stack(walk(80, [(30, 80)])), "wrapped_avframe")
    process = start("-", *QUICK, "--after", "60s", "--clip-format", "mkv", "--out", tmp_path)
    update = to_start(process, film.read_bytes())
    assert update["event"] == "update"
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    (end,) = [line for line in lines(out) if line["event"] == "end"]
    assert end["reason"] == "stopped"
    assert end["file"].endswith(".mkv")
    assert len(decoded(end["file"])) >= 30


def test_a_killed_watch_leaves_a_clip_that_plays_and_no_process(tmp_path):
    process = start("-", *QUICK, "--after", "60s", "--out", tmp_path, bufsize=0)
    to_start(process, transport(walk(65, [(20, 65)]), rate=15))
    children = children_of(process.pid)
    process.kill()
    process.wait(60)
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()
    (clip,) = tmp_path.glob("event-*.mp4")
    assert len(decoded(clip)) >= 12
    assert len(children) == 1  # it decodes
    deadline = time.monotonic() + 60
    while any(map(is_running, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, children))


@pytest.fixture(scope="module")
def run_of_visitors(tmp_path_factory):
    """A film and a run: one on the left, before he goes one on the right, later two on the right.

    Of those the upper one is large.
    """
    folder = tmp_path_factory.mktemp("visitors")
    frames = walk(78, [])
    rng = np.random.default_rng(1)
    visits = (12, 24, 4, 13, (11, 8)), (18, 36, 31, 13, (11, 8))
    visits += (64, 72, 29, 1, (13, 12)), (64, 72, 29, 26, (9, 8))
    for first, last, x, top, (tall, wide) in visits:
        for i in range(first, last):
            left = x + (i - first) // 2
            noise = rng.normal((230, 40, 220), 30, (tall, wide, 3))
            frames[i][top : top + tall, left : left + wide] = np.clip(noise, 0, 255)
    film, out = film_file(folder / "film.mp4", frames, rate=10), folder / "run"
    outputs = {"mask", "errors", "model", "objects", "tracks", "events"}
    run(film, out, make_options(k=1, format="mkv", outputs=outputs))
    places = {"gate": (0, 0, 24, 36), "road": (24, 0, 48, 36)}
    places = {n: [[a, b], [c, b], [c, d], [a, d]] for n, (a, b, c, d) in places.items()}
    (folder / "yard.json").write_text(json.dumps(places))
    return film, out, folder / "yard.json"


@pytest.fixture(scope="module")
def watched(run_of_visitors, tmp_path_factory):
    """Watch the film with the model of its run; the lines, the status, and what a command heard."""
    film, out, places = run_of_visitors
    folder = tmp_path_factory.mktemp("watched")
    log, script = folder / "log", folder / "hook.py"
    script.write_text(
        f"import sys; open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + sys.stdin.read())"
    )
    command = [film, "--model", out / "model.npz", "--out", folder / "clips", "-q"]
    command += ["--masks", "--regions", places, "--status", folder / "status.json"]
    command += ["--on-event", f"{sys.executable} -IS {script} {{event}} {{id}}; {{file}}"]
    process = start(*command)
    written, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    said = lines(written)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and log.read_text().count("\n") < len(said):
        time.sleep(0.05)
    return said, json.loads((folder / "status.json").read_text()), log.read_text()


def test_a_command_hears_of_every_event_and_the_status_says_how_it_went(watched):
    said, facts, heard = watched
    assert heard.count("\n") == len(said)
    # The semicolon is an argument like others: there is no shell.
    assert f"start 1; {said[0]['file']}{{" in heard
    assert (facts["state"], facts["events"], facts["event_open"]) == ("ended", 2, False)
    assert facts["frames"] > 45
    assert facts["dropped"] == 0


def ended(said):
    return [line for line in said if line["event"] == "end"]


def test_an_event_is_what_it_is_in_a_film(run_of_visitors, watched, invoke):
    """The model of a run needs no time to learn."""
    _, out, _ = run_of_visitors
    listed = invoke("events", out, "--merge-gap", "2", "--format", "json")
    events = [e for e in json.loads(listed.stdout)["events"] if e["kind"] != "frame"]
    ends = ended(watched[0])
    assert [len(line["tracks"]) for line in ends] == [len(e["tracks"]) for e in events] == [2, 2]
    for line, event in zip(ends, events, strict=True):
        assert line["start_s"] == pytest.approx(event["start_s"], abs=0.05)
        assert line["time_s"] == pytest.approx(event["end_s"], abs=0.05)
    known = np.stack(decoded(out / "mask.mkv"))
    for line in ends:
        drawn = np.stack(decoded(line["file"].replace(".mp4", "-mask.mkv")))
        assert drawn.any()
        places = range(len(known) - len(drawn) + 1)
        assert any(np.array_equal(known[i : i + len(drawn)], drawn) for i in places)


def test_objects_count_in_places(run_of_visitors, watched, tmp_path, invoke):
    """Of all visitors one is in the region, above the ignored pixels, and no larger than asked."""
    assert [line["regions"] for line in ended(watched[0])] == [["gate", "road"], ["road"]]
    film, out, places = run_of_visitors
    low = np.zeros((18, 24), np.uint8)
    low[13:] = 255
    write_image(tmp_path / "low.png", low)  # half of the size
    command = ["watch", film, "--model", out / "model.npz", "--out", tmp_path / "clips"]
    command += ["-q", "--no-clips", "--regions", places]
    chosen = ["--region", "road", "--ignore", tmp_path / "low.png", "--max-area", "140"]
    (road,) = ended(lines(invoke(*command, *chosen).stdout_bytes))
    assert road["regions"] == ["road"]
    assert (road["start_s"], road["time_s"]) == pytest.approx((18 / 10, 35 / 10), abs=0.1)
    refused = invoke(*command, "--region", "door")
    assert refused.exit_code == 2
    assert "has no region of that name" in refused.stderr
    other = film_file(tmp_path / "other.mp4", walk(20, [], size=(64, 48)))
    refused = invoke("watch", other, "--model", out / "model.npz", "--out", tmp_path / "clips")
    assert refused.exit_code == 3
    assert "analysed at 64×48, but the model is of 48×36" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["gone.mp4"], 3, "gone.mp4: cannot be opened (No such file or directory)"),
        (["."], 3, ".: is no file; give a video, a URL, a camera or - for a pipe"),
        (["gopher://a"], 2, "gopher://: is no kind of stream that is known (rtsp,"),
        (["-", "--size", "64x48"], 2, "need --size, --pixel-format and --rate"),
        (["-", "--size", "64"], 2, "--size 64: must be WIDTHxHEIGHT"),
        (["rtsp://a/b", "--rate", "10"], 2, "a URL says them itself"),
        (["-", "--keep", "many"], 2, "--keep many: must be an amount such as 10G, or a time"),
        (["-", "--window", "10G"], 2, "--window 10G: must be a time above 0, such as 30s"),
        (["-", "--warm-up", "20m"], 2, "--warm-up is longer than --window"),
        (["-", "--masks", "--no-clips"], 2, "--masks belong to clips"),
        (["-", "--on-event", "'"], 2, "--on-event ': No closing quotation"),
        (["-", "--on-event", " "], 2, "--on-event: a command is needed"),
    ],
)
def test_mistakes_are_said_in_a_line(invoke, tmp_path, arguments, code, message):
    done = invoke("watch", *arguments, "--out", tmp_path / "clips")
    assert done.exit_code == code
    assert message in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "clips").exists()


def test_a_folder_that_cannot_be_made(invoke, tmp_path):
    (tmp_path / "file").write_text("")
    film = tmp_path / "film.ts"
    film.write_bytes(transport(walk(10, [])))
    done = invoke("watch", film, "--out", tmp_path / "file")
    assert done.exit_code == 5
    assert "choose another folder" in done.stderr
    assert "cannot be written" in done.stderr
