"""Results of the commands about several methods: files, and what run.json begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bgsub.errors import OutputError

if TYPE_CHECKING:
    from bgsub.pipeline.directory import ResultsDirectory


def write(results: ResultsDirectory, name: str, data: str | bytes) -> None:
    """Write an output; raises OutputError if it cannot be written."""
    raw = data.encode() if isinstance(data, str) else data
    try:
        results.stage(name).write_bytes(raw)
    except OSError as error:
        message = (
            f"{results.path / name}: cannot be written ({error.strerror}); "
            "free some space or choose another folder with --out"
        )
        raise OutputError(message) from error


def preamble(command: str, options: dict[str, Any]) -> dict[str, Any]:
    """What every run.json of these commands begins with."""
    from bgsub.pipeline import manifest as manifests
    from bgsub.version import __version__

    return {
        "schema_version": manifests.SCHEMA_VERSION,
        "bgsub_version": __version__,
        "command": command,
        "options": options,
        "seed": options.get("seed"),
        "versions": manifests.versions(),
    }
