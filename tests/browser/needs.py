"""Find the browser and the driver that the tests of pages need, and say what is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def find_browser() -> str | None:
    """Return the program that BROWSER names, or a Chromium of the system; None if there is none."""
    named = os.environ.get("BROWSER")
    if named:
        return shutil.which(named)
    return next((found for found in map(shutil.which, BROWSERS) if found), None)


def missing() -> str:
    """Return in a line what to install; empty where all is there."""
    for module in ("playwright", "axe_playwright_python", "nbclient", "ipykernel", "pandas"):
        if importlib.util.find_spec(module) is None:
            return f"tests in a browser need {module}: pip install -e '.[test,browser]'"
    if find_browser() is None:
        return "tests in a browser need Chromium: apt-get install chromium, or BROWSER=/path/to/it"
    return ""
