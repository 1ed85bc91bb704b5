"""Describe a stretch of a longer film that is run by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stretch:
    """What a run takes over from the film that its frames are a stretch of.

    Attributes
    ----------
    identity : dict
        What `bgsub.pipeline.manifest.input_identity` gives for the film, which is not read again.
    """

    identity: dict[str, Any]
