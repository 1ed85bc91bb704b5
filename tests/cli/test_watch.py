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
from tests.live.conftest import SIZE, decoded, film_file, transport, walk
from tests.processes import is_running
from tests.video.conftest import encode

QUICK = ["--warm-up", "1s", "--refresh", "2s", "--before", "0.5s", "--after", "0.6s", "--no-drop"]
RAW = ["--size", "48x36", "--pixel-format", "rgb24", "--rate", "25"]


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
    out, errors = process.communicate(raw(walk(75, [(30, 52)])), timeout=120)
    assert process.returncode == 0, errors
    first, *_, last = lines(out)
    assert (first["event"], last["event"], last["reason"]) == ("start", "end", "gone")
    assert "standard input: raw pictures, 48×36 pixels" in errors.decode()
    assert "standard input: 1 event" in errors.decode()
    shown = decoded(last["file"])
    assert shown[0].shape[:2] == SIZE[::-1]
    assert sum(int(((f[..., 0] > 175) & (f[..., 1] < 100)).sum()) > 40 for f in shown) == 22


def to_start(process, film):
    """Feed a film until an event has started and gone on."""
    process.stdin.write(film)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["event"] == "start"
    return json.loads(process.stdout.readline())


def test_sigterm_finishes_the_clip(tmp_path):
    process = start("-", *QUICK, "--after", "60s", "--out", tmp_path)
    update = to_start(process, transport(walk(80, [(30, 80)])))
    assert update["event"] == "update"
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    (end,) = [line for line in lines(out) if line["event"] == "end"]
    assert end["reason"] == "stopped"
    assert len(decoded(end["file"])) >= 30


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_a_killed_watch_leaves_a_clip_that_plays(tmp_path, kind):
    process = start(
        "-", *QUICK, "--after", "60s", "--clip-format", kind, "--out", tmp_path, bufsize=0
    )
    to_start(process, transport(walk(80, [(30, 80)])))
    process.kill()
    process.wait(60)
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()
    (clip,) = tmp_path.glob(f"event-*.{kind}")
    assert len(decoded(clip)) >= 12


def test_the_process_that_decodes_ends_with_its_parent(tmp_path):
    process = start("-", *QUICK, "--out", tmp_path)
    process.stdin.write(transport(walk(30, [])))
    process.stdin.flush()
    children = []
    deadline = time.monotonic() + 60
    while not children and time.monotonic() < deadline:
        found = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        children = [int(pid) for pid in found.stdout.split()]
        time.sleep(0.05)
    assert len(children) == 1
    process.kill()
    process.communicate(timeout=60)
    while children and time.monotonic() < deadline:
        children = [child for child in children if is_running(child)]
        time.sleep(0.05)
    assert children == []


def test_a_command_hears_of_every_event_and_the_status_says_how_it_went(tmp_path):
    film, log = tmp_path / "film.ts", tmp_path / "log"
    film.write_bytes(transport(walk(75, [(30, 52)])))
    code = f"import sys; open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + sys.stdin.read())"
    script = tmp_path / "hook.py"
    script.write_text(code)
    status = tmp_path / "status.json"
    process = start(
        *(film, *QUICK, "--out", tmp_path / "clips", "--status", status),
        *("--on-event", f"{sys.executable} -IS {script} {{event}} {{id}}; {{file}}"),
    )
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    said = lines(out)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and log.read_text().count("\n") < len(said):
        time.sleep(0.05)
    heard = log.read_text()
    assert heard.count("\n") == len(said)
    # The semicolon is an argument like others: there is no shell.
    assert f"start 1; {said[0]['file']}{{" in heard
    facts = json.loads(status.read_text())
    assert (facts["state"], facts["events"], facts["event_open"]) == ("ended", 1, False)
    assert facts["frames"] > 45
    assert facts["dropped"] == 0


@pytest.fixture(scope="module")
def run_of_visitors(tmp_path_factory):
    """A film and a run: one on the left, before he goes one on the right, and later one more."""
    folder = tmp_path_factory.mktemp("visitors")
    frames = walk(78, [])
    rng = np.random.default_rng(1)
    for first, last, x in ((12, 24, 4), (18, 36, 31), (64, 72, 4)):
        for i in range(first, last):
            left = x + (i - first) // 2
            noise = rng.normal((230, 40, 220), 30, (11, 8, 3))
            frames[i][13:24, left : left + 8] = np.clip(noise, 0, 255)
    film, out = film_file(folder / "film.mp4", frames, rate=10), folder / "run"
    outputs = {"mask", "errors", "model", "objects", "tracks", "events"}
    run(film, out, make_options(k=1, format="mkv", outputs=outputs))
    return film, out


