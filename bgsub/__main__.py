"""Run ``bgsub`` as ``python -m bgsub``."""

from __future__ import annotations

from bgsub.cli import main

if __name__ == "__main__":
    main()
