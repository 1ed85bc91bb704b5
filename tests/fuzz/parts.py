"""What is tried, part by part: each try follows from a seed and its number alone."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bgsub.options import DEFAULT_OUTPUTS
from tests.fuzz.judging import Crew, Try
from tests.fuzz.mutations import Rng, mutate, mutate_json, mutate_table, strange
from tests.video.conftest import encode
from tests.video.damaged_films import CONTAINERS, film

_FILMS = (
    *(("libx264", "mp4"), ("libx264", "avi"), ("mjpeg", "avi"), ("ffv1", "matroska")),
    *(("mpeg4", "avi"), ("mpeg2video", "mpegts"), ("libx265", "mp4"), ("libvpx-vp9", "webm")),
    *(("png", "mov"), ("gif", "gif"), ("huffyuv", "avi"), ("rawvideo", "nut"), ("flv", "flv")),
)
_IMAGES = ("png", "jpg", "tiff", "bmp", "webp", "ppm")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where tries are made: a folder of undamaged inputs, and one that is emptied after each try.

    Attributes
    ----------
    sound, work : Path
    """

    sound: Path
    work: Path

    @property
    def out(self) -> Path:
        """The results directory of a try."""
        return self.work / "out"

    def clear(self) -> None:
        """Remove what a try has left."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)


def prepare(folder: Path, crew: Crew) -> Place:
    """Make undamaged inputs of every kind, and the results of a run."""
    import cv2

    place = Place(folder / "sound", folder / "work")
    place.sound.mkdir(parents=True)
    place.clear()
    rng = np.random.default_rng(0)
    # What stands has a texture: without one, each run would look long for where the camera moved.
    standing = rng.integers(90, 125, (24, 32, 3), dtype=np.uint8)
    frames = standing + rng.integers(0, 6, (14, 24, 32, 3), dtype=np.uint8)
    frames[9:, 5:12, 8:16] = 240
    np.save(place.sound / "clip.npy", frames)
    np.savez(place.sound / "clip.npz", frames=frames)
    np.savez_compressed(place.sound / "packed.npz", frames=frames)
    for codec, container in _FILMS:
        data = film(codec, container, 8)
        if data is not None:
            (place.sound / f"{codec}.{CONTAINERS[container]}").write_bytes(data)
    (place.sound / "scene").mkdir()
    encode(place.sound / "scene" / "film.avi", frames[4:12], "mpeg4")
    shots = place.sound / "shots"
    shots.mkdir()
    for number, frame in enumerate(frames[:6], 1):
        for suffix in _IMAGES:
            done, data = cv2.imencode(f".{suffix}", frame)
            if done and (suffix == "png" or number == 1):
                target = (
                    shots / f"f{number}.png" if suffix == "png" else place.sound / f"one.{suffix}"
                )
                target.write_bytes(data.tobytes())
    mask = np.full((24, 32), 255, np.uint8)
    mask[:4] = 0
    (place.sound / "mask.png").write_bytes(cv2.imencode(".png", mask)[1].tobytes())
    spans = "frame,outlier\n" + "".join(f"{i},{int(i > 9)}\n" for i in range(1, 15))
    (place.sound / "spans.csv").write_text(spans)
    clip, results = str(place.sound / "clip.npy"), str(place.sound / "results")
    only = ",".join(DEFAULT_OUTPUTS - {"plot"})
    arguments = ["--k", "1", "--only", only, "--format", "png"]
    ending = crew.run(Try(["run", clip, *arguments, "--out", results]))
    if ending.code != 0:
        raise RuntimeError(f"the undamaged run fails: {ending.stderr}{ending.failure}")
    return place


def films(place: Place, rng: Rng) -> Try:
    """A video file with changed bytes, given to a run, to info or to errors."""
    sound = sorted(path for path in place.sound.iterdir() if path.suffix[1:] in CONTAINERS.values())
    return _try_input(place, _changed(sound[int(rng.integers(len(sound)))], place, rng), rng)


def pictures(place: Place, rng: Rng) -> Try:
    """An image, one of a folder of images, an array or a mask image with changed bytes."""
    kind = int(rng.integers(4))
    if kind == 0:
        folder = place.work / "shots"
        shutil.copytree(place.sound / "shots", folder)
        victim = folder / f"f{int(rng.integers(1, 7))}.png"
        victim.write_bytes(mutate(victim.read_bytes(), rng))
        return _try_input(place, folder, rng)
    if kind == 1:
        mask = _changed(place.sound / "mask.png", place, rng)
        option = ("--mask-image", "--ignore")[int(rng.integers(2))]
        return _run(place, place.sound / "clip.npy", option, str(mask))
    names = (
        ("clip.npy", "clip.npz", "packed.npz")
        if kind == 2
        else tuple(path.name for path in sorted(place.sound.glob("one.*")))
    )
    return _try_input(
        place, _changed(place.sound / names[int(rng.integers(len(names)))], place, rng), rng
    )


def results(place: Place, rng: Rng) -> Try:
    """A results folder of which one file was changed, given to the commands that read it."""
    folder = place.work / "results"
    shutil.copytree(place.sound / "results", folder)
    names = ("run.json", "errors.csv", "model.npz", "events.json", "objects.csv")
    names = tuple(name for name in names if (folder / name).exists())  # older trees have fewer
    name = names[int(rng.integers(len(names)))]
    victim = folder / name
    if rng.random() < 0.3:
        victim.write_bytes(mutate(victim.read_bytes(), rng))
    elif name.endswith(".json"):
        victim.write_text(mutate_json(victim.read_text(), rng))
    elif name.endswith(".csv"):
        victim.write_text(mutate_table(victim.read_text(), rng), errors="replace")
    else:
        _change_member(victim, rng)
    commands = [
        ["errors", str(folder)],
        ["errors", str(folder), "--format", "json"],
        ["evaluate", str(folder), str(place.sound / "results" / "mask")],
        ["errors", str(victim)],
        ["report", str(folder), "--out", str(place.work / "page.html")],
        ["clips", str(folder), "--out", str(place.work / "clips")],
        ["export", str(folder), "--to", "mot", "--out", str(place.work / "mot.txt")],
        ["export", str(folder), "--to", "edl", "--out", str(place.work / "cuts.edl")],
        ["objects", str(folder), "--out", str(place.work / "objects")],
    ]
    if name == "run.json":
        commands.append(["run", str(place.sound / "clip.npy"), "--from-json", str(victim)])
    if name == "model.npz":
        commands = [["apply", str(victim), str(place.sound / "clip.npy")]]
    chosen = commands[int(rng.integers(len(commands)))]
    if chosen[0] in {"run", "apply"}:
        return Try([*chosen, "--out", str(place.out)], place.out)
    return Try(chosen)


def options(place: Place, rng: Rng) -> Try:
    """A run with one to four options, of those that are declared, with values of every kind."""
    from bgsub.options import RunOptions, SourceOptions, declared_options

    declared = [*declared_options(RunOptions), *declared_options(SourceOptions)]
    arguments = []
    for _ in range(int(rng.integers(1, 5))):
        one = declared[int(rng.integers(len(declared)))]
        rule = one.rule
        arguments.append(one.flag)
        if type(rule).__name__ != "Switch":
            arguments.append(_value(rule, rng))
    inputs = ("clip.npy", "scene/film.avi", "shots")
    return _run(place, place.sound / inputs[int(rng.integers(3))], *arguments)


def truths(place: Place, rng: Rng) -> Try:
    """True masks or spans that were changed, given to evaluate and compare."""
    if rng.random() < 0.5:
        spans = place.work / "spans.csv"
        spans.write_text(
            mutate_table((place.sound / "spans.csv").read_text(), rng), errors="replace"
        )
        clip = str(place.sound / "clip.npy")
        arguments = ["compare", clip, "--k", "1", "--methods", "pca", "--frames", "1"]
        return Try([*arguments, "--truth", str(spans), "--out", str(place.out)])
    folder = place.work / "truth"
    shutil.copytree(place.sound / "results" / "mask", folder)
    victim = sorted(folder.iterdir())[int(rng.integers(3))]
    if rng.random() < 0.5:
        victim.write_bytes(mutate(victim.read_bytes(), rng))
    else:
        names = (f"{'9' * 22}.png", "x.png", "f-1.png", "gt0.5.png", "ä.png")
        victim.rename(folder / names[int(rng.integers(len(names)))])
    return Try(["evaluate", str(place.sound / "results"), str(folder)])


def _changed(path: Path, place: Place, rng: Rng) -> Path:
    """Change a copy of a file; now and then it gets the name of another kind."""
    target = place.work / path.name
    if rng.random() < 0.05:
        target = target.with_suffix((".mp4", ".npy", ".png", ".npz", ".txt")[int(rng.integers(5))])
    target.write_bytes(mutate(path.read_bytes(), rng))
    return target


def _run(place: Place, source: Path, *arguments: str) -> Try:
    # Masks alone need no fit, and no number of components.
    always = ["--k", "1"] if {"--k", "mask"}.isdisjoint(arguments) else []
    # What is given last counts.
    return Try(["run", str(source), *always, *arguments, "--out", str(place.out)], place.out)


def _try_input(place: Place, source: Path, rng: Rng) -> Try:
    kind = int(rng.integers(4))
    if kind == 0:
        return Try(["info", str(source)])
    if kind == 1:
        return Try(["errors", str(source), "--k", "1"])
    which = ("errors", "mask", "background,errors")[int(rng.integers(3))]
    return _run(place, source, "--only", which)


def _change_member(path: Path, rng: Rng) -> None:
    with np.load(path, allow_pickle=False) as archive:
        members = dict(archive)
    name = sorted(members)[int(rng.integers(len(members)))]
    value = members[name]
    kind = int(rng.integers(5))
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[name] = value.astype(np.float64) * 1e30 if value.dtype.kind in "fiu" else value.T
    elif kind == 2:
        members[name] = np.full(value.shape, np.nan)
    elif kind == 3:
        members[name] = value[..., None]
    else:
        text = strange(rng)
        members[name] = np.array(json.dumps(text) if not isinstance(text, str) else text)
    np.savez(path, **members)


def _value(rule: object, rng: Rng) -> str:
    """Give a value that a rule allows, or anything else."""
    choices = getattr(rule, "values", None) or getattr(rule, "choices", None)
    if choices and rng.random() < 0.7:
        return str(list(choices)[int(rng.integers(len(choices)))])
    likely = (
        "1",
        "2",
        "0.5",
        "3",
        "10",
        "auto",
        "5s",
        "1,1,8,8",
        "200M",
        "50%",
        "0",
        "-1",
        "errors",
    )
    if rng.random() < 0.7:
        return likely[int(rng.integers(len(likely)))]
    return str(strange(rng)).replace("\0", "0")[:3000]


PARTS: dict[str, Callable[[Place, Rng], Try]] = {
    "films": films,
    "pictures": pictures,
    "results": results,
    "options": options,
    "truths": truths,
}
