"""What run.json says of the input, the fit and the pictures."""

import pytest
from bgsub.pipeline.facts import fit_facts, plan_facts, source_facts

from bgsub.fit.memory_plan import Plan
from bgsub.pipeline.run import run
from bgsub.video.source import open_source


def test_the_input(encode, scene):
    source = open_source(encode(scene(n=9)), roi=(4, 2, 20, 10), scale=0.5)
    facts = source_facts(source, {"name": "a.mp4"})
    assert facts["input"]["name"] == "a.mp4"
    assert (facts["input"]["width"], facts["input"]["height"]) == (48, 36)
    assert facts["frame_size"] == [10, 5]
    assert facts["input"]["codec"] == "h264"
    assert facts["input"]["rate"] == "25"


def test_the_plan():
    plan = Plan("spill", 10, 20, 2, 5_000_000, 6_000_000, 99, "they are kept elsewhere")
    assert plan_facts(plan, 10) == {
        "memory": {
            "limit_bytes": 6_000_000,
            "expected_bytes": 5_000_000,
            "frames_kept": "spill",
            "reason": "they are kept elsewhere",
        },
        "fit_frames": 10,
    }


def test_no_fit_has_no_facts():
    assert fit_facts(None, None) == {}


@pytest.mark.parametrize(
    ("outputs", "there", "missing"),
    [
        ({"errors"}, {"k", "converged", "gram_blocks"}, {"frames_written", "mask_model"}),
        ({"background"}, {"threshold", "frames_written"}, {"mask_model", "mask_share"}),
        ({"mask"}, {"mask_model", "mask_share", "mask_notes"}, {"k", "score_level"}),
        ({"scores"}, {"score_level", "min_area"}, {"k"}),
    ],
)
def test_a_run_says_what_it_did_and_no_more(
    outputs, there, missing, scene, save, options, tmp_path
):
    manifest = run(save(scene(n=40)), tmp_path / "out", options(outputs=outputs)).manifest
    assert there <= set(manifest)
    assert not missing & set(manifest)
