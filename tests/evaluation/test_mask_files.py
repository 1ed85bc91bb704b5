import json

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.evaluation.masks import footage_numbers, masks_as_truth, match, open_masks
from bgsub.video.images import write_image
from tests.conftest import make_facts

MASK = np.zeros((4, 6), np.uint8)


def make_images(folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        write_image(folder / name, MASK)


@pytest.fixture
def results(tmp_path):
    """Make a results folder with PNG masks of some frames."""

    def make(frames=(1, 2, 3), *, table=True, name="results", source=None, **more):
        folder = tmp_path / name
        make_images(folder / "mask", [f"{i:06d}.png" for i in range(1, len(frames) + 1)])
        options = {"source": source or {}}
        used = {"used": len(frames)}
        gone = str(tmp_path / "gone.avi")
        manifest = make_facts(gone, **{"options": options, "frames": used, **more})
        (folder / "run.json").write_text(json.dumps(manifest))
        if table:
            lines = [f"{frame},0,1,1,0,0" for frame in frames]
            text = "\n".join(["frame,time_s,error,rmse,score,outlier", *lines, ""])
            (folder / "errors.csv").write_text(text)
        return folder

    return make


def test_results_are_numbered_by_their_errors(results):
    folder = results([5, 10, 15], source={"every": "5"})
    for place in (folder, folder / "mask"):
        masks = open_masks(str(place))
        assert masks.numbers.tolist() == [5, 10, 15]
        assert masks.left_out
        assert not masks.is_named
        assert masks.footage is None


def test_footage_that_is_still_there(results, tmp_path):
    write_image(tmp_path / "gone.png", MASK)
    folder = results(input={"path": str(tmp_path / "gone.png")})
    assert open_masks(str(folder)).footage == str(tmp_path / "gone.png")


def test_without_errors_a_whole_run_counts_from_1(results):
    assert open_masks(str(results(table=False))).numbers.tolist() == [1, 2, 3]
    bad = [{"frame": 2, "time_s": 0.04, "reason": "its data are damaged"}]
    with pytest.raises(InputError, match=r"has no errors\.csv"):
        open_masks(str(results(table=False, name="bad", bad_frames=bad)))


def test_a_run_that_ended_earlier_counts_from_1_too(results):
    masks = open_masks(str(results(table=False, source={"end": "3"})))
    assert masks.numbers.tolist() == [1, 2, 3]
    assert masks.left_out
    for name in ("start", "every"):
        with pytest.raises(InputError, match=r"has no errors\.csv"):
            open_masks(str(results(table=False, name=name, source={name: "2"})))


def test_another_number_of_masks_than_frames(results):
    folder = results([1, 2, 3])
    (folder / "mask" / "000003.png").unlink()
    with pytest.raises(InputError, match="holds 2 pictures, but its run had 3 frames"):
        open_masks(str(folder))


def test_results_without_masks(results):
    folder = results()
    with pytest.raises(
        InputError, match="its run wrote no scores; run it again with --save-scores"
    ):
        open_masks(str(folder), "scores")
    (folder / "mask").rename(folder / "scores")
    assert len(open_masks(str(folder), "scores").pictures) == 3
    with pytest.raises(InputError, match="its run wrote no mask"):
        open_masks(str(folder))


def test_a_damaged_manifest(results):
    folder = results(options={"source": 3})
    with pytest.raises(InputError, match=r"run\.json: .*; it is damaged"):
        open_masks(str(folder))


def test_a_batch_of_results_is_refused(results, tmp_path):
    results(name="batch/a")
    with pytest.raises(InputError, match=r"several inputs; .*batch.a"):
        open_masks(str(tmp_path / "batch"))


def test_images_have_the_numbers_of_their_names(tmp_path):
    make_images(tmp_path / "a", ["bin000470.png", "bin000471.png"])
    masks = open_masks(str(tmp_path / "a"))
    assert masks.numbers.tolist() == [470, 471]
    assert masks.is_named
    assert not masks.counts_from_0
    make_images(tmp_path / "b", ["b00247.png"])
    assert open_masks(str(tmp_path / "b")).counts_from_0


def test_size_note(results):
    masks = open_masks(str(results(source={"scale": 0.5, "roi": [0, 0, 2, 2]})))
    assert masks.size_note == " (made with --scale 0.5 --roi)"


def test_footage_numbers(tmp_path):
    make_images(tmp_path / "even", ["in0.png", "in2.png", "in10.png"])
    assert footage_numbers(str(tmp_path / "even")).tolist() == [0, 2, 10]
    make_images(tmp_path / "mixed", ["a5.png", "b1.png"])
    assert footage_numbers(str(tmp_path / "mixed")) is None
    make_images(tmp_path / "plain", ["x.png", "y.png"])
    assert footage_numbers(str(tmp_path / "plain")) is None
    assert footage_numbers(str(tmp_path / "film.mp4")) is None
    assert footage_numbers(None) is None


def test_a_run_as_the_truth_of_another(results):
    """Frames of both are numbered by the runs, whatever their order or the names of the input."""
    truth = results([5, 10, 15, 20], name="truth", source={"every": "5"})
    other = results([10, 20, 30], name="other", source={"every": "10"})
    masks = open_masks(str(other))
    assert masks_as_truth(str(truth / "mask")) is None
    found = masks_as_truth(str(truth))
    assert found.numbers.tolist() == [5, 10, 15, 20]
    matching = match(masks, found)
    assert matching.frames.tolist() == [10, 20]
    assert (matching.offset, matching.unmatched) == (0, 2)
    alike = open_masks(str(results([1, 2, 3], name="alike")))
    assert match(alike, masks_as_truth(str(results([2, 3, 4], name="b"))), common=True).offset == 0
    images = truth.parent / "images"
    make_images(images, [f"f{number}.png" for number in range(40)])  # count from 0
    late = results([10, 20, 30], name="late", input={"path": str(images)})
    matching = match(open_masks(str(late)), masks_as_truth(str(truth)), common=True)
    assert matching.frames.tolist() == [10, 20]


def test_a_run_without_masks_is_no_truth(results):
    folder = results()
    (folder / "mask").rename(folder / "scores")
    with pytest.raises(InputError, match="its run wrote no mask"):
        masks_as_truth(str(folder))