def ended(output):
    return [line for line in map(json.loads, output.splitlines()) if line["event"] == "end"]


def test_an_event_is_what_it_is_in_a_film(run_of_visitors, tmp_path, invoke):
    film, out = run_of_visitors
    listed = invoke("events", out, "--merge-gap", "2", "--format", "json")
    events = [e for e in json.loads(listed.stdout)["events"] if e["kind"] != "frame"]
    given = ("--model", out / "model.npz", "--out", tmp_path / "clips", "-q")
    ends = ended(invoke("watch", film, *given, "--masks").stdout)
    assert [len(line["tracks"]) for line in ends] == [len(e["tracks"]) for e in events] == [2, 1]
    for line, event in zip(ends, events, strict=True):
        assert line["start_s"] == pytest.approx(event["start_s"], abs=0.05)
        assert line["time_s"] == pytest.approx(event["end_s"], abs=0.05)
    known = np.stack(decoded(out / "mask.mkv"))
    for line in ends:
        drawn = np.stack(decoded(line["file"].replace(".mp4", "-mask.mkv")))
        assert drawn.any()
        places = range(len(known) - len(drawn) + 1)
        assert any(np.array_equal(known[i : i + len(drawn)], drawn) for i in places)


def test_objects_count_in_places(run_of_visitors, tmp_path, invoke):
    film, out = run_of_visitors
    places = tmp_path / "yard.json"
    corners = {"gate": (0, 0, 24, 36), "road": (24, 0, 48, 36)}
    polygons = {n: [[a, b], [c, b], [c, d], [a, d]] for n, (a, b, c, d) in corners.items()}
    places.write_text(json.dumps(polygons))
    left = np.zeros((18, 24), np.uint8)
    left[:, :12] = 255
    write_image(tmp_path / "left.png", left)  # half of the size
    command = ["watch", film, "--model", out / "model.npz", "--out", tmp_path / "clips"]
    command += ["-q", "--no-clips"]
    both = ended(invoke(*command, "--regions", places).stdout)
    assert [line["regions"] for line in both] == [["gate", "road"], ["gate"]]
    (road,) = ended(invoke(*command, "--regions", places, "--region", "road").stdout)
    assert road["regions"] == ["road"]
    assert (road["start_s"], road["time_s"]) == pytest.approx((18 / 10, 35 / 10), abs=0.1)
    (right,) = ended(invoke(*command, "--ignore", tmp_path / "left.png").stdout)
    assert right["start_s"] == road["start_s"]
    assert ended(invoke(*command, "--max-area", "30").stdout) == []
    refused = invoke(*command, "--regions", places, "--region", "door")
    assert refused.exit_code == 2
    assert "has no region of that name" in refused.stderr


def test_a_model_of_a_run_needs_no_time_to_learn(tmp_path, encode, invoke):
    film = encode(np.stack(walk(60, [(15, 40)])))
    learned = invoke("run", film, "--k", "1", "--only", "model", "--out", tmp_path / "run", "-q")
    assert learned.exit_code == 0
    model = tmp_path / "run" / "model.npz"
    done = invoke("watch", film, "--model", model, "--out", tmp_path / "clips", "-q")
    assert done.exit_code == 0
    first, *_, last = (json.loads(line) for line in done.stdout.splitlines())
    assert first["start_s"] == pytest.approx(0.6, abs=0.05)
    assert last["duration_s"] == pytest.approx(1.0, abs=0.1)
    other = encode(np.stack(walk(20, [], size=(64, 48))), "other.mp4")
    refused = invoke("watch", other, "--model", model, "--out", tmp_path / "clips")
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
        (["rtsp://a/b", "--rate", "25"], 2, "a URL says them itself"),
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


def test_y4m_comes_through_a_pipe(tmp_path):
    film = encode(tmp_path / "film.y4m", np.stack(walk(75, [(30, 52)])), "wrapped_avframe")
    process = start("-", *QUICK, "--out", tmp_path / "clips")
    out, errors = process.communicate(film.read_bytes(), timeout=120)
    assert process.returncode == 0, errors
    assert [line["event"] for line in lines(out)][-1] == "end"
