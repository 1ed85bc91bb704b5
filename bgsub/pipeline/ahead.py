"""Start what a run will need while the rest of the program is still being imported."""

from __future__ import annotations

from bgsub.options import RunOptions
from bgsub.runtime.beginning import ahead
from bgsub.runtime.cores import own_threads

HELPER_MODULES = ()
"""What helpers import before anything is wanted of them."""


def begin_ahead(options: RunOptions) -> None:
    """Start a process that helps with masks, where options let one help.

    It imports what it needs in the time that this process takes for the same. Whether the film is
    long enough for it is known later; if not, it is ended.
    """
    masks = options.mask_model == "local" and "mask" in options.outputs
    if masks and own_threads(options.threads, options.jobs) > 1:
        ahead.start(HELPER_MODULES)
