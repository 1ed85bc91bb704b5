"""Imports run one way: from the command line down to the errors, and never back."""

import ast
import functools
from pathlib import Path

import pytest

import bgsub

ROOT = Path(bgsub.__file__).parent

# From the ground up; the rooms of one line do not import each other unless an order is given.
LAYERS = (
    ("errors", "version", "wording"),
    ("files",),
    ("runtime",),
    ("video", "robustpca"),
    ("rules",),
    ("input_rules",),
    ("declared", "facts"),
    ("source_options", "fit_options"),
    ("local", "outliers", "options", "metrics"),
    ("tracking",),
    ("fit", "report"),
    ("background",),
    ("page",),
    ("pipeline",),
    ("evaluation", "comparison"),
    ("experiments", "export", "live", "segments"),
    ("cluster",),
    ("cli",),
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__main__.py")


@functools.cache
def imports(path: Path) -> list[str]:
    """Modules of bgsub that a file imports, inside functions and for types alone too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bgsub":
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [each if exists(each) else str(node.module) for each in whole]
        elif isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name.split(".")[0] == "bgsub"]
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
    assert {room(name(path)) for path in MODULES} - {""} == set(LEVEL)


def test_imports_run_down():
    for path in MODULES:
        own = room(name(path))
        if not own:  # bgsub/__init__ names what is public, for type checkers and on first use
            continue
        for module in imports(path):
            other = room(module)
            assert other == own or LEVEL[other] < LEVEL[own], f"{name(path)} imports {module}"


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
