"""Settings of the interpreter for a program that starts quickly and runs in several threads.

They are the program's own: a process that imports the library keeps what it has set.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

# A thread that comes back from a library waits this long for one that runs Python code, such as
# the drawing of a plot. With the usual 5 ms the pictures would stand still meanwhile: writing those
# of 250 frames of 1280×720 took 3.6 s and more instead of 2.4 s.
_SWITCH_S = 0.0001

# Importing and drawing make many objects and hardly any garbage: the usual 700 of them would be a
# reason to look for some hundreds of times, a tenth of all that importing takes.
_GARBAGE_OBJECTS = 50_000


def tune() -> None:
    """Set them; to be called before NumPy is imported."""
    # NumPy asks for large pages behind large arrays. Those of the frames of a run are written once,
    # and on virtual machines whose host has to find such pages that took five times as long.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    # Every command keeps its matrix products to one thread each, but OpenBLAS makes its threads
    # when it is imported, and they spin for a while before they sleep.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.setswitchinterval(_SWITCH_S)
    gc.set_threshold(_GARBAGE_OBJECTS)
    # The interpreter looks for garbage among all that was imported before it ends: over 0.1 s.
    atexit.register(gc.freeze)
