"""The public names of the package, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import bgsub

PUBLIC = {
    "TRPCA",
    "BackgroundModel",
    "BgsubError",
    "ErrorTable",
    "Event",
    "FrameSource",
    "RunOptions",
    "RunResult",
    "SourceOptions",
    "__version__",
    "apply",
    "find_events",
    "fit_errors",
    "model_errors",
    "open_source",
    "run",
}


def test_public_names_are_these_and_all_exist() -> None:
    assert set(bgsub.__all__) == PUBLIC
    assert all(getattr(bgsub, name) is not None for name in PUBLIC)
    assert set(dir(bgsub)) == PUBLIC


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(bgsub, "subtract_everything")


def test_importing_the_package_imports_no_heavy_library() -> None:
    heavy = "('numpy', 'cv2', 'av', 'scipy')"
    code = f"import bgsub, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
