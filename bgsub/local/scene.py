"""Represent the background of one state of a scene."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.decisions import Region
from bgsub.local.palette import Palette
from bgsub.video.frames import Bytes


@dataclass(frozen=True, eq=False)
class Scene:
    """Background of one state of a scene.

    Attributes
    ----------
    colors : ndarray of uint8, shape (K, h, w, 3)
        The layers that are background; where there are fewer, the first one again.
    restless : ndarray of uint8, shape (h, w)
        0 where the background is still, 255 where it changes all the time.
    sigma : float
        Noise of the scene, grey levels.
    notes : list of str
        What was decided, in words.
    band : ndarray of uint8, shape (2, h, w, 3), or None
        Lowest and highest levels where the background is turbulent, see `turbulence`; the first
        layer elsewhere. None where it is calm everywhere.
    regions : tuple of Region
        Places with two lasting states, and which of them was taken for the background.
    palette : Palette or None
        Colours of the turbulent places, if there are any.
    noise : ndarray of uint8, shape (h, w), or None
        Median of the evidence at rest, in eighths of a grey level, see `noise`; None in models of
        earlier versions.
    contrast : float
        Evidence that what moves usually has, in grey levels; 0 where nothing does.
    grain : float
        Noise of single pixels in grey levels, for tests of texture; 0 is `sigma`.
    darkest : float
        Share of the light that shadows leave, at least; 0 is
        `LocalParams.shadow_darkest`.
    grain_shares : ndarray of float32, shape (16,), or None
        Share of the grain that pixels of 0 to 15, 16 to 31, … grey levels have, see `noise`; None
        is all of it everywhere.
    shade : float
        Share of what is marked that is soft shade, see `shade`.
    weak_inside : float
        Share of the pixels inside of objects that are weak beside the rest, see `traits`.
    halo : float
        Noise beside what moves, as a multiple of that of the places, see `noise`; 0 is not known.
    shared : float
        Part of the grain that the pixels of a window share, in grey levels, see `grain`; 0 is all
        of it.
    """

    colors: Bytes
    restless: Bytes
    sigma: float
    notes: list[str]
    band: Bytes | None = None
    regions: tuple[Region, ...] = ()
    palette: Palette | None = None
    noise: Bytes | None = None
    contrast: float = 0.0
    grain: float = 0.0
    darkest: float = 0.0
    grain_shares: Singles | None = None
    shade: float = 0.0
    weak_inside: float = 1.0
    halo: float = 0.0
    shared: float = 0.0

    @property
    def grain_by_level(self) -> Singles:
        """Noise of single pixels by their luma, in grey levels, shape (256,)."""
        grain = np.full(256, self.grain or self.sigma, np.float32)
        if self.grain_shares is not None:
            bins = self.grain_shares.size
            middles = (np.arange(bins) + 0.5) * (grain.size / bins)
            grain *= np.interp(np.arange(grain.size), middles, self.grain_shares)
        return grain

    @property
    def noise_by_level(self) -> Singles:
        """Grain by luma, and the part of it that pixels share, in grey levels, (2, 256)."""
        grain = self.grain_by_level
        part = self.shared / self.grain if self.shared and self.grain else 1
        return np.stack([grain, np.float32(part) * grain])

    def at_rows(self, rows: NDArray[np.int64]) -> Scene:
        """Give the scene that consists of these rows of its own, in their order."""
        return replace(
            self,
            colors=self.colors[:, rows],
            restless=self.restless[rows],
            band=None if self.band is None else self.band[:, rows],
            palette=None if self.palette is None else self.palette.at_rows(rows),
            noise=None if self.noise is None else self.noise[rows],
        )
