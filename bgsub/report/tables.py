"""Write a table of values as text, CSV, JSON, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import itertools
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

FORMATS = ("table", "csv", "json", "markdown", "latex")

Row = Mapping[str, Any]

_DIGITS = 4
_LEAST_WIDTH = 8
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": r"$-$",
    "λ": r"$\lambda$",
    "²": r"$^2$",
    "³": r"$^3$",
    "√": r"$\surd$",
    "·": r"$\cdot$",
    "‖": r"$\|$",
}


def list_rows(form: str, columns: Sequence[str], rows: Sequence[Row], **facts: Any) -> str:
    """Write rows in one of `FORMATS`.

    Parameters
    ----------
    form : str
    columns : sequence of str
        Keys of the rows, and the header.
    rows : sequence of mapping
        None is an empty cell.
    **facts
        What the JSON object says besides its ``rows``.
    """
    forms: dict[str, Callable[[], str]] = {
        "table": lambda: as_table(columns, rows),
        "csv": lambda: as_csv(columns, rows),
        "json": lambda: as_json(columns, rows, **facts),
        "markdown": lambda: as_markdown(columns, rows),
        "latex": lambda: _as_latex(columns, rows),
    }
    return forms[form]()


def as_table(columns: Sequence[str], rows: Sequence[Row], *, width: int | None = None) -> str:
    """Write columns for people, numbers to the right; columns without any value are left out.

    With a width, long words take several lines, with an empty one between the rows.
    """
    columns = [
        name for name in columns if not rows or any(row[name] not in {None, ""} for row in rows)
    ]
    cells = _cells(columns, rows)
    numbers = _are_numbers(columns, rows)
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    wrapped = width is not None and sum(widths) + 2 * (len(widths) - 1) > width
    if wrapped and width is not None:
        down = zip(columns, *cells, strict=True)
        words = [max(map(len, " ".join(column).split()), default=0) for column in down]
        widths = _narrowed(widths, words, width - 2 * (len(widths) - 1))
    lines: list[str] = []
    for row in [list(columns), *cells]:
        if wrapped and lines:
            lines.append("\n")
        texts = [
            textwrap.wrap(cell, most, break_on_hyphens=False) or [""]
            for cell, most in zip(row, widths, strict=True)
        ]
        together = itertools.zip_longest(*texts, fillvalue="")
        lines += [_aligned(parts, widths, numbers) for parts in together]
    return "".join(lines)


def align(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Put cells under each other in columns, those of some columns to the right.

    Examples
    --------
    >>> print(align([("name", "n"), ("a", "10")], [False, True]), end="")
    name   n
    a     10
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(_aligned(line, widths, right) for line in lines)


def _aligned(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    ]
    return "  ".join(parts).rstrip() + "\n"


def _narrowed(widths: list[int], words: list[int], room: int) -> list[int]:
    """Cut widths to one common limit, the largest with which they fit, if possible not words."""
    for floors in (words, [_LEAST_WIDTH] * len(widths)):
        for limit in range(max(widths), _LEAST_WIDTH, -1):
            pairs = zip(widths, floors, strict=True)
            cut = [min(width, max(limit, floor)) for width, floor in pairs]
            if sum(cut) <= room:
                return cut
    return [min(width, _LEAST_WIDTH) for width in widths]


def as_csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Write CSV; true and false are 1 and 0."""
    return csv_text(columns, ([_exact(row[name]) for name in columns] for row in rows))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Give one line a row below a header, the values as they are."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def as_json(columns: Sequence[str], rows: Sequence[Row], **facts: Any) -> str:
    """Write one JSON object with a list of rows."""
    listing = {**facts, "rows": [{name: row[name] for name in columns} for row in rows]}
    return json.dumps(listing, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def as_markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Write a table in GitHub's Markdown."""
    return markdown_text([columns, *_cells(columns, rows)], _are_numbers(columns, rows))


def markdown_text(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Give lines of cells, the first of them the header, as a table in Markdown."""
    header, *rows = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    rules = ["---:" if to_right else "---" for to_right in right]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rules, *rows))


def _as_latex(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Write a tabular in the style of booktabs."""
    numbers = _are_numbers(columns, rows)
    form = "".join("r" if number else "l" for number in numbers)
    lines = [rf"\begin{{tabular}}{{{form}}}", r"\toprule"]
    lines += [_latex_line(columns), r"\midrule"]
    lines += [_latex_line(row) for row in _cells(columns, rows)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "".join(f"{line}\n" for line in lines)


def _latex_line(cells: Sequence[str]) -> str:
    escaped = ["".join(_LATEX.get(letter, letter) for letter in cell) for cell in cells]
    return " & ".join(escaped) + r" \\"


def _cells(columns: Sequence[str], rows: Sequence[Row]) -> list[list[str]]:
    return [[_short(row[name]) for name in columns] for row in rows]


def _short(value: Any) -> str:
    """Write a value as people read it.

    Examples
    --------
    >>> [_short(value) for value in (None, True, 7, 0.123456, 1234567.8, 2e-7, "a")]
    ['', 'yes', '7', '0.1235', '1234568', '2e-07', 'a']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 10 ** (_DIGITS - 1) else f"{value:.{_DIGITS}g}"
    return str(value)


def _exact(value: Any) -> Any:
    """Write a value as programs read it, with eight digits."""
    if isinstance(value, bool):
        return int(value)
    return f"{value:.8g}" if isinstance(value, float) else value


def _are_numbers(columns: Sequence[str], rows: Sequence[Row]) -> list[bool]:
    """Find the columns that hold numbers and nothing else."""
    return [
        all(isinstance(row[name], (int, float)) or row[name] is None for row in rows)
        for name in columns
    ]
