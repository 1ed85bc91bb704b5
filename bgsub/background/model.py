"""Keep what a fit has learned of a scene, to be saved and applied to new footage."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bgsub.background.scene import Scene, pixels_inside
from bgsub.errors import InputError, UsageError, writing
from bgsub.outliers.frame_scorer import FrameScorer, scene_light
from bgsub.outliers.own_light import OwnLight
from bgsub.robustpca.spaces import Singles, combined, slices
from bgsub.rules import POSITIVE, Choice, Facts, Integer, ListOf, Nullable, Number
from bgsub.runtime.files import check_plain
from bgsub.runtime.threads import Workers
from bgsub.version import __version__
from bgsub.video.arrays import ArrayArchive
from bgsub.video.frames import Bytes, Layout, LayoutKind, Matrix

MODEL_VERSION = 3

# What an archive that is not one of ours can raise.
_FOREIGN = (
    *(ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError),
    UsageError,
)
_LONGEST_HEADER = 64 << 20
# A grey level of a film is 255 at most; a colour may follow a luma that hardly changes.
_LARGEST_LEVEL = 1e6
_UNIT = 1.01
_LEVEL = Number("a number of grey levels from 0 to 1e6", 0.0, 1e6)
_HEADER = Facts(
    {
        "model_version": Integer(1),
        "layout": Choice(get_args(LayoutKind)),
        "matrix": Choice(get_args(Matrix)),
        "height": Integer(1),
        "width": Integer(1),
        "threshold": _LEVEL,
        "error_location": Number("a number from 0 to 1e12", 0.0, 1e12),
        "error_scale": Number("a number from 0 to 1e12", 0.0, 1e12),
        "cutoff": Number("a number from -1e9 to 1e9", -1e9, 1e9),
        "geometry": Facts(
            {
                "input_size": ListOf(Integer(1), 2),
                "roi": Nullable(ListOf(Integer(0), 4)),
                "scale": POSITIVE,
            },
            frozenset({"input_size", "roi", "scale"}),
        ),
        "facts": Facts({}),
    }
)

_SAVED_VALUES = ("threshold", "error_location", "error_scale", "cutoff", "geometry", "facts")
_SAVED_ARRAYS = {  # what a file keeps of the fields, as JSON and as arrays of some kinds of numbers
    **dict.fromkeys(("center", "components", "noise"), "f"),
    "support": "b",
    "frame_numbers": "iu",
}


@dataclass(frozen=True, eq=False)
class BackgroundModel:
    """Centre, components and noise of a scene, in the layout of its frames.

    Attributes
    ----------
    layout : Layout
        Of the frames; its first h·w entries are the luma that was fitted.
    center : ndarray of shape (size,), float32
        m, in grey levels, luma first and then the colours.
    components : ndarray of shape (k, size), float32
        U: the luma part has orthonormal rows (over the pixels of the fit), the colours are what the
        same weights of the frames give there.
    noise : ndarray of shape (h·w,), float32
        Standard deviation of the luma residual in inlier frames, in grey levels.
    threshold : float
        Grey levels above which a residual is foreground.
    error_location, error_scale : float
        Of √r in inlier frames, in grey levels.
    cutoff : float
        Score above which a frame is an outlier.
    support : ndarray of shape (n,), bool
        The fitted frames among those that were read.
    frame_numbers : ndarray of shape (n,), int64
        Their numbers in the input, from 1.
    pixel_mask : ndarray of shape (h, w), bool, or None
        Pixels that took part in the fit.
    ignored : ndarray of shape (h, w), bool, or None
        Pixels that are never foreground.
    geometry : dict
        ``input_size``, ``roi``, ``scale`` of the footage that was fitted.
    facts : dict
        Plain JSON values: k, seed, method and the like.
    local : Scene or None
        What masks are made with; None where they are the paper's.
    scorer : FrameScorer or None
        What frames are scored with.
    """

    layout: Layout
    center: Singles
    components: Singles
    noise: Singles
    threshold: float
    error_location: float
    error_scale: float
    cutoff: float
    support: NDArray[np.bool_]
    frame_numbers: NDArray[np.int64]
    pixel_mask: NDArray[np.bool_] | None
    geometry: dict[str, Any]
    facts: dict[str, Any]
    local: Scene | None = None
    ignored: NDArray[np.bool_] | None = None
    scorer: FrameScorer | None = None

    def __repr__(self) -> str:
        layout, name = self.layout, self.facts.get("name", "?")
        size, k = f"{layout.width}x{layout.height} {layout.kind}", len(self.components)
        masks = "paper's" if self.local is None else "local"
        return f"<BackgroundModel of {name!r}: {size}, k={k}, {masks} masks>"

    @property
    def inside(self) -> NDArray[np.bool_] | None:
        """Pixels that can be foreground, shape (h, w); None for all."""
        return pixels_inside(self.pixel_mask, self.ignored)

    @property
    def n_pixels(self) -> int:
        """Pixels that took part in the fit."""
        return self.layout.pixels if self.pixel_mask is None else int(self.pixel_mask.sum())

    def light(self) -> OwnLight:
        """Return the scene at the size that frames are scored at."""
        layout = self.layout
        return scene_light(
            self.center[: layout.pixels],
            self.components[:, : layout.pixels],
            (layout.height, layout.width),
            self.inside,
        )

    def project(
        self, rows: Bytes, workers: Workers
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute scores and errors of frames, (m, size), by the paper's orthogonal projection.

        Over the pixels of the fit: y = Uᵀ(x − m), (m, k), and r = ‖x − m − Uy‖² in grey levels²,
        (m,). O(mkp) operations in float32, sums in float64 a tile at a time.
        """
        keep = None if self.pixel_mask is None else self.pixel_mask.ravel()
        parts = list(slices(self.layout.pixels))
        scores = np.zeros((len(rows), len(self.components)))
        errors = np.zeros(len(rows))

        own = self.components
        for part in workers.map(lambda at: self._centred(rows, at, keep) @ own[:, at].T, parts):
            scores += part
        short = scores.astype(np.float32)

        def error_of_tile(tile: slice) -> Singles:
            left = self._centred(rows, tile, keep) - combined(short, self.components[:, tile])
            if keep is not None:
                left *= keep[tile]
            return np.asarray(np.einsum("ij,ij->i", left, left))

        for part in workers.map(error_of_tile, parts):
            errors += part
        return scores, errors

    def _centred(self, rows: Bytes, tile: slice, keep: NDArray[np.bool_] | None) -> Singles:
        centred = np.subtract(rows[:, tile], self.center[tile], dtype=np.float32)
        if keep is not None:
            centred *= keep[tile]
        return centred

    def save(self, path: Path) -> None:
        """Write the model as an .npz file that loads without pickle.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        header = {
            "model_version": MODEL_VERSION,
            "bgsub_version": __version__,
            "layout": self.layout.kind,
            "height": self.layout.height,
            "width": self.layout.width,
            "matrix": self.layout.matrix,
            **{name: getattr(self, name) for name in _SAVED_VALUES},
        }
        arrays = {name: getattr(self, name) for name in _SAVED_ARRAYS}
        if self.pixel_mask is not None:
            arrays["pixel_mask"] = self.pixel_mask
        if self.ignored is not None and self.ignored.any():
            arrays["ignored"] = self.ignored
        if self.local is not None:
            arrays |= self.local.arrays()
        if self.scorer is not None:
            arrays |= self.scorer.arrays()
        with writing(path), path.open("wb") as file:
            np.savez(file, allow_pickle=False, bgsub_model=np.array(json.dumps(header)), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BackgroundModel:
        """Read a model that `save` wrote, or the model.npz of a folder of results.

        Raises
        ------
        InputError
            If the file is missing, damaged, or not a model of this version.
        """
        path = Path(path)
        path = path / "model.npz" if path.is_dir() else path
        check_plain(path)
        try:
            with ArrayArchive(path) as archive:
                if archive.header("bgsub_model").nbytes > _LONGEST_HEADER:
                    raise _not_a_model(path)
                return cls._of(json.loads(str(archive["bgsub_model"])), archive)
        except FileNotFoundError as error:
            message = f"{path}: there is no such model; `bgsub run` writes one as model.npz"
            raise InputError(message) from error
        except OSError as error:
            raise InputError(f"{path}: the model cannot be read ({error.strerror})") from error
        except _FOREIGN as error:
            raise _not_a_model(path) from error

    @classmethod
    def _of(cls, header: dict[str, Any], arrays: ArrayArchive) -> BackgroundModel:
        _HEADER.read("", header)
        if header["model_version"] != MODEL_VERSION:
            raise ValueError(header["model_version"])
        layout = Layout(header["layout"], header["height"], header["width"], header["matrix"])
        # Before they are read: what they say decides how much memory that takes.
        said = {name: arrays.header(name).shape for name in ("center", "components", "noise")}
        shapes = (said["center"], said["components"][1:], said["noise"])
        if shapes != ((layout.size,), (layout.size,), (layout.pixels,)):
            raise ValueError(shapes)
        saved: dict[str, Any] = {name: header[name] for name in _SAVED_VALUES}
        saved |= {name: _read(arrays, name, kinds) for name, kinds in _SAVED_ARRAYS.items()}
        model = cls(
            layout=layout,
            local=Scene.from_arrays(arrays),
            pixel_mask=_read(arrays, "pixel_mask", "b") if "pixel_mask" in arrays else None,
            ignored=_read(arrays, "ignored", "b") if "ignored" in arrays else None,
            **saved,
        )
        if model.local is not None and model.local.shape != (layout.height, layout.width):
            raise ValueError(model.local.shape)
        for mask in (model.pixel_mask, model.ignored, model.inside):
            if mask is not None and (mask.shape != (layout.height, layout.width) or not mask.any()):
                raise ValueError(mask.shape)
        _check_values(model)
        if "scorer_noise" in arrays:
            model = replace(model, scorer=FrameScorer.from_arrays(arrays, model.light()))
        return model


def _read(arrays: ArrayArchive, name: str, kinds: str) -> NDArray[Any]:
    """Read an array of one of some kinds of numbers; ValueError for another kind."""
    found: NDArray[Any] = arrays[name]
    if found.dtype.kind not in kinds:
        raise ValueError(f"{name} is {found.dtype}")
    return found.astype({"f": np.float32, "iu": np.int64, "b": np.bool_}[kinds], copy=False)


def _check_values(model: BackgroundModel) -> None:
    """Raise ValueError for numbers that no fit gives, and that would overflow in a run."""
    # Comparisons that NaN fails.
    for levels in (model.center, model.noise, model.components):
        if not (np.abs(levels) <= _LARGEST_LEVEL).all():
            raise ValueError(f"a value beyond {_LARGEST_LEVEL:g}")
    luma = model.components[:, : model.layout.pixels]
    inside = luma if model.pixel_mask is None else luma[:, model.pixel_mask.ravel()]
    if not (np.einsum("ij,ij->i", inside, inside, dtype=np.float64) <= _UNIT).all():
        raise ValueError("components that are not orthonormal")
    if (model.noise < 0).any():
        raise ValueError("a negative noise")
    support, numbers = model.support, model.frame_numbers
    if support.ndim != 1 or support.shape != numbers.shape or not support.any():
        raise ValueError(support.shape)
    if (np.diff(numbers, prepend=0) < 1).any():
        raise ValueError("frame numbers rise from 1")


def _not_a_model(path: Path) -> InputError:
    return InputError(
        f"{path}: is not a model of this version of bgsub, or is damaged; "
        "write a new one with `bgsub run --only model`"
    )
