"""Imports run one way: from the command line down to the errors, and never back."""

import re
from pathlib import Path

import pytest

import bgsub

ROOT = Path(bgsub.__file__).parent

# From the ground up; what stands on one line does not import each other.
LAYERS = (
    ("errors", "version"),
    ("runtime",),
    ("video", "robustpca"),
    ("rules options",),
    ("outliers",),
    ("fit",),
    ("background",),
    ("segmenter",),
    ("tracking",),
    ("report",),
    ("page",),
    ("pipeline",),
    ("evaluation",),
    ("paper", "export", "live", "segments"),
    ("cluster",),
    ("cli",),
)
PLACE = {
    room: (level, number)
    for level, groups in enumerate(LAYERS)
    for number, group in enumerate(groups)
    for room in group.split()
}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__main__.py")


IMPORT = re.compile(
    r"^ *(?:from (bgsub\b[\w.]*) import (\([^)]*\)|.*)|import (bgsub\b[\w.]*))", re.MULTILINE
)


def imports(path: Path) -> list[str]:
    """Modules of bgsub that a file imports, inside functions and for types alone too."""
    found = []
    for source, names, module in IMPORT.findall(path.read_text(encoding="utf-8")):
        whole = [
            f"{source}.{each}" for each in re.findall(r"\w+", re.sub(r" as \w+|#.*", "", names))
        ]
        found += [each if exists(each) else source for each in whole] or [module]
    return found


def exists(module: str) -> bool:
    place = ROOT.joinpath(*module.split(".")[1:])
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def room(module: str) -> str:
    return ([*module.split("."), ""])[1]


def name(path: Path) -> str:
    parts = ["bgsub", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_room_has_its_layer():
    assert {room(name(path)) for path in MODULES} - {""} <= set(PLACE)


def test_imports_run_down():
    for path in MODULES:
        own = room(name(path))
        if not own:  # bgsub/__init__ names what is public, for type checkers and on first use
            continue
        for module in imports(path):
            here, there = PLACE[own], PLACE[room(module)]
            assert there == here or there[0] < here[0], f"{name(path)} imports {module}"


def test_no_modules_import_each_other_in_a_circle():
    graph = {name(path): set(imports(path)) for path in MODULES}
    done, now = set(), []

    def visit(module):
        if module in now:
            circle = " → ".join([*now[now.index(module) :], module])
            pytest.fail(f"a circle of imports: {circle}")
        if module in done or module not in graph:
            return
        now.append(module)
        for other in graph[module]:
            visit(other)
        done.add(now.pop())

    for module in graph:
        if room(module):
            visit(module)
