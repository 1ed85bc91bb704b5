"""LocalModel: what a sample of frames says of the background of every pixel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.archive import arrays_of, scenes_in
from bgsub.local.clean_frames import coarseness
from bgsub.local.cleanup import in_hundredths, vote
from bgsub.local.comparing import Compared, Comparer
from bgsub.local.drawing import MaskDrawer, Seen
from bgsub.local.history import History, Moment
from bgsub.local.layers import MOST_FRAMES
from bgsub.local.learning import learn_scenes
from bgsub.local.params import DEFAULTS, SENSITIVITIES, LocalParams, MaskOptions
from bgsub.local.placing import Flags, Placed, at_place
from bgsub.local.recognition import FrameFit
from bgsub.local.registration import Registration, registration_in
from bgsub.local.scene import Scene
from bgsub.local.scoring import SceneMatcher
from bgsub.local.trust import marked_for_certain, seen_for_certain
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes


class LocalModel:
    """Background of every pixel as a few recurring colours, in one or more states of the scene.

    Parameters
    ----------
    scenes : list of Scene
        The state of most frames first.
    usual : list of float
        Share of a thumbnail that each explains in a usual frame.
    options : MaskOptions, optional
    history : History, optional
        What the fit decided.
    params : LocalParams, optional
    registration : Registration, optional
        Where frames belong, if the camera shakes.

    Attributes
    ----------
    min_area : int
        Pixels that a blob covers, at least.
    """

    def __init__(
        self,
        scenes: list[Scene],
        usual: list[float],
        options: MaskOptions | None = None,
        history: History | None = None,
        params: LocalParams = DEFAULTS,
        registration: Registration | None = None,
    ) -> None:
        self.scenes = scenes
        self.history = history or History()
        self.params = params
        self.registration = registration
        self._usual = usual
        self.options = options or MaskOptions()
        factor = SENSITIVITIES[self.options.sensitivity]
        self._matchers = [SceneMatcher(scene, factor, params) for scene in scenes]
        evens_out = self.options.shadows == "drop"
        self._comparer = Comparer(self._matchers, usual, params, registration, evens_out=evens_out)
        height, width = scenes[0].restless.shape
        least = self.options.min_area
        least = round(params.least_area * height * width) if least is None else least
        self.min_area = least
        step = coarseness(height, width)
        self._drawer = MaskDrawer(self.options, params, least, step)

    def with_options(self, options: MaskOptions) -> LocalModel:
        """Give the same model, drawing masks in another way."""
        learned = self.history, self.params, self.registration
        return LocalModel(self.scenes, self._usual, options, *learned)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the pictures."""
        height, width = self.scenes[0].restless.shape
        return height, width

    @classmethod
    def fit(
        cls,
        pictures: Bytes,
        *,
        workers: Workers,
        seed: int = 0,
        options: MaskOptions | None = None,
        moments: Sequence[Moment] | None = None,
        params: LocalParams = DEFAULTS,
    ) -> LocalModel:
        """Learn a scene.

        Parameters
        ----------
        pictures : ndarray of uint8, shape (n, h, w, 3) or (n, h, w)
            Frames spread over the film, in order of time; at most `MOST_FRAMES`. They may be
            overwritten: those in another light, of a camera that shakes, or not learned from.
        workers : Workers
        seed : int
        options : MaskOptions, optional
        moments : sequence of (int, float or None), optional
            Number in the film and time in seconds of each picture, for the history; counted from 1
            where they are not known.
        params : LocalParams, optional

        Returns
        -------
        LocalModel

        Raises
        ------
        ValueError
            If there are more frames than `MOST_FRAMES`.
        """
        if len(pictures) > MOST_FRAMES:
            message = f"{len(pictures)} frames are more than {MOST_FRAMES}"
            raise ValueError(message)
        scenes, usual, history, place = learn_scenes(pictures, workers, seed, moments, params)
        return cls(scenes, usual, options, history, params, place)

    def mask(self, picture: Bytes, inside: Flags | None = None) -> Bytes:
        """Mark the objects in a frame.

        Parameters
        ----------
        picture : ndarray of uint8, shape (h, w, 3) BGR or (h, w)
        inside : ndarray of bool, shape (h, w), optional
            Pixels outside are never foreground.

        Returns
        -------
        ndarray of uint8, shape (h, w)
            0 or 255.
        """
        return self._draw(self._comparer.compare(picture, inside))

    def scores(self, picture: Bytes, inside: Flags | None = None) -> NDArray[np.uint16]:
        """Say how far every pixel is from the background; parameters as those of `mask`.

        Returns
        -------
        ndarray of uint16, shape (h, w)
            Mean over 5×5 pixels of the deviation from the nearest layer of the background, in
            hundredths of the threshold, of which a pixel counts for 150 at most. From `SCORE_LEVEL`
            on a pixel belongs to the mask, before shadows, outlines, specks and holes are dealt
            with, and but for borders that large pictures have, see `glancing`. The threshold is
            three times the noise of the place, or a fifth of the contrast of the film, up to half
            more for codecs' halos, times `sensitivity`. 0 outside.
        """
        return self._scores(self._comparer.compare(picture, inside))

    def look(
        self, picture: Bytes, inside: Flags | None = None, *, with_scores: bool = True
    ) -> Seen:
        """Give the mask of a frame, and its scores.

        Parameters
        ----------
        picture : ndarray of uint8, shape (h, w, 3) BGR or (h, w)
        inside : ndarray of bool, shape (h, w), optional
            Pixels outside are never foreground.
        with_scores : bool
        """
        return self.look_all([picture], inside, with_scores=with_scores)[0]

    @property
    def frames_at_once(self) -> int:
        """Give the number of frames that `look_all` looks at in few steps together."""
        return self._comparer.frames_at_once

    def look_all(
        self,
        pictures: Sequence[Bytes],
        inside: Flags | None = None,
        *,
        with_scores: bool = True,
    ) -> list[Seen]:
        """Give what `look` gives for each of some frames; small ones take a fraction of the time.

        Parameters
        ----------
        pictures : sequence of ndarray of uint8, shape (h, w, 3) BGR or (h, w)
        inside, with_scores
            As for `look`.
        """
        found = self._comparer.compare_all(pictures, inside)
        return [self._seen(compared, with_scores=with_scores) for compared in found]

    def _seen(self, compared: Compared, *, with_scores: bool) -> Seen:
        scores = self._scores(compared) if with_scores else None
        mean = compared.place.back(compared.mean)
        is_still = mean is compared.mean
        raw = compared.raw if is_still else vote(mean, self.params.vote_level)
        if not cv2.hasNonZero(raw):
            mask = np.zeros_like(raw)
            return Seen(mask, scores, self._trust(compared.fit, mean, mask))
        mask = self._draw(compared)
        return Seen(mask, scores, self._trust(compared.fit, mean, mask))

    def _scores(self, compared: Compared) -> NDArray[np.uint16]:
        return in_hundredths(compared.place.back(compared.whole_mean(self.params.vote_most)))

    def _trust(self, fit: FrameFit, mean: Bytes, mask: Bytes) -> float:
        """Say how far a mask deserves trust, from 0 to 1."""
        scene = fit.matcher.scene
        threshold = fit.matcher.usual_threshold * fit.sigma / scene.sigma
        trust = fit.explained * seen_for_certain(scene.contrast, threshold)
        return trust * marked_for_certain(mask, mean, self.params)

    def _draw(self, compared: Compared) -> Bytes:
        """Mask of a frame from what `_comparer` gave."""
        fit, place = compared.fit, compared.place
        mask = self._drawer.draw(
            compared.raw,
            compared.score,
            fit.picture,
            lambda rows, columns: fit.matcher.background(compared.nearest, rows, columns),
            compared.own_scores,
            fit.noise(self.params),
            fit.matcher.bounds,
        )
        if place.inside is not None:
            mask[~place.inside] = 0  # holes that were filled may reach out
        return place.back(mask)

    def recognize(self, picture: Bytes) -> tuple[int, Bytes]:
        """Give the state that a frame at its place shows, from 0, and the frame in its light."""
        fit = self._comparer.recognize(Placed(picture, None))
        return next(i for i, one in enumerate(self._matchers) if one is fit.matcher), fit.picture

    def background(self, picture: Bytes) -> Bytes:
        """Give the usual colours of the state of the scene that a frame shows, (h, w, 3)."""
        place, scene = at_place(self.registration, picture), self.scenes[0]
        if len(self.scenes) > 1:
            scene = self._comparer.recognize(place).matcher.scene
        return np.asarray(place.back(scene.colors[0]), dtype=np.uint8)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give everything that was learnt, as arrays by name, for an .npz file."""
        return {
            "local_usual": np.array(self._usual),
            "local_params": self.params.to_array(),
            "local_history": self.history.to_array(),
            **arrays_of(self.scenes),
            **({} if self.registration is None else self.registration.arrays()),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], options: MaskOptions | None = None
    ) -> LocalModel:
        """Give the model whose `arrays` these are.

        Raises
        ------
        KeyError, ValueError
            If they are not those of a model.
        """
        usual = [float(share) for share in arrays["local_usual"]]
        if not usual or not all(0 <= share <= 1 for share in usual):
            raise ValueError(usual)
        history = None
        if "local_history" in arrays:  # models of earlier versions have none
            history = History.from_array(arrays["local_history"])
        params = DEFAULTS
        if "local_params" in arrays:
            params = LocalParams.from_array(arrays["local_params"])
        scenes, place = scenes_in(arrays, len(usual)), registration_in(arrays)
        return cls(scenes, usual, options, history, params, place)
