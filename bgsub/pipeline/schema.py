"""Check what a run.json says, once and in one place: before it is written and when it is read."""

from __future__ import annotations

from typing import Any

from bgsub.errors import InputError, OutputError, UsageError
from bgsub.facts import Facts, ListOf, Nullable, Text
from bgsub.input_rules import File
from bgsub.options import RunOptions
from bgsub.rules import Choice, Integer, Number, Rule

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
_TEXTS = ("findings", "fit_warnings", "hints", "warnings")

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
            },
            frozenset({"absolute_path", "width", "height", "frames", "rate"}),
        ),
        "directory": File(),
        "frames": Facts({"used": _COUNT}),
        "cutoff": Nullable(Number("a number from -1e9 to 1e9", -1e9, 1e9)),
        "scene_change": Nullable(Facts({"first_frame": _FRAME, "first_time_s": _SECONDS})),
        "bad_frames": ListOf(Facts({"frame": _FRAME, "time_s": _SECONDS, "reason": Text()})),
        "model": File(),
        "model_sha256": Nullable(Text("[0-9a-f]{64}", "a SHA-256")),
        "mask_trust": Nullable(ListOf(ListOf(Number("a number from 0 to 1e12", 0, 1e12), 3))),
        **{name: Nullable(Facts({})) for name in _OBJECTS},
        **{name: Nullable(ListOf(Text())) for name in _TEXTS},
    },
    frozenset({"model", "model_sha256", "directory", "mask_trust", *_OBJECTS, *_TEXTS}),
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
