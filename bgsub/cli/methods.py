"""``bgsub methods``: list what `--method` accepts."""

from __future__ import annotations

import shutil
import sys

import click

from bgsub.cli.help import Command, examples
from bgsub.cli.messages import log_options
from bgsub.cli.options import format_option
from bgsub.report.tables import list_rows, values_text
from bgsub.robustpca.competitors import METHODS

SCHEMA_VERSION = 1
"""Of the JSON listing."""

COLUMNS = ("name", "paper", "outlier_model", "parameters", "cost")


@click.command(
    "methods",
    cls=Command,
    epilog=examples("bgsub methods", "bgsub methods --format json | jq -r '.rows[].name'"),
)
@format_option(
    ["table", "json", "markdown"], "A table for people, one JSON object, or a table in Markdown."
)
@log_options
def methods_command(form: str) -> None:
    """List the methods of robust PCA with their paper, outlier model, parameters and cost.

    n is the number of frames, p of pixels, k of components, t of frames that are taken for inliers.
    """
    rows = [{name: getattr(method, name) for name in COLUMNS} for method in METHODS.values()]
    if form == "table":
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
        click.echo(values_text(COLUMNS, rows, width=width), nl=False)
        return
    click.echo(list_rows(form, COLUMNS, rows, schema_version=SCHEMA_VERSION), nl=False)
