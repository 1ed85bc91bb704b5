"""Subtract backgrounds in a program of one's own: fit to frames, then apply to each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Self, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, UsageError, cannot_write
from bgsub.local.cleanup import SCORE_LEVEL
from bgsub.local.model import LocalModel
from bgsub.local.params import SENSITIVITIES, MaskOptions, Sensitivity, Shadows
from bgsub.local.sampling import sample_size
from bgsub.rules import Choice
from bgsub.runtime.threads import Workers
from bgsub.video.arrays import ArrayArchive, ArrayFileError
from bgsub.video.frames import Bytes
from bgsub.wording import is_or_are, plural

_MARK = "bgsub_subtractor"


class Subtractor:
    """Learn the background of a scene from frames, and give the mask of any frame of it.

    Like OpenCV's subtractors, but for the fit: it looks at frames of the whole film first, and
    `apply` changes nothing that was learned. The masks are those of ``bgsub run`` for a single
    frame: a run also looks at the frames before and after it, follows small things that move, and
    leaves out blobs that are there for a moment.

    Parameters
    ----------
    sensitivity : {"low", "normal", "high"}
        Low marks less that is no object, high misses less of an object.
    shadows : {"drop", "keep"}
        Whether cast shadows are left out of the mask.
    min_area : int, optional
        Smallest blob of a mask in pixels; None is chosen from the size of the frames.
    fill_holes : bool
    random_state : int
    threads : int, optional
        For the fit; None is all cores.

    Raises
    ------
    UsageError
        For another sensitivity, or another word for shadows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> frames = rng.normal(100, 2, (40, 48, 64)).astype(np.uint8)
    >>> frames[30:, 10:30, 20:40] = 200
    >>> mask = Subtractor().fit(frames[:30]).apply(frames[38])
    >>> bool(mask[20, 30]), bool(mask[40, 10])
    (True, False)
    """

    def __init__(
        self,
        *,
        sensitivity: Sensitivity = "normal",
        shadows: Shadows = "drop",
        min_area: int | None = None,
        fill_holes: bool = True,
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        Choice(tuple(SENSITIVITIES)).read("sensitivity", sensitivity)
        Choice(get_args(Shadows)).read("shadows", shadows)
        self._options = MaskOptions(shadows, sensitivity, min_area, fill_holes)
        self._seed, self._threads = random_state, threads
        self._model: LocalModel | None = None
        self._is_grey = False

    def __repr__(self) -> str:
        """Say what it was fitted to."""
        if self._model is None:
            return "Subtractor(not fitted)"
        height, width = self._model.shape
        return f"Subtractor({width}×{height}, {'grey' if self._is_grey else 'colour'})"

    def fit(self, frames: NDArray[np.uint8] | Iterable[NDArray[np.uint8]]) -> Self:
        """Learn the background.

        Parameters
        ----------
        frames : array of shape (n, h, w) or (n, h, w, 3), or an iterable of such frames, uint8
            Grey, or blue, green and red, in order of time and spread over what will be seen; two at
            least. Of many, some 75 to 150 are kept, evenly spread.

        Returns
        -------
        Subtractor
            Itself.

        Raises
        ------
        UsageError
            If there are fewer than two, or they differ in size or are no pictures.
        """
        kept = _thinned(frames)
        if len(kept) < 2:
            given = f"{plural(len(kept), 'frame')} {is_or_are(len(kept))} given"
            raise UsageError(f"{given}, but a background takes 2; give more")
        pictures = np.stack(kept)
        self._is_grey = pictures.ndim == 3
        with Workers(self._threads) as workers:
            model = LocalModel.fit(pictures, workers=workers, seed=self._seed)
        self._model = model.with_options(self._options)
        return self

    def apply(self, frame: NDArray[np.uint8]) -> Bytes:
        """Give the mask of a frame.

        Parameters
        ----------
        frame : ndarray of shape (h, w) or (h, w, 3), uint8

        Returns
        -------
        ndarray of shape (h, w), uint8
            0 or 255.

        Raises
        ------
        UsageError
            If nothing is fitted yet, or the frame has another size than those that were.
        """
        return self._fitted().mask(self._checked(frame))

    def scores(self, frame: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Give how far each pixel is from the background.

        Parameters
        ----------
        frame : ndarray of shape (h, w) or (h, w, 3), uint8

        Returns
        -------
        ndarray of float32, shape (h, w)
            In thresholds: a mask begins at 1, before shadows and specks are left out of it.

        Raises
        ------
        UsageError
            As for `apply`.
        """
        hundredths = self._fitted().scores(self._checked(frame))
        return np.divide(hundredths, SCORE_LEVEL, dtype=np.float32)

    def background(self, frame: NDArray[np.uint8] | None = None) -> Bytes:
        """Give the empty scene, as a picture of the kind that was fitted.

        Parameters
        ----------
        frame : ndarray of uint8, optional
            Where the scene has several states (lights on, lights off), the one that this frame
            shows; None is the one that most frames show.

        Returns
        -------
        ndarray of shape (h, w) or (h, w, 3), uint8
        """
        model = self._fitted()
        if frame is None:
            shown = np.array(model.scenes[0].colors[0], dtype=np.uint8)
        else:
            shown = model.background(self._checked(frame))
        return np.ascontiguousarray(shown[..., 0]) if self._is_grey else shown

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned to an .npz file, which loads without pickle.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        facts = {"options": asdict(self._options), "grey": self._is_grey, "version": 1}
        arrays = {_MARK: np.array(json.dumps(facts)), **self._fitted().arrays()}
        try:
            with Path(path).open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)
        except OSError as error:
            raise cannot_write(path, error) from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Subtractor:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Subtractor

        Raises
        ------
        InputError
            If it cannot be read, or is something else.
        """
        try:
            with ArrayArchive(Path(path)) as arrays:
                facts = json.loads(str(arrays[_MARK]))
                subtractor = cls()
                subtractor._options = MaskOptions(**facts["options"])
                subtractor._is_grey = bool(facts["grey"])
                subtractor._model = LocalModel.from_arrays(arrays, subtractor._options)
        except OSError as error:
            message = f"{path}: cannot be read ({error.strerror or error})"
            raise InputError(message) from error
        except (KeyError, ValueError, TypeError, ArrayFileError, cv2.error) as error:
            message = f"{path}: is not a file that Subtractor.save wrote"
            raise InputError(message) from error
        return subtractor

    def _fitted(self) -> LocalModel:
        if self._model is None:
            raise UsageError("nothing is learned yet; call fit first")
        return self._model

    def _checked(self, frame: NDArray[np.uint8]) -> Bytes:
        height, width = self._fitted().shape
        picture = _picture(frame)
        if picture.shape[:2] != (height, width):
            size = f"{picture.shape[1]}×{picture.shape[0]}"
            raise UsageError(f"a frame of {size} is given, but {width}×{height} were fitted")
        return picture


def _picture(frame: NDArray[np.uint8]) -> Bytes:
    picture = np.asarray(frame)
    is_picture = picture.ndim == 2 or (picture.ndim == 3 and picture.shape[2] == 3)
    if picture.dtype != np.uint8 or not is_picture or 0 in picture.shape:
        shape = "×".join(map(str, picture.shape))
        message = (
            f"a frame is {picture.dtype} of shape {shape}; it must be uint8, (h, w) or (h, w, 3)"
        )
        raise UsageError(message)
    return np.ascontiguousarray(picture)


def _thinned(frames: Iterable[NDArray[np.uint8]]) -> list[Bytes]:
    """Keep frames that are spread evenly, fewer than twice as many as a model is fitted to."""
    kept: list[Bytes] = []
    every = 1
    for index, frame in enumerate(frames):
        picture = _picture(frame)
        if kept and picture.shape != kept[0].shape:
            raise UsageError(f"frame {index + 1} has another size than the first, or is grey")
        if index % every:
            continue
        kept.append(picture.copy())
        if len(kept) >= 2 * sample_size(*picture.shape[:2]):
            kept, every = kept[::2], 2 * every
    most = sample_size(*kept[0].shape[:2]) if kept else 0
    if len(kept) <= most:
        return kept
    chosen = np.linspace(0, len(kept) - 1, most).round().astype(int)
    return [kept[i] for i in chosen.tolist()]
