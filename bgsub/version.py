"""Name the version of bgsub, which pyproject.toml reads from here, and its extras."""

from __future__ import annotations

import re

__version__ = "0.1.0"


def how_to_install(extra: str) -> str:
    """Return a command that installs what an extra needs, wherever bgsub itself came from."""
    from importlib import metadata

    try:
        needed = metadata.requires("bgsub") or []
    except metadata.PackageNotFoundError:  # runs from its source
        return f"`pip install '.[{extra}]'` in the folder of its source"
    names = [
        re.split(r"[^\w.-]", one)[0]
        for one in needed
        if re.search(rf"extra == [\"']{extra}[\"']", one)
    ]
    return f"`pip install {' '.join(names)}`"
