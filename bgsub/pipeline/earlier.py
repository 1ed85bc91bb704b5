"""Know what an earlier run wrote into a folder: nothing else may ever be replaced there."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from bgsub.errors import InputError, OutputError
from bgsub.runtime.files import check_plain

MANIFEST = "run.json"

Facts = dict[str, int | str]
"""Of an output: ``bytes``, ``sha256`` and, of a folder, the number of its ``pictures``."""

_OURS = re.compile(
    r"(background|foreground|mask|preview|overlay|scores)(\.mp4|\.mkv|\.zarr)?|input\.mp4|report\.html"
    r"|(errors|spectrum)\.(png|svg)|background\.png"
    r"|clip[0-9]{4,}_[0-9.-]+\.mp4|clips\.csv"
    r"|(objects|tracks|regions|events|activity)\.csv|events\.json|heatmap\.(png|npy)"
    r"|(errors|frame_errors|compare|synthetic|digits|times)\.csv"
    r"|(decomposition|synthetic|digits|times|frames-own|frames-common)\.png"
    r"|(errors-(whole|part)\.png|frame_errors-(whole|part)\.csv)"
    r"|model\.npz|models"
)

_PICTURE = re.compile(r"([0-9]+)\.(png|npz)")

_CHUNK = re.compile(r"\.zarray|\.zattrs|[0-9]+(\.0){2,3}")

_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_output_name(name: str) -> bool:
    """Say whether a command of bgsub writes a file or a folder of pictures of that name.

    A run.json names what a run with --force may remove. Anybody may have put it there, so that
    nothing but these names counts; a command that writes another one has to add it here.

    Examples
    --------
    >>> is_output_name("mask.mkv"), is_output_name("thesis.txt"), is_output_name("../mask")
    (True, False, False)
    """
    return _OURS.fullmatch(name) is not None


def earlier_outputs(path: Path) -> dict[str, Facts]:
    """Read what the manifest in a folder says that an earlier run wrote.

    Raises
    ------
    OutputError
        If that file is not one of ours.
    """
    try:
        check_plain(path / MANIFEST)
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (InputError, OSError, ValueError, RecursionError) as error:
        raise _foreign_manifest(path) from error
    outputs = manifest.get("outputs") if isinstance(manifest, dict) else None
    if not isinstance(outputs, dict) or "bgsub_version" not in manifest:
        raise _foreign_manifest(path)
    if not all(_is_output(name, facts) for name, facts in outputs.items()):
        raise _foreign_manifest(path)
    return outputs


def _is_output(name: str, facts: Any) -> bool:
    """Say whether an entry of a manifest is one that a run writes."""
    if not is_output_name(name) or not isinstance(facts, dict):
        return False
    digest = facts.get("sha256")
    numbers = [facts.get("bytes"), facts.get("pictures", 0)]
    is_digest = isinstance(digest, str) and _SHA256.fullmatch(digest) is not None
    return is_digest and all(type(number) is int for number in numbers)


def _foreign_manifest(path: Path) -> OutputError:
    return OutputError(
        f"{path / MANIFEST}: was not written by this version of bgsub; move it away or choose "
        "another --out"
    )


def describe(path: Path) -> Facts:
    """Give size and SHA-256 of an output; of a folder, of the names and digests of its pictures."""
    if not path.is_dir():
        digest, size = _digest(path)
        return {"bytes": size, "sha256": digest.hex()}
    pictures = sorted(path.iterdir())
    found = hashlib.sha256()
    total = 0
    for picture in pictures:
        digest, size = _digest(picture)
        found.update(picture.name.encode("utf-8", "surrogateescape") + digest)
        total += size
    return {"pictures": len(pictures), "bytes": total, "sha256": found.hexdigest()}


def _digest(path: Path) -> tuple[bytes, int]:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest(), path.stat().st_size


def check_unchanged(path: Path, facts: Facts) -> None:
    """Raise OutputError unless a path still holds what the manifest says that bgsub wrote."""
    foreign = path
    if "pictures" not in facts:
        is_same_kind = path.is_file() and not path.is_symlink()
        if is_same_kind and path.stat().st_size == facts["bytes"] and describe(path) == facts:
            return
    elif path.is_dir() and not path.is_symlink():
        strange = [p for p in sorted(path.iterdir()) if not _is_picture(p, int(facts["pictures"]))]
        if not strange and describe(path) == facts:
            return
        foreign = strange[0] if strange else path
    message = (
        f"{foreign}: is not what bgsub wrote there (it was changed or added since); "
        "move it away or choose another folder with --out"
    )
    raise OutputError(message)


def _is_picture(path: Path, pictures: int) -> bool:
    """Say whether a file is one of so many pictures or models in a folder, or of a Zarr array."""
    if path.parent.suffix == ".zarr":
        return bool(_CHUNK.fullmatch(path.name)) and path.is_file() and not path.is_symlink()
    match = _PICTURE.fullmatch(path.name)
    number = int(match[1]) if match and len(match[1]) < 20 else 0
    names = {f"{number:06d}.png", f"{number:04d}.npz"}
    is_named = 1 <= number <= pictures and path.name in names
    return is_named and path.is_file() and not path.is_symlink()
