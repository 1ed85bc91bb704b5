"""Masks without results."""

import numpy as np
import pytest

import bgsub
from bgsub.pipeline.run import masks


@pytest.mark.parametrize("model", ["local", "paper"])
def test_masks_are_those_of_a_run(model, scene, save, tmp_path, options, video):
    clip, chosen = save(scene()), options(outputs={"mask"}, format="mkv", model=model)
    bgsub.run(clip, tmp_path / "r", chosen)
    given = list(masks(clip, chosen))
    np.testing.assert_array_equal(
        [mask for _, mask in given], video(tmp_path / "r" / "mask.mkv", "gray")
    )
    assert [frame.number for frame, _ in given] == list(range(1, 49))
    np.testing.assert_array_equal(
        given[40][0].layout.to_bgr(given[40][0].data), scene()[40][..., ::-1]
    )


def test_an_array_is_footage_too_and_the_iterator_may_be_left(scene):
    iterator = masks(scene())
    frame, mask = next(iterator)
    assert (frame.number, mask.shape) == (1, (36, 48))
    iterator.close()


def test_options_by_name_are_those_of_run_options(scene, options):
    footage, chosen = scene(), options(sensitivity="high")
    named = list(masks(footage, sensitivity="high", start=9, threads=1))
    source = bgsub.SourceOptions(start=9)
    given = list(masks(footage, bgsub.RunOptions(sensitivity="high", source=source, threads=1)))
    assert [frame.number for frame, _ in named] == list(range(9, 49))
    np.testing.assert_array_equal([m for _, m in named], [m for _, m in given])
    assert next(masks(footage, chosen, color="gray"))[0].data.ndim <= 2
    with pytest.raises(TypeError, match="sensitvity"):
        next(masks(footage, sensitvity="high"))
    with pytest.raises(bgsub.BgsubError, match="sensitivity"):
        next(masks(footage, sensitivity="loud"))


def test_objects_of_results_are_plain_values(scene, save, tmp_path, options):
    outputs = {"objects", "tracks", "events"}
    bgsub.run(save(scene()), tmp_path / "r", options(outputs=outputs))
    found = bgsub.objects(str(tmp_path / "r"))
    assert repr(found) == "Objects(16 observations, 1 tracks, 1 events)"
    row = found.observations[0].to_dict()
    assert (row["frame"], row["track"]) == (33, 1)
    assert {"x", "y", "width", "height"} <= row.keys()
    assert found.tracks[0].to_dict()["frames"] == 16
    assert found.events[0].to_dict()["kind"] == "object"
