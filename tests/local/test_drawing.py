import cv2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bgsub.local import drawing
from bgsub.local.drawing import MaskDrawer
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS, MaskOptions
from bgsub.local.scene import Scene
from tests.local.test_regions import BLOBS, drawn


@settings(max_examples=50)
@given(
    blobs=BLOBS,
    seed=st.integers(0, 2**32 - 1),
    step=st.integers(1, 2),
    shadows=st.sampled_from(["drop", "keep"]),
    fill=st.booleans(),
    least=st.sampled_from([0, 9, 60]),
    shade=st.sampled_from([0.0, 1.0]),
)
@example(  # two bays with one outline
    blobs=[(40, 168, 52), (42, 13, 57), (98, 32, 27)],
    seed=2209933034,
    step=1,
    shadows="keep",
    fill=True,
    least=0,
    shade=0.0,
)
def test_masks_drawn_in_parts_are_those_of_the_picture_at_once(
    blobs, seed, step, shadows, fill, least, shade
):
    rng = np.random.default_rng(seed)
    place = rng.integers(60, 200, (190, 250, 3), np.uint8)
    scene = Scene(
        place[None],
        np.zeros(place.shape[:2], np.uint8),
        2.5,
        [],
        shade=shade,
        weak_inside=1 - shade,
    )
    model = LocalModel([scene], [0.0])
    options = MaskOptions(shadows, "normal", least, fill)
    model._drawer = MaskDrawer(options, DEFAULTS, least, step)
    inside = drawn(blobs, place.shape[:2])[..., None]
    share = rng.choice([0.3, 0.7, 1.25])  # of the light, in which some of the blobs are shadows
    other = np.where(rng.random(place.shape) < rng.choice([0.02, 0.5]), rng.integers(0, 256), place)
    shown = np.where(inside, share * other, place + rng.normal(0, 2, place.shape))
    away = cv2.distanceTransform((~inside[..., 0]).astype(np.uint8), cv2.DIST_L2, 3)
    shown -= (shade * 40 * np.exp(-((np.minimum(away, 99) / 8) ** 2)) * (away > 0))[..., None]
    frame = np.clip(shown, 0, 255).astype(np.uint8)
    in_parts = model.mask(frame)
    with pytest.MonkeyPatch.context() as patch:
        at_once = (0, *place.shape[:1], 0, *place.shape[1:2])
        patch.setattr(drawing, "boxes_of", lambda *_: [(at_once, [at_once])])
        np.testing.assert_array_equal(in_parts, model.mask(frame))
