"""What documents and messages name exists: commands, options, files, headings, columns, figures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import numpy as np
import pytest

from bgsub.cli import cli
from bgsub.export.clips import CLIP_COLUMNS
from bgsub.options import OUTPUTS, RunOptions
from bgsub.outliers.errors_table import COLUMNS, LATER_COLUMNS
from bgsub.pipeline.inputs import output_name
from bgsub.tracking.events import EVENT_COLUMNS
from bgsub.tracking.regions import REGION_COLUMNS
from bgsub.tracking.tables import OBJECT_COLUMNS, Track

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "sample_videos" / "README.md",
]
ERROR_COLUMNS = (*COLUMNS, *LATER_COLUMNS)
MODULES = sorted((ROOT / "bgsub").rglob("*.py"))

OF_OTHER_PROGRAMS = {
    *("--array", "--cpus-per-task", "--dependency", "--mem", "--parsable", "--requeue", "--wrap"),
    *("--hostfile", "--memory-limit", "--nthreads", "--nworkers", "--set", "--strict"),
    *("--long", "--rounds", "--staying", "--synthetic", "--varied"),
}
"""Options of SLURM, Dask, Helm, mypy and the benchmarks."""
OPTION = re.compile(r"(?<![\w/-])--[a-z][a-z-]*[a-z]\b")


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            yield from commands(f"{name} {each}", inner)


def options_of(command: click.Command) -> set[str]:
    params = [one for one in command.params if isinstance(one, click.Option)]
    found = {name for one in params for name in (*one.opts, *one.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            found |= options_of(inner)
    return found | {"--help", "--version"}


COMMANDS = dict(commands("bgsub", cli))
EVERY_OPTION = set().union(*map(options_of, COMMANDS.values()))


def wrong_calls(text: str) -> list[str]:
    """List what `text` calls that is no command, or gives to a command that does not take it."""
    wrong = []
    for call in re.findall(r"(?:^|[`\n($;] ?)(bgsub [a-z][^`\n|#;)]*)", text):
        # What stands behind two spaces explains the call.
        words, line = call.split(), re.split(r"  +", call)[0]
        name = " ".join(words[:3]) if " ".join(words[:3]) in COMMANDS else " ".join(words[:2])
        if name not in COMMANDS:
            wrong.append(name)
            continue
        taken = options_of(COMMANDS[name])
        wrong += [f"{name} {one}" for one in OPTION.findall(line) if one not in taken]
    return wrong


def code_of(text: str) -> str:
    """Return the fenced blocks and the spans in backticks of a document, one a line."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join([*blocks, *re.findall(r"`([^`]+)`", rest)])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_and_options_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert wrong_calls(code_of(text)) == []
    assert {*OPTION.findall(text)} <= EVERY_OPTION | OF_OTHER_PROGRAMS


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_targets_and_modules_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = code_of(text)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([a-z-]+)", code, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    for module in re.findall(r"python -m ((?:benchmarks|bgsub|sample_videos|tests)[\w.]*)", code):
        place = ROOT / module.replace(".", "/")
        assert place.is_dir() or place.with_suffix(".py").is_file(), module


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_a_file_and_a_heading(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", path.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        place = path.parent / name if name else path
        assert place.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", place.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}
            assert anchor in slugs, target


def strings(path: Path) -> Iterator[str]:
    """Return the strings of a module, its f-strings with {} for what is filled in."""
    text = path.read_text(encoding="utf-8")
    if not re.search(r"--[a-z]|bgsub +[a-z]", text):  # nothing that is looked for
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_messages_name_commands_and_options_that_exist() -> None:
    wrong = set()
    for path in MODULES:
        for text in strings(path):
            wrong |= {(path.name, call) for call in wrong_calls(text)}
            if " " in text:
                names = {*OPTION.findall(text)} - EVERY_OPTION - OF_OTHER_PROGRAMS
                wrong |= {(path.name, one) for one in names}
    assert wrong == set()


def columns_in(text: str, name: str) -> list[str]:
    """Return the columns that docs/exports.md explains of a table."""
    section = re.split(rf"^### `{re.escape(name)}`", text, flags=re.MULTILINE)[1]
    rows = re.findall(r"^\| (`.+?) \|", section.partition("\n#")[0], flags=re.MULTILINE)
    return [column for row in rows for column in re.findall(r"`(\w+)`", row)]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("errors.csv", ERROR_COLUMNS),
        ("objects.csv", (*OBJECT_COLUMNS, "region")),
        ("tracks.csv", [one.name for one in fields(Track)]),
        ("events.csv", EVENT_COLUMNS),
        ("regions.csv", REGION_COLUMNS),
        ("clips.csv", CLIP_COLUMNS),
    ],
)
def test_every_column_is_explained(name: str, columns: list[str]) -> None:
    text = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    assert columns_in(text, name) == list(columns)


def test_the_readme_names_every_file_of_a_run() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## Results")[2].partition("\n## ")[0]
    names = {output_name(output, RunOptions()) for output in OUTPUTS}
    missing = {name for name in names | {"regions.csv"} if f"`{name}`" not in section}
    assert missing == set()
    assert f"`{','.join(ERROR_COLUMNS)}`" in section


def test_the_figures_of_masks_agree() -> None:
    """The README has the mean of the table of docs/quality.md, and names its best and worst."""
    quality = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    table = quality.partition("| scene | frames |")[2].partition("\n\n")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    # Scenes that no network has left out have a dash there.
    figures = [[float(cell.replace("–", "nan")) for cell in row[2:]] for row in rows[1:]]
    names = [row[0].strip() for row in rows[1:]]
    scenes = {name: row for name, row in zip(names, figures, strict=True) if name[:2] != "**"}
    shown = [f"{value:.3f}".lstrip("0") for value in map(float, rows[-1][2:])]
    films = {name: row for name, row in scenes.items() if "false pixels" not in name}
    for place, mean in enumerate(map(float, rows[-1][2:])):
        assert np.nanmean([row[place] for row in films.values()]) == pytest.approx(mean, abs=0.001)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"| mean F-measure of {len(films)} public scenes | {' | '.join(shown)} |" in readme
    known = [name for name in films if films[name][0] >= 0]
    local = sorted(known, key=lambda name: films[name][0])
    said = re.search(r"Best is (\w+) \((.\d+)\),\s+worst are (\w+) \((.\d+)", readme)
    assert said is not None
    best, worst = local[-1], local[0]
    assert said.groups() == (best, f"{films[best][0]:.2f}"[1:], worst, f"{films[worst][0]:.2f}"[1:])
