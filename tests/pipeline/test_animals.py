"""Dark animals on a light floor: the laboratory's film, and what a run says of what it left out."""

import cv2
import numpy as np
import pytest

from bgsub.pipeline.run import masks, run

FRAMES = 8


def film(height, width, floor, drifts):
    """Three black ovals on a floor, the last of which rests for half of the film, and where."""
    rng = np.random.default_rng(0)
    ground = np.full((height, width, 3), 170.0)
    if floor == "bedding":
        spots = cv2.GaussianBlur(rng.normal(0, 60, (height, width)), (0, 0), width / 213)
        ground += spots[..., None]
    long, short = width // 40, width // 80
    frames = np.empty((FRAMES, height, width, 3), np.uint8)
    places = np.empty((FRAMES, 3, 2))
    for i in range(FRAMES):
        frame = ground.copy()
        for animal in range(3):
            time = i / FRAMES * 6
            if animal == 2:
                time = min(time, 1.5) + max(time - 4.5, 0)
            x = width * (0.2 + 0.3 * animal + 0.09 * np.sin(2 * time + animal))
            y = height * (0.5 + 0.35 * np.sin(1.7 * time + 2 * animal))
            places[i, animal] = x, y
            oval = ((x, y), (2 * long, 2 * short), float(np.degrees(time)))
            cv2.ellipse(frame, oval, (30, 30, 30), -1)
        if drifts:
            frame *= 1 + 0.15 * np.sin(i / FRAMES * 4)
        frames[i] = np.clip(frame + rng.normal(0, 2, frame.shape), 0, 255)
    return frames, places.round().astype(int)


@pytest.mark.parametrize(
    ("size", "floor", "drifts"), [((240, 320), "plain", True), ((480, 640), "bedding", True)]
)
def test_all_animals_are_found_and_little_else(size, floor, drifts, options):
    frames, places = film(*size, floor, drifts)
    found, marked = [], []
    for (_, mask), spots in zip(masks(frames, options()), places, strict=True):
        found.append([mask[y, x] > 0 for x, y in spots])
        marked.append(np.count_nonzero(mask))
    assert np.mean(found, axis=0).min() >= 0.99
    assert np.median(marked) < 2.5 * 3 * np.pi * (size[1] // 40) * (size[1] // 80)


def test_faint_ripples_of_a_clean_film_are_no_animals(options):
    # Soft spots of three levels, where noise is half of one; an animal of eight, with edges.
    rng = np.random.default_rng(0)
    floor = 150 + cv2.GaussianBlur(rng.normal(0, 40, (120, 160)), (0, 0), 3)
    frames = floor + rng.normal(0, 0.5, (30, 120, 160))
    y, x = np.mgrid[:120, :160]
    lefts = range(20, 140, 4)
    for i, left in enumerate(lefts):
        frames[i] += 3 * np.exp(-(np.square(x - left) + np.square(y - 30)) / 18)
        frames[i, 90:98, left : left + 16] -= 8
    film = np.clip(np.rint(frames), 0, 255).astype(np.uint8)
    found = np.stack([mask > 0 for _, mask in masks(film, options())])
    assert not found[:, :60].any()
    assert all(one[94, left + 8] for one, left in zip(found, lefts, strict=True))


def test_what_is_left_out_is_said_with_the_option_that_keeps_it(tmp_path, options):
    frames = film(90, 120, "plain", drifts=False)[0][::2]
    few = run(frames, tmp_path / "few", options(outputs={"mask"}, min_area=420))
    (hint,) = (hint for hint in few.hints if "mask" in hint)
    assert "as too small" in hint
    assert "--min-area 1 marks them" in hint
    all_ = run(frames, tmp_path / "all", options(outputs={"mask"}, min_area=1))
    assert not any("mask" in hint for hint in all_.hints)
