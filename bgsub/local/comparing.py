"""Compare frames with the states of a scene, small ones several at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import coarseness
from bgsub.local.cleanup import mean_score, vote
from bgsub.local.light_field import even_out, find_light_field
from bgsub.local.params import LocalParams
from bgsub.local.placing import Flags, Placed, at_place
from bgsub.local.recognition import FrameFit, recognize
from bgsub.local.registration import Registration
from bgsub.local.scoring import SceneMatcher
from bgsub.local.stacks import SceneStack, frames_of_stack
from bgsub.video.frames import Bytes


@dataclass(frozen=True, eq=False)
class Compared:
    """A frame beside its background; scratch memory, but for the mean and the raw mask.

    Attributes
    ----------
    fit : FrameFit
        The frame in the light of the scene.
    score, nearest : ndarray of uint8, shape (h, w)
        See `SceneMatcher.score`.
    own : ndarray of uint8, shape (h, w), or None
        See there, too; None where the frame was glanced at.
    mean : ndarray of uint8, shape (h, w)
        See `bgsub.local.cleanup.mean_score`; 0 outside.
    place : Placed
        All of these are of the frame at its place.
    raw : ndarray of uint8, shape (h, w)
        See `bgsub.local.cleanup.vote`; 0 outside.
    """

    fit: FrameFit
    score: Bytes
    own: Bytes | None
    nearest: Bytes
    mean: Bytes
    place: Placed

    @cached_property
    def raw(self) -> Bytes:
        """The raw mask."""
        return vote(self.mean, self.fit.matcher.bounds.vote_level)

    def own_scores(self, at: NDArray[np.intp]) -> Bytes:
        """Give the scores of m > 0 single pixels, by their indices."""
        fit, inside = self.fit, self.place.inside
        if self.own is not None:
            own = self.own.reshape(-1).take(at)
        else:
            own = fit.matcher.own_difference(fit.picture, at)
            if inside is not None:
                own[~inside.reshape(-1).take(at)] = 0
        return fit.matcher.in_units(own, fit.sigma, at)

    def whole_mean(self, most: float) -> Bytes:
        """Give the mean score of every pixel, even where the frame was glanced at."""
        if self.own is not None:
            return self.mean
        mean = mean_score(self.fit.matcher.score(self.fit.picture, self.fit.sigma)[0], most)
        if self.place.inside is not None:
            mean[~self.place.inside] = 0
        return mean


class Comparer:
    """Compares frames with the states of a scene.

    Parameters
    ----------
    matchers : sequence of SceneMatcher
        One for each state.
    usual : sequence of float
        Share of a thumbnail that each explains in a usual frame.
    params : LocalParams
    registration : Registration or None
        Where frames belong, if the camera moves.
    evens_out : bool
        Whether light that changes in a part of a frame is taken out.

    Attributes
    ----------
    frames_at_once : int
        Frames that `compare_all` does in few steps together; 1 where it does them one by one.
    """

    def __init__(
        self,
        matchers: Sequence[SceneMatcher],
        usual: Sequence[float],
        params: LocalParams,
        registration: Registration | None,
        *,
        evens_out: bool,
    ) -> None:
        self._matchers, self._usual, self._params = matchers, usual, params
        self._registration, self._evens_out = registration, evens_out
        height, width = matchers[0].scene.restless.shape
        self._step = coarseness(height, width)
        is_faint = any(matcher.is_faint for matcher in matchers)  # regions end with their frame
        self.frames_at_once = 1 if is_faint else frames_of_stack(height, width, params)
        self._stacks: dict[SceneMatcher, SceneStack] = {}

    def recognize(self, place: Placed) -> FrameFit:
        """Find the state of the scene that a frame at its place shows, and its light."""
        return recognize(place.picture, self._matchers, self._usual, self._params)

    def compare(self, picture: Bytes, inside: Flags | None) -> Compared:
        """Compare a frame with the state of the scene that it shows.

        Parameters
        ----------
        picture : ndarray of uint8, shape (h, w, 3) BGR or (h, w)
        inside : ndarray of bool, shape (h, w), or None
            Pixels outside have no score.

        Returns
        -------
        Compared
            Valid until the next frame is compared in this thread.
        """
        place = at_place(self._registration, picture, inside)
        return self._finished(self._scored(self.recognize(place), place))

    def compare_all(self, pictures: Sequence[Bytes], inside: Flags | None) -> Iterator[Compared]:
        """Compare frames as `compare` does, those of one state and noise together.

        Yields
        ------
        Compared
            Each valid until the next one is asked for.
        """
        places = [at_place(self._registration, picture, inside) for picture in pictures]
        fits = [self.recognize(place) for place in places]
        alike: dict[tuple[SceneMatcher, float], list[int]] = {}
        for i, fit in enumerate(fits):
            alike.setdefault((fit.matcher, fit.sigma), []).append(i)
        stacked: dict[int, Compared] = {}
        for (matcher, sigma), these in alike.items():
            for start in range(0, len(these), self.frames_at_once):
                some = these[start : start + self.frames_at_once]
                if len(some) > 1:
                    stack = self._stack_of(matcher)
                    found = stack.compare([fits[i].picture for i in some], sigma)
                    for i, planes in zip(some, found, strict=True):
                        stacked[i] = Compared(fits[i], *planes, places[i])
        for i, (fit, place) in enumerate(zip(fits, places, strict=True)):
            yield self._finished(stacked[i] if i in stacked else self._scored(fit, place))

    def _stack_of(self, matcher: SceneMatcher) -> SceneStack:
        if matcher not in self._stacks:
            self._stacks[matcher] = SceneStack(matcher, self.frames_at_once, self._params)
        return self._stacks[matcher]

    def _scored(self, fit: FrameFit, place: Placed) -> Compared:
        if fit.matcher.is_glanced_at:
            score, index, mean = fit.matcher.glance(fit.picture, fit.sigma)
            return Compared(fit, score, None, index, mean, place)
        score, own, index = fit.matcher.score(fit.picture, fit.sigma)
        mean = mean_score(score, self._params.vote_most)
        return Compared(fit, score, own, index, mean, place)

    def _finished(self, compared: Compared) -> Compared:
        """Take out light that has changed in a part of the frame, and what is outside."""
        evened = self._evened_out(compared)
        if evened is not None:
            compared = self._scored(compared.fit.under(evened), compared.place)
        inside = compared.place.inside
        if inside is not None:
            compared.mean[~inside] = compared.raw[~inside] = 0
            if compared.own is not None:
                compared.own[~inside] = 0
        return compared

    def _evened_out(self, compared: Compared) -> Bytes | None:
        """Give a frame whose light has changed in a part of it the light of its background."""
        if not self._evens_out:
            return None
        fit, index, params = compared.fit, compared.nearest, self._params
        matcher, step = fit.matcher, self._step
        if cv2.countNonZero(compared.raw) < (params.light_block * step) ** 2 // 2:
            return None
        factor = np.float32(fit.sigma / matcher.scene.sigma)
        field = find_light_field(
            fit.picture,
            lambda rows, columns: matcher.background(index, rows, columns),
            lambda rows, columns: matcher.threshold[rows, columns] * factor,
            compared.raw,
            step,
            params,
        )
        return None if field is None else even_out(fit.picture, field, step, params)
