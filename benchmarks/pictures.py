"""Pictures of the README from the demo's results, and of its page in headless Chromium.

python -m benchmarks.pictures RESULTS OUT
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

from bgsub.video.frames import Bytes
from bgsub.video.images import write_image
from bgsub.video.source import open_source
from tests.browser.needs import FLAGS, find_browser, missing

FRAMES = (300, 545, 628)
FACTOR = 2


def picture(video: Path, frame: int) -> Bytes:
    """One frame of a video, counted from 1, enlarged."""
    source = open_source(video)
    chosen = next(itertools.islice(iter(source), frame - 1, None))
    image = source.layout.to_bgr(chosen.data)
    colored = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR) if image.ndim == 2 else image
    large = cv2.resize(colored, None, fx=FACTOR, fy=FACTOR, interpolation=cv2.INTER_CUBIC)
    return np.asarray(large, dtype=np.uint8)


def main(results: Path, out: Path) -> None:
    """Write water.png (a row a frame: input, background, foreground, mask) and water-errors.png."""
    videos = [Path("sample_videos/water.avi")]
    videos += [results / f"{name}.mp4" for name in ("background", "foreground", "mask")]
    rows = [np.hstack([picture(video, frame) for video in videos]) for frame in FRAMES]
    out.mkdir(exist_ok=True)
    write_image(out / "water.png", np.vstack(rows))
    shutil.copy(results / "errors.png", out / "water-errors.png")
    picture_page(results, out / "page.png")


def picture_page(results: Path, image: Path) -> None:
    """Make the page aside, open it at a frame and write what it looks like."""
    if missing():
        sys.exit(missing())
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "report.html"
        command = [sys.executable, "-m", "bgsub", "report", str(results), "-o", str(page)]
        subprocess.run(command, check=True)
        browser = driver.chromium.launch(executable_path=find_browser(), args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1280, "height": 1104})
        tab.goto(f"{page.as_uri()}#frame-560")
        tab.wait_for_timeout(2000)
        tab.evaluate("scrollTo(0, 0)")
        tab.screenshot(path=image)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
