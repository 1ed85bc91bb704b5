"""Prepare photographs and silhouettes of the distribution's packages for made films."""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

_PHOTO, _SHAPE = 1280, 200
"""Longest sides in pixels."""

_DRAWN = {"GreenTraditional.jpg", "analogpattern_by_Peter_Nerlich.jpg"}
_DRAWN |= {"Painting-Colors_by__herobrine7gamer.jpg", "Elephants.jpg"}
_DRAWN |= {"Elephants_3840x2160.jpg", "Elephants_5640x3172.jpg"}
"""What is no photograph."""

_KINDS = (
    *("people/", "animals/", "transportation/vehicles", "transportation/boating"),
    *("recreation/sports", "recreation/toys", "buildings/furniture", "transportation/aiga-symbols"),
    *("plants/trees", "food/fruit", "tools/", "education/books"),
)
"""Folders of clip art that hold whole things."""


def _reduced(image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    factor = side / max(image.shape[:2])
    if factor >= 1:
        return image
    way = cv2.INTER_AREA
    return np.asarray(cv2.resize(image, None, fx=factor, fy=factor, interpolation=way), np.uint8)


def _outline(image: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    """Return a piece of clip art cut to its outline; None where it is not one solid thing."""
    if image.ndim < 3 or image.shape[2] < 4 or np.count_nonzero(image[..., 3] > 127) < 400:
        return None
    ys, xs = np.nonzero(image[..., 3] > 127)
    image = image[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1]
    solid = (image[..., 3] > 127).astype(np.uint8)
    stats = cv2.connectedComponentsWithStats(solid)[2]
    largest = stats[1:, cv2.CC_STAT_AREA].max() / solid.sum()
    fits = 0.15 < solid.mean() < 0.85 and largest >= 0.9 and min(image.shape[:2]) >= 24
    return image if fits else None


def main() -> None:
    """Read a folder into which packages were unpacked, and write photos/ and shapes/."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", type=Path, help="folder with usr/share of the packages")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    photos, shapes = arguments.out / "photos", arguments.out / "shapes"
    photos.mkdir(parents=True, exist_ok=True)
    shapes.mkdir(exist_ok=True)
    for file in sorted(arguments.packages.rglob("*.jpg")):
        photo = None if file.name in _DRAWN or file.is_symlink() else cv2.imread(str(file), 1)
        if photo is not None:
            cv2.imwrite(str(photos / file.name), _reduced(photo, _PHOTO), [1, 90])
    art = next(folder for folder in arguments.packages.rglob("openclipart/png") if folder.is_dir())
    for file in sorted(art.rglob("*.png")):
        name = str(file.relative_to(art))
        if not name.startswith(_KINDS) or "smilies" in name or "bodypart" in name:
            continue
        image = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        shape = None if image is None else _outline(np.asarray(image, np.uint8))
        if shape is not None:
            cv2.imwrite(str(shapes / name.replace("/", "_")), _reduced(shape, _SHAPE))


if __name__ == "__main__":
    main()
