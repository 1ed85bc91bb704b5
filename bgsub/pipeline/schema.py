"""Check what a run.json says, once and in one place: before it is written and when it is read."""

from __future__ import annotations

from typing import Any

from bgsub.errors import InputError, OutputError, UsageError
from bgsub.options import RunOptions
from bgsub.rules import Choice, Facts, File, Integer, ListOf, Nullable, Number, Rule, Text

SCHEMA_VERSION = 1


class _Options(Rule):
    """Options of a run, by what `bgsub.options` declares; a folder of them may be gone."""

    def words(self) -> str:
        """Say it."""
        return "the options of a run"

    def read(self, name: str, value: Any) -> Any:
        """Check every option."""
        if not isinstance(value, dict) or not isinstance(value.get("source"), dict):
            self.refuse(name, type(value).__name__)
        try:
            RunOptions.from_json({**value, "temp": None})
        except InputError as error:
            raise UsageError(f"{name}: {error}") from error
        if value.get("temp") is not None:
            File().read("--temp", value["temp"])
        return value


_COUNT, _FRAME = Integer(0), Integer(1)
_SECONDS = Number("a finite number of seconds")
_RATE = Text(r"[0-9]{1,18}(/[1-9][0-9]{0,17})?", "a rate such as 25 or 30000/1001")

_BASE = Facts({"bgsub_version": Text(), "command": Text()}, frozenset({"command"}))
"""Of every command."""

_OBJECTS = ("memory", "outputs", "versions")
_TEXTS = ("findings", "fit_warnings", "hints", "mask_notes", "warnings")
_WORDS = ("codec", "pixel_format", "unseen_damage")

_REGION = Facts(
    {
        **dict.fromkeys(("x", "y"), _COUNT),
        **dict.fromkeys(("first_frame", "width", "height"), _FRAME),
        **{name: Text() for name in ("chosen", "background", "reason")},
    }
)
"""Where the scene has two backgrounds."""

_EVENT = Facts(
    {
        **dict.fromkeys(("number", "first_frame", "last_frame", "peak_frame"), _FRAME),
        **dict.fromkeys(("start_s", "end_s", "peak_time_s"), _SECONDS),
        "peak_score": Number("a finite number"),
        "n_frames": _FRAME,
    }
)

_SHOWN = (
    *("frame_size", "components", "mask_model", "mask_states", "mask_regions"),
    *("mask_regions_left_out", "mask_shake_pixels", "mask_trust"),
    *("peak_memory_bytes", "events", "stages_s"),
)

RUN = Facts(
    {
        "options": _Options(),
        "input": Facts(
            {
                "path": Nullable(File()),
                "absolute_path": Nullable(File()),
                "name": Text(),
                "size_bytes": Nullable(_COUNT),
                "sha256": Nullable(Text("[0-9a-f]{64}", "a SHA-256")),
                "width": _FRAME,
                "height": _FRAME,
                "frames": Nullable(_COUNT),
                "rate": Nullable(_RATE),
                **{name: Nullable(Text()) for name in _WORDS},
            },
            frozenset({"absolute_path", "width", "height", "frames", "rate", *_WORDS}),
        ),
        "directory": File(),
        "frames": Facts(
            {"used": _COUNT, "bad": Nullable(_COUNT), "doubtful": Nullable(_COUNT)},
            frozenset({"bad", "doubtful"}),
        ),
        "frame_size": Nullable(ListOf(_FRAME, 2)),
        "components": Nullable(_COUNT),
        "mask_model": Nullable(Text()),
        "mask_states": Nullable(ListOf(Facts({}))),
        "mask_regions": Nullable(ListOf(_REGION)),
        "mask_regions_left_out": Nullable(_COUNT),
        "mask_shake_pixels": Nullable(_COUNT),
        "events": Nullable(ListOf(_EVENT)),
        "stages_s": Nullable(Facts({})),
        "peak_memory_bytes": Nullable(_COUNT),
        "cutoff": Nullable(Number("a number from -1e9 to 1e9", -1e9, 1e9)),
        "scene_change": Nullable(Facts({"first_frame": _FRAME, "first_time_s": _SECONDS})),
        "bad_frames": ListOf(Facts({"frame": _FRAME, "time_s": _SECONDS, "reason": Text()})),
        "model": File(),
        "model_sha256": Nullable(Text("[0-9a-f]{64}", "a SHA-256")),
        "mask_trust": Nullable(ListOf(ListOf(Number("a number from 0 to 1e12", 0, 1e12), 3))),
        **{name: Nullable(Facts({})) for name in _OBJECTS},
        **{name: Nullable(ListOf(Text())) for name in _TEXTS},
    },
    frozenset({"model", "model_sha256", "directory", *_SHOWN, *_OBJECTS, *_TEXTS}),
)
"""Of `bgsub run` and `bgsub apply`."""

_COMMAND = Choice(("run", "apply"))


def check_facts(manifest: Any) -> dict[str, Any]:
    """Give a manifest back if it is one; raise UsageError, which names what is wrong."""
    found = _BASE.read("", manifest)
    if found.get("command", "run") in _COMMAND.names:
        try:
            RUN.read("", found)
        except OutputError as error:
            raise UsageError(str(error)) from error
    return found
