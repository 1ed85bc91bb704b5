"""Learn from a sample of frames: the states of the scene, and each one's background."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bgsub.local.clean_frames import coarseness
from bgsub.local.common_places import with_common_places
from bgsub.local.history import History, Moment
from bgsub.local.light import explained, in_one_light, thumbnail
from bgsub.local.noise import with_noise
from bgsub.local.params import LocalParams
from bgsub.local.placing import moved
from bgsub.local.recognition import colored
from bgsub.local.registration import Registration, find_registration
from bgsub.local.scene import Scene
from bgsub.local.scene_fit import fit_scene
from bgsub.local.scoring import SceneMatcher, usual_share
from bgsub.local.states import find_states
from bgsub.local.traits import traits_of
from bgsub.runtime.threads import WORTH_A_THREAD, Workers
from bgsub.video.frames import Bytes

Learned = tuple[list[Scene], list[float], History, Registration | None]
"""What `learn_scenes` gives."""


def learn_scenes(
    pictures: Bytes,
    workers: Workers,
    seed: int,
    moments: Sequence[Moment] | None,
    params: LocalParams,
) -> Learned:
    """Learn every state of the scene; the parameters are those of `LocalModel.fit`.

    Returns
    -------
    scenes : list of Scene
        The state of most frames first.
    usual : list of float
        Share of a thumbnail that each explains in a usual frame.
    history : History
    registration : Registration or None
        Where frames belong, if the camera shakes.
    """
    if pictures.ndim == 3:
        pictures = np.stack([colored(one) for one in pictures])
    height, width = pictures.shape[1:3]
    is_small = height * width < WORTH_A_THREAD

    def anywhere(function: Callable[..., Any], items: Iterable[Any]) -> Iterable[Any]:
        """Call a function that takes longer than to send its arguments."""
        if is_small:
            return workers.share(_given, {"function": function}, items)
        return workers.map(function, items)

    registration = find_registration(pictures, params, anywhere)
    furthest = 0 if registration is None else _steady(pictures, registration)
    small = np.stack([thumbnail(one) for one in pictures])
    labels = find_states(small, params, workers.share)
    moments = moments or [(number, None) for number in range(1, len(pictures) + 1)]
    kept = np.flatnonzero(labels >= 0)
    left_out = labels.size - kept.size
    if left_out:
        for place, i in enumerate(kept.tolist()):
            pictures[place] = pictures[i]  # in place: a copy would need as much memory again
        pictures, small, labels = pictures[: kept.size], small[kept], labels[kept]
        moments = [moments[i] for i in kept.tolist()]
    step = coarseness(height, width)
    fitted, counts = [], []
    members = [np.flatnonzero(labels == state) for state in range(int(labels.max()) + 1)]
    for chosen in members:
        own, relit = in_one_light(pictures, small, chosen, params, workers.share)
        fitted.append(
            fit_scene(
                own,
                seed=seed,
                workers=workers,
                params=params,
                is_shaken=registration is not None,
            )
        )
        counts.append(relit)
    del own  # may be a copy
    fitted = with_common_places(fitted, pictures, members, params)
    scenes, usual, shown = [], [], []
    for state, chosen in zip(fitted, members, strict=True):
        own = pictures if len(fitted) == 1 else pictures[chosen]
        scene = with_noise(state, own, params, map if is_small else workers.map)
        matcher = SceneMatcher(scene, 1.0, params)
        shares = [
            explained(thumbnail(one), matcher.thumbnail, matcher.thumbnail_noise) for one in own
        ]
        traits = traits_of(matcher, own, step, params, anywhere)
        scenes.append(replace(scene, **traits._asdict()))
        shown.append([moments[i] for i in chosen.tolist()])
        usual.append(usual_share(np.array(shares, dtype=np.float32)))
    history = replace(History.of(scenes, shown, counts, params, left_out), shake_pixels=furthest)
    return scenes, usual, history, registration


def _given(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _steady(pictures: Bytes, registration: Registration) -> int:
    """Move frames to their place; give how far they lay from it at most, in pixels."""
    furthest = 0.0
    for picture, motion in zip(pictures, map(registration.find, pictures), strict=True):
        picture[:] = moved(picture, motion)
        furthest = max(furthest, motion.furthest(*picture.shape[:2]))
    return math.ceil(furthest)
