"""Parse commands, call the library and print: one module for each command."""

from __future__ import annotations

from bgsub.cli.application import cli

__all__ = ["cli", "main"]


def main() -> None:
    """Run `bgsub` on the arguments of the process, and exit with its code."""
    from bgsub.cli import messages
    from bgsub.runtime import tuning

    messages.prepare()
    tuning.tune()
    messages.install()
    cli.main()
