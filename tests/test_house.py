"""The house stays one to live in: sizes, names, words and tests of modules are held here."""

import ast
import functools
import inspect
import re
from collections import defaultdict
from pathlib import Path

import bgsub

ROOT = Path(bgsub.__file__).parent
TESTS = Path(__file__).parent
MODULES = {
    path: path.read_text(encoding="utf-8")
    for path in sorted(ROOT.rglob("*.py"))
    if path.name != "__init__.py"
}
"""All modules with their texts."""

MOST_LINES = 300
LARGE = 100
"""Lines from which a module has a test file of its own name."""

FIRST_WORDS = {
    *("A", "All", "An", "Everything", "How", "Of", "The", "What", "Where", "Whether", "Which"),
}
"""Words that docstrings of modules, functions and methods do not begin with: a verb comes first."""

RETIRED = r"\b(roads?|lanes?|painted|demands?)\b"
"""Names that storage strategies, workers, masks of pixels and memory once had."""


@functools.cache
def parsed(path):
    return ast.parse(MODULES[path])


def place(path):
    return path.relative_to(ROOT).as_posix()


def test_a_module_can_be_read_in_one_go():
    lines = {place(path): len(text.splitlines()) for path, text in MODULES.items()}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def has_functions(tree):
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))


def test_large_modules_have_tests_of_their_own_name():
    missing = []
    for path, text in MODULES.items():
        if len(text.splitlines()) <= LARGE or not has_functions(parsed(path)):
            continue
        test = TESTS / path.relative_to(ROOT).with_name(f"test_{path.name}")
        if not test.exists():
            missing.append(place(path))
    assert missing == []


def is_property(node):
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in node.decorator_list}
    return bool(names & {"property", "cached_property", "setter"})


def test_docstrings_begin_with_a_verb():
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Module) or (
                isinstance(node, ast.FunctionDef) and not is_property(node)
            ):
                said = (ast.get_docstring(node) or "Say").split()[0]
                where = f"{place(path)} {getattr(node, 'name', '')}"
                assert said not in FIRST_WORDS, f"{where}: {said} …"


def test_retired_words_stay_away():
    found = {place(path): re.findall(RETIRED, text) for path, text in MODULES.items()}
    assert {name: words for name, words in found.items() if words} == {}


def names_in(tree):
    """Public functions and constants of a module; classes are public as what functions give."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            yield node.name
        for target in node.targets if isinstance(node, ast.Assign) else []:
            if isinstance(target, ast.Name):
                yield target.id


def test_what_one_module_uses_alone_is_private():
    elsewhere = [*ROOT.rglob("__init__.py"), *TESTS.rglob("*.py")]
    elsewhere += [*(ROOT.parent / "benchmarks").glob("*.py")]
    words = {path: set(re.findall(r"\w+", text)) for path, text in MODULES.items()}
    words |= {path: set(re.findall(r"\w+", path.read_text(encoding="utf-8"))) for path in elsewhere}
    homes = defaultdict(list)
    for path in MODULES:
        for name in names_in(parsed(path)):
            if not name.startswith("_"):
                homes[name].append(path)
    users = defaultdict(set)
    for path, found in words.items():
        for name in homes.keys() & found:
            users[name].add(path)
    alone = [
        f"{place(paths[0])}: {name}"
        for name, paths in homes.items()
        if users[name] <= set(paths) and not is_type(name)
    ]
    assert alone == []


def is_type(name):
    """Types are named as classes are, and stand in signatures that others read."""
    return name[0].isupper() and not name.isupper()


DEVELOPMENT = (ROOT.parent / "docs" / "development.md").read_text(encoding="utf-8")


def test_files_that_the_drawing_of_the_house_names_are_there():
    named = set(re.findall(r"`(?:bgsub/)?([a-z_]+/[a-z_0-9]+\.py)`", DEVELOPMENT))
    assert len(named) > 20
    missing = {name for name in named if not (ROOT / name).is_file()}
    assert {name for name in missing if not (ROOT.parent / name).is_file()} == set()


def test_every_room_is_drawn():
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    drawing = DEVELOPMENT.partition("## The house")[2].partition("### From a file")[0]
    assert rooms <= set(re.findall(r"[a-z_]+", drawing))


def test_what_a_checker_is_told_to_pass_over_has_a_reason():
    told = re.compile(r"# (?:noqa|type: ignore|pragma: no cover)\b(?!.* - \w)")
    rooms = ("bgsub", "benchmarks", "sample_videos", "tests")
    paths = [path for room in rooms for path in (ROOT.parent / room).rglob("*.py")]
    lines = [(path, line) for path in paths for line in path.read_text("utf-8").splitlines()]
    assert len(lines) > 10_000
    assert [f"{path}: {line}" for path, line in lines if told.search(line)] == []


def test_functions_of_the_package_say_what_they_take_and_give():
    """In numpydoc, as the methods of what is used like OpenCV's subtractors do."""
    exported = {name: getattr(bgsub, name) for name in bgsub.__all__}
    told = {name: one for name, one in exported.items() if inspect.isfunction(one)}
    told |= dict(inspect.getmembers(bgsub.Subtractor, inspect.isfunction))
    assert len(told) > 12
    for name, one in told.items():
        signature, text = inspect.signature(one), inspect.getdoc(one) or ""
        if name.startswith("_"):
            continue
        if set(signature.parameters) - {"self", "cls"}:
            assert "Parameters\n----------" in text, name
        if signature.return_annotation != "None":
            assert re.search(r"(Returns|Yields)\n-------?\n", text), name
