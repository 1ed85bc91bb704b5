"""Options that all experiments share."""

from __future__ import annotations

import click

from bgsub.cli import options as shared
from bgsub.cli import values
from bgsub.cli.help import option, together
from bgsub.report.tables import FORMATS

result_options = together(
    option(
        "Results",
        "-o",
        "--out",
        type=values.PATH,
        required=True,
        metavar="DIR",
        help="Folder for data, figure and run.json.",
    ),
    option(
        "Results",
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Of the table on stdout; the CSV file is written in any case.",
    ),
    shared.named("force", section="Results"),
)
"""--out --format --force"""
