"""Put the facts of a run into words and rows for its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgsub.declared import declaration, flag
from bgsub.options import DEFAULT_OUTPUTS, RunOptions
from bgsub.page.command import changed_options, output_words


def headline(manifest: Mapping[str, Any]) -> str:
    """Say in a sentence what was found.

    Examples
    --------
    >>> headline({"findings": ["2 of 9 frames stand out", "3 objects in 1 event"]})
    '2 of 9 frames stand out; 3 objects in 1 event.'
    """
    findings = [str(each) for each in manifest.get("findings") or []]
    text = "; ".join(findings) or "the run says of nothing that it was found"
    return f"{text[:1].upper()}{text[1:]}."


def cautions(manifest: Mapping[str, Any]) -> list[str]:
    """List what somebody should know before relying on the result."""
    names = ("warnings", "hints", "fit_warnings")
    notes = [str(each) for name in names for each in manifest.get(name) or []]
    return list(dict.fromkeys(notes))


def option_rows(manifest: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """List the options that were given: name, value, what it does."""
    options = RunOptions.from_json({**manifest["options"], "temp": None})
    changed = changed_options(options.source) + changed_options(options)
    rows = [
        (flag(one), _text(value), declaration(one).help)
        for one, value in changed
        if one.name != "outputs"
    ]
    if options.outputs != DEFAULT_OUTPUTS:
        words = output_words(options.outputs)
        named = words[0] == "--only"
        rows.append(("--only" if named else " ".join(words), words[1] if named else "", ""))
    return rows


def fact_rows(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List what the run was made of and what it learned."""
    source, memory = manifest["input"], manifest.get("memory") or {}
    width, height = manifest.get("frame_size") or (source.get("width"), source.get("height"))
    rows = [
        ("Input", source.get("absolute_path") or source["name"]),
        ("Size of the input", f"{source.get('width')} × {source.get('height')} pixels"),
        ("Size that was worked on", f"{width} × {height} pixels"),
        ("Frames a second", source.get("rate")),
        ("Codec", source.get("codec")),
        ("SHA-256 of the input", source.get("sha256")),
        ("Frames used", manifest["frames"]["used"]),
        ("Frames that could not be decoded", manifest["frames"].get("bad")),
        ("Doubtful frames", manifest["frames"].get("doubtful")),
        ("Damage to single pictures", source.get("unseen_damage")),
        ("Components of the background", manifest.get("components")),
        ("The fit converged", _yes(manifest.get("converged"))),
        ("Cut-off of the score", _text(manifest.get("cutoff"))),
        ("Masks by", manifest.get("mask_model")),
        ("Frames were kept in", memory.get("frames_kept")),
        ("Peak memory", _megabytes(manifest.get("peak_memory_bytes"))),
        ("Folder of the run", manifest.get("directory")),
    ]
    return [(name, str(value)) for name, value in rows if value not in {None, ""}]


def _yes(value: Any) -> str | None:
    return None if value is None else "yes" if value else "no"


def _megabytes(size: Any) -> str | None:
    return None if not size else f"{size / 1e6:.0f} MB"


def _text(value: Any) -> str:
    if isinstance(value, (tuple, frozenset, list)):
        items = sorted(value) if isinstance(value, frozenset) else value
        return ", ".join(_text(each) for each in items)
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
