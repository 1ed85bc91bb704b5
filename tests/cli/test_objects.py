"""``bgsub objects`` on the results of one small run."""

import numpy as np
import pytest

from bgsub.tracking.tables import read_objects
from bgsub.video.images import write_image


def test_objects_of_results_are_those_of_the_run(made, invoke, tmp_path):
    result = invoke("objects", made / "results", "--out", tmp_path / "again")
    assert result.exit_code == 0, result.stderr
    assert "1 object in 1 event" in result.stderr
    ours = list(read_objects(made / "results" / "objects.csv"))
    again = list(read_objects(tmp_path / "again" / "objects.csv"))
    assert [(o.frame, o.track, o.box) for o in again] == [(o.frame, o.track, o.box) for o in ours]
    for name in ("tracks.csv", "events.csv"):
        theirs = (tmp_path / "again" / name).read_text()
        assert theirs == (made / "results" / name).read_text()


def test_objects_go_beside_the_results_by_default(made, invoke):
    assert invoke("objects", made / "results").exit_code == 0
    assert (made / "results" / "objects" / "run.json").is_file()
    again = invoke("objects", made / "results")
    assert again.exit_code == 5
    assert "--force" in again.stderr


def test_masks_of_anybody(made, invoke, tmp_path):
    masks = tmp_path / "masks"
    masks.mkdir()
    for number in range(1, 31):
        mask = np.zeros((48, 64), np.uint8)
        mask[10:20, number : number + 8] = 255
        write_image(masks / f"m{number:03d}.png", mask)
    result = invoke("objects", masks, "--fps", 10, "--out", tmp_path / "o")
    assert result.exit_code == 0, result.stderr
    seen = list(read_objects(tmp_path / "o" / "objects.csv"))
    assert len(seen) == 30
    assert seen[10].box == (11, 10, 8, 10)
    assert seen[10].time_s == pytest.approx(1.0)
    assert "told apart by motion" in result.stderr


def test_masks_need_a_place_for_the_tables(invoke, tmp_path):
    (tmp_path / "masks").mkdir()
    result = invoke("objects", tmp_path / "masks")
    assert result.exit_code == 2
    assert "--out" in result.stderr
