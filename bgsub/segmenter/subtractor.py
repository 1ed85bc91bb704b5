"""Subtract backgrounds in a program of one's own, frame by frame."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Self, cast, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.sample import MOST_FRAMES, Sample
from bgsub.background.scene import Scene
from bgsub.errors import InputError, UsageError, is_or_are, plural, writing
from bgsub.rules import Choice
from bgsub.runtime.threads import Workers
from bgsub.segmenter.masks import SCALE, THRESHOLDS, MaskModel
from bgsub.segmenter.network import Answer
from bgsub.segmenter.protocol import FrameView, MaskOptions, Sensitivity, Shadows
from bgsub.video.arrays import ArrayArchive, ArrayFileError
from bgsub.video.frames import Bytes, in_grey

_MARK = "bgsub_subtractor"
_SHADOW = 127  # value of cast shadows, as in OpenCV's subtractors


class Subtractor:
    """Subtract the background of a fixed camera's frames.

    A drop-in for OpenCV's subtractors: `apply` takes frames one by one, works from the first one,
    and learns as it goes. Where the video is at hand, `fit` learns all of it first, and `apply`
    then changes nothing that was learned unless it is asked to.

    Parameters
    ----------
    sensitivity : {"low", "normal", "high"}
        Low marks less that is no object, high misses less of an object.
    shadows : {"drop", "keep"}
        Whether cast shadows are left out of the mask.
    min_area : int, optional
        Smallest object in pixels; None is chosen from the size of the frames.
    fill_holes : bool
        Fill small holes of objects.
    detect_shadows : bool
        Mark cast shadows with 127 instead of leaving them out.
    history : int
        Frames that are remembered, thinned to 100 of them.
    threads : int, optional
        For learning; None is all cores.

    Raises
    ------
    UsageError
        For another sensitivity, or another word for shadows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> frames = rng.normal(100, 2, (40, 24, 32)).astype(np.uint8)
    >>> frames[30:, 5:15, 10:20] = 200
    >>> mask = Subtractor().fit(frames[:30]).apply(frames[38])
    >>> bool(mask[10, 15]), bool(mask[20, 5])
    (True, False)
    """

    def __init__(
        self,
        *,
        sensitivity: Sensitivity = "normal",
        shadows: Shadows = "drop",
        min_area: int | None = None,
        fill_holes: bool = True,
        detect_shadows: bool = False,
        history: int = 500,
        threads: int | None = None,
    ) -> None:
        Choice(tuple(THRESHOLDS)).read("sensitivity", sensitivity)
        Choice(get_args(Shadows)).read("shadows", shadows)
        self._options = MaskOptions(shadows, sensitivity, min_area, fill_holes)
        self._detects_shadows = detect_shadows
        self._history, self._threads = max(2, history), threads
        self._is_grey = self._is_fitted = False
        self._begin()

    def _begin(self) -> None:
        self._model: MaskModel | None = None
        self._before: FrameView | None = None
        self._earlier: Answer | None = None
        self._shape: tuple[int, ...] | None = None
        self._seen = 0
        self._kept: list[tuple[int, Bytes]] = []
        self._due = 2

    def __repr__(self) -> str:
        """Return what it was fitted to."""
        if self._shape is None:
            return "Subtractor(not fitted)"
        height, width = self._shape[:2]
        return f"Subtractor({width}×{height}, {'grey' if self._is_grey else 'colour'})"

    def fit(self, frames: NDArray[np.uint8] | Iterable[NDArray[np.uint8]]) -> Self:
        """Learn the background of a video that is at hand.

        Parameters
        ----------
        frames : array of shape (n, h, w) or (n, h, w, 3), or an iterable of such frames, uint8
            Grey, or blue, green and red, in order of time and spread over what will be seen; two at
            least. Of many, 100 to 199 are kept, evenly spread.

        Returns
        -------
        Subtractor
            Itself.

        Raises
        ------
        UsageError
            If there are fewer than two, or they differ in size or are no images.
        """
        kept = _thinned(frames)
        if len(kept) < 2:
            given = f"{plural(len(kept), 'frame')} {is_or_are(len(kept))} given"
            raise UsageError(f"{given}, but a background takes 2; give more")
        pictures = np.stack(kept)
        self._begin()
        self._is_grey, self._is_fitted = pictures.ndim == 3, True
        self._shape = pictures.shape[1:]
        with Workers(self._threads) as workers:
            sample = Sample.of(pictures, composed=True)
            self._model = MaskModel.fit(sample, self._options, each=workers.map)
        return self

    def apply(
        self,
        image: NDArray[np.uint8],
        fgmask: NDArray[np.uint8] | None = None,
        learningRate: float = -1,
    ) -> Bytes:
        """Return the mask of the next frame.

        Parameters
        ----------
        image : ndarray of shape (h, w) or (h, w, 3), uint8
        fgmask : ndarray of shape (h, w), uint8, optional
            Where the mask is written, too.
        learningRate : float, optional
            0 learns nothing from this frame, 1 begins anew with it, and a negative number, as any
            other, learns at a rate that is chosen: not at all after `fit`.

        Returns
        -------
        ndarray of shape (h, w), uint8
            0, 255, or 127 for shadows where they are detected. The first frame has no object.

        Raises
        ------
        UsageError
            If the frame has another size than those before, or is grey where they have colours.

        Notes
        -----
        Learning is done when the frames have doubled, then every `history` / 2 frames.
        """
        frame = self._checked(image)
        if learningRate >= 1:
            self._begin()
            self._is_fitted = False
        self._shape, self._is_grey = frame.shape, frame.ndim == 2
        view, before = FrameView.of(frame), self._before
        small, self._before = view.small, view
        if learningRate and not (self._is_fitted and learningRate < 0):
            self._learn(small, frame.shape[:2])
        if self._model is None:
            mask = np.zeros(frame.shape[:2], np.uint8)
        else:
            observed, shades = self._model.observe(view, before), self._detects_shadows
            seen = self._model.mask(view, observed, self._earlier, with_shadows=shades)
            mask, self._earlier = seen.mask, observed
            if seen.shadows is not None:
                mask[seen.shadows] = _SHADOW
        if fgmask is None:
            return mask
        fgmask[:] = mask
        return fgmask

    def _learn(self, small: Bytes, shape: tuple[int, int]) -> None:
        """Remember a frame, and learn from all that are remembered where it is time."""
        every = max(1, min(self._seen, self._history) // MOST_FRAMES)
        if not self._kept or self._seen - self._kept[-1][0] >= every:
            self._kept.append((self._seen, small))
        self._seen += 1
        self._kept = [one for one in self._kept if one[0] >= self._seen - self._history]
        while len(self._kept) > MOST_FRAMES:
            gaps = np.diff([number for number, _ in self._kept])
            del self._kept[int(gaps[:-1].argmin()) + 1]
        if self._seen < self._due or len(self._kept) < 2:
            return
        self._due = self._seen + min(self._seen, self._history // 2)
        frames = np.stack([one for _, one in self._kept])
        with Workers(self._threads) as workers:
            self._model = MaskModel.learned(frames, shape, self._options, workers.map)

    def scores(self, frame: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the probability that each pixel of a frame shows an object, (h, w).

        Raises
        ------
        UsageError
            If nothing is learned yet, or the frame has another size than those before.
        """
        seen = self._learned().mask(FrameView.of(self._checked(frame)), with_scores=True)
        return np.asarray(seen.scores, np.float32) / np.float32(SCALE)

    def _learned(self) -> MaskModel:
        if self._model is None:
            raise UsageError("nothing is learned yet; call fit first, or apply to two frames")
        return self._model

    def getBackgroundImage(self) -> Bytes:  # noqa: N802 - the name in OpenCV
        """Return the empty scene as far as it is known, (h, w, 3), or (h, w) of grey frames.

        Raises
        ------
        UsageError
            If nothing is learned yet.
        """
        return self.background()

    def background(self, frame: NDArray[np.uint8] | None = None) -> Bytes:
        """Return the empty scene, in the light of a frame if one is given.

        Raises
        ------
        UsageError
            If nothing is learned yet, or the frame has another size than those before.
        """
        scene = self._learned().scene
        if frame is None:
            picture = scene.plate()
        else:
            picture = scene.background_of(scene.shown_in(self._checked(frame)))
        return in_grey(picture) if self._is_grey else picture

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned to an .npz file.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        facts = {"options": asdict(self._options), "grey": self._is_grey, "version": 2}
        arrays = {_MARK: np.array(json.dumps(facts)), **self._learned().scene.arrays()}
        with writing(path), Path(path).open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

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
                subtractor._is_grey, subtractor._is_fitted = bool(facts["grey"]), True
                arrays["mask_shape"]  # a KeyError where no scene is in it
                scene = cast(Scene, Scene.from_arrays(arrays))
                subtractor._shape = scene.shape + (() if subtractor._is_grey else (3,))
                subtractor._model = MaskModel(scene, subtractor._options)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
        except (KeyError, ValueError, TypeError, ArrayFileError, cv2.error) as error:
            raise InputError(f"{path}: is not a file that Subtractor.save wrote") from error
        return subtractor

    def _checked(self, image: NDArray[np.uint8]) -> Bytes:
        frame = _image(image)
        if self._shape is not None and frame.shape != self._shape:
            if frame.shape[:2] == self._shape[:2]:
                kinds = ("colours", "grey frames") if self._is_grey else ("a grey frame", "colour")
                raise UsageError(f"{kinds[0]} given to a subtractor that has learned {kinds[1]}")
            size, known = (f"{one[1]}×{one[0]}" for one in (frame.shape, self._shape))
            raise UsageError(f"a frame of {size} is given, but those before are {known}")
        return frame


def _image(frame: NDArray[np.uint8]) -> Bytes:
    image = np.asarray(frame)
    is_image = image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3)
    if image.dtype != np.uint8 or not is_image or 0 in image.shape:
        given = f"{image.dtype} of shape {'×'.join(map(str, image.shape))}"
        raise UsageError(f"a frame is {given}; it must be uint8, (h, w) or (h, w, 3)")
    return np.ascontiguousarray(image)


def _thinned(frames: Iterable[NDArray[np.uint8]]) -> list[Bytes]:
    """Keep frames that are spread evenly, fewer than twice as many as are learned from."""
    kept: list[Bytes] = []
    every = 1
    for index, frame in enumerate(frames):
        image = _image(frame)
        if kept and image.shape != kept[0].shape:
            raise UsageError(f"frame {index + 1} has another size than the first, or is grey")
        if index % every:
            continue
        kept.append(image.copy())
        if len(kept) >= 2 * MOST_FRAMES:
            kept, every = kept[::2], 2 * every
    return kept
