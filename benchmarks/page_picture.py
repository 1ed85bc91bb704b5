"""Take a picture of the page of some results in headless Chromium, for the README.

python -m benchmarks.page_picture results images
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.browser.needs import FLAGS, find_browser, missing


def main() -> None:
    """Make the page aside, open it at a frame and write page.png."""
    if missing():
        sys.exit(missing())
    from playwright.sync_api import sync_playwright

    results, images = map(Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "report.html"
        command = [sys.executable, "-m", "bgsub", "report", str(results), "-o", str(page)]
        subprocess.run(command, check=True)
        browser = driver.chromium.launch(executable_path=find_browser(), args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1280, "height": 1104})
        tab.goto(f"{page.as_uri()}#frame-560")
        tab.wait_for_timeout(2000)
        tab.evaluate("scrollTo(0, 0)")
        tab.screenshot(path=images / "page.png")
        browser.close()


if __name__ == "__main__":
    main()
