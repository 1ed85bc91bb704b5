import cv2
import numpy as np

from bgsub.background.local.outlines import without_halo


def blurred(score):
    """A square of 20 pixels under a lens, all that deviates visibly, and the square itself."""
    true = np.zeros((40, 40), np.uint8)
    true[10:30, 10:30] = 1
    seen = cv2.GaussianBlur(true.astype(np.float32) * score, (0, 0), 1.0).astype(np.uint8)
    return (seen > 16).astype(np.uint8), seen, true


def test_a_strong_object_loses_the_blur_around_it():
    mask, seen, true = blurred(240)
    assert mask.sum() > 1.2 * true.sum()
    assert not without_halo(mask, seen)[true == 0].any()
    assert without_halo(mask, seen).sum() > 0.7 * true.sum()


def test_a_faint_object_keeps_its_outline():
    mask, seen, _ = blurred(24)
    kept = without_halo(mask, np.where(mask > 0, np.maximum(seen, 20), seen))
    np.testing.assert_array_equal(kept, mask)


def test_only_the_outermost_pixels_may_go():
    mask, seen, _ = blurred(240)
    seen[18:22, 18:22] = 0
    inner = cv2.erode(mask, np.ones((3, 3), np.uint8))
    assert without_halo(mask, seen)[inner > 0].all()
