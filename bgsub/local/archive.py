"""States of a scene as arrays by name, to be kept in model.npz, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.local.noise import NOISE_BINS
from bgsub.local.palette import Palette
from bgsub.local.scene import Scene

_MOST_NOISE = 255.0  # grey levels
_NO_TRAITS = (0.0, 0.0, 1.0, 0.0, 0.0)
"""Depth of shadows, shade, weak pixels inside of objects, halos and shared noise if unknown."""


def arrays_of(scenes: list[Scene]) -> dict[str, NDArray[Any]]:
    """Give the scenes as arrays by name."""
    found: dict[str, NDArray[Any]] = {}
    for i, scene in enumerate(scenes):
        found[f"local_colors_{i}"] = scene.colors
        found[f"local_restless_{i}"] = scene.restless
        found[f"local_sigma_{i}"] = np.array(scene.sigma)
        if scene.noise is not None:
            found[f"local_noise_{i}"] = scene.noise
            traits = (scene.darkest, scene.shade, scene.weak_inside, scene.halo, scene.shared)
            found[f"local_contrast_{i}"] = np.array([scene.contrast, scene.grain, *traits])
        if scene.grain_shares is not None:
            found[f"local_grain_shares_{i}"] = scene.grain_shares
        if scene.band is not None:
            found[f"local_band_{i}"] = scene.band
        if scene.palette is not None:
            found[f"local_cells_{i}"] = scene.palette.cells
            found[f"local_distances_{i}"] = scene.palette.distances
    return found


def scenes_in(arrays: Mapping[str, NDArray[Any]], count: int) -> list[Scene]:
    """Give the scenes whose `arrays_of` these are.

    Raises
    ------
    KeyError, ValueError
        If they are not those of so many scenes of one size.
    """
    scenes: list[Scene] = []
    for i in range(count):
        colors, restless = arrays[f"local_colors_{i}"], arrays[f"local_restless_{i}"]
        sigma = float(arrays[f"local_sigma_{i}"])
        band = arrays.get(f"local_band_{i}")
        fits = colors.shape[1:] == (*restless.shape, 3) and restless.ndim == 2
        if not fits or colors.dtype != np.uint8 or restless.dtype != np.uint8:
            raise ValueError(colors.shape)
        if not len(colors) or not 1 <= sigma <= _MOST_NOISE:
            raise ValueError(sigma)
        if scenes and restless.shape != scenes[0].restless.shape:
            raise ValueError(restless.shape)
        if band is not None and (band.dtype != np.uint8 or band.shape != (2, *colors.shape[1:])):
            raise ValueError(band.shape)
        palette = Palette.from_arrays(
            arrays.get(f"local_cells_{i}"), arrays.get(f"local_distances_{i}"), restless.shape
        )
        noise, contrast, grain = arrays.get(f"local_noise_{i}"), 0.0, 0.0
        traits: tuple[float, ...] = _NO_TRAITS
        if noise is not None:
            contrast, grain, *rest = (float(one) for one in arrays[f"local_contrast_{i}"])
            traits = (*rest, *_NO_TRAITS[len(rest) :])  # earlier versions have none or fewer
            if noise.dtype != np.uint8 or noise.shape != restless.shape or not noise.all():
                raise ValueError(noise.shape)
        shares = arrays.get(f"local_grain_shares_{i}")  # models of earlier versions have none
        if shares is not None:
            if shares.dtype != np.float32 or shares.shape != (NOISE_BINS,):
                raise ValueError(shares.shape)
            if not ((shares >= 0) & (shares <= 1)).all():
                raise ValueError(shares)
        scenes.append(
            Scene(
                colors,
                restless,
                sigma,
                [],
                band,
                palette=palette,
                noise=noise,
                contrast=contrast,
                grain=grain,
                darkest=traits[0],
                grain_shares=shares,
                shade=traits[1],
                weak_inside=traits[2],
                halo=traits[3],
                shared=traits[4],
            )
        )
    return scenes
