from pathlib import Path

import av
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.evaluation.masks import (
    classify,
    footage_numbers,
    match,
    numbers_of,
    open_grey,
    open_masks,
    open_truth,
)
from bgsub.video.images import write_image


def pictures(n=6, dtype=np.uint8, height=12, width=16):
    rng = np.random.default_rng(3)
    return rng.integers(0, np.iinfo(dtype).max, (n, height, width), dtype=dtype, endpoint=True)


def encode(path, frames):
    pixel_format = "gray" if frames.dtype == np.uint8 else "gray16le"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = pixel_format
        for image in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format=pixel_format)))
        container.mux(stream.encode(None))
    return str(path)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_video_keeps_its_bits(tmp_path, dtype):
    frames = pictures(dtype=dtype)
    video = open_grey(encode(tmp_path / "clip.mkv", frames))
    assert (len(video), video.numbers) == (6, None)
    picked = list(video.pick([0, 3, 5]))
    assert all(image.dtype == dtype for image in picked)
    assert np.array_equal(picked, frames[[0, 3, 5]])
    assert np.array_equal(list(video.pick([5])), frames[5:])
    assert video.label(2).endswith("clip.mkv frame 3")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_frame_that_is_missing_is_named(tmp_path, dtype):
    video = open_grey(encode(tmp_path / "clip.mkv", pictures(dtype=dtype)))
    with pytest.raises(InputError, match=r"clip\.mkv frame 9: cannot be decoded"):
        list(video.pick([2, 8]))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_images_come_in_the_order_of_their_numbers(tmp_path, dtype):
    frames = pictures(3, dtype)
    for number, frame in zip((20, 3, 100), frames, strict=True):
        write_image(tmp_path / f"bild é {number}.png", frame)
    images = open_grey(str(tmp_path))
    assert images.numbers.tolist() == [3, 20, 100]
    assert np.array_equal(list(images.pick([0, 2])), frames[[1, 2]])
    assert images.label(0) == str(tmp_path / "bild é 3.png")


def test_a_palette_of_greys_keeps_its_levels(tmp_path):
    levels = np.array([[0, 50, 85], [170, 255, 128]], np.uint8)
    write_image(tmp_path / "1.png", np.repeat(levels[..., None], 3, axis=2))
    assert np.array_equal(next(open_grey(str(tmp_path / "1.png")).pick([0])), levels)


def test_globs_and_patterns(tmp_path):
    for number in (1, 2):
        write_image(tmp_path / f"a{number}.png", pictures(1)[0])
        write_image(tmp_path / f"b{number}.png", pictures(1)[0])
    assert len(open_grey(str(tmp_path / "b*.png"))) == 2
    assert len(open_grey(str(tmp_path / "a%d.png"))) == 2


def test_pages_are_frames(tmp_path):
    frames = pictures(3)
    np.save(tmp_path / "masks.npy", frames)
    stack = open_grey(str(tmp_path / "masks.npy"))
    assert len(stack) == 3
    assert np.array_equal(list(stack.pick([1])), frames[1:2])


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["in000012.jpg"], [12]),
        (["7_left.png"], [7]),
        (["cam2_0007.png", "cam2_0008.png"], [7, 8]),
        (["0007_v2.png", "0008_v2.png"], [7, 8]),
        (["a1b.png", "c.png"], [1, None]),
    ],
)
def test_numbers_of(names, numbers):
    assert numbers_of([Path(name) for name in names]) == numbers


def test_images_without_or_with_equal_numbers_are_errors(tmp_path):
    write_image(tmp_path / "a1.png", pictures(1)[0])
    write_image(tmp_path / "b1.png", pictures(1)[0])
    with pytest.raises(InputError, match=r"b1\.png: has the same number as a1\.png, 1"):
        open_grey(str(tmp_path))
    write_image(tmp_path / "x.png", pictures(1)[0])
    with pytest.raises(InputError, match=r"x\.png: has no number in its name"):
        open_grey(str(tmp_path / "x.png"))


def test_results_are_numbered_by_their_errors(results):
    folder = results([5, 10, 15], source={"every": "5"})
    for place in (folder, folder / "mask"):
        masks = open_masks(str(place))
        assert masks.numbers.tolist() == [5, 10, 15]
        assert masks.left_out
        assert not masks.is_named
        assert masks.footage is None


def test_footage_that_is_still_there(results, images):
    film = images("film", [1, 2, 3])
    assert open_masks(str(results(input={"path": film}))).footage == film


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


def test_images_have_the_numbers_of_their_names(images):
    masks = open_masks(images("a", ["bin000470.png", "bin000471.png"]))
    assert masks.numbers.tolist() == [470, 471]
    assert masks.is_named
    assert not masks.counts_from_0
    for name in ("b00247.png", "hand_segmented_00247.bmp"):
        assert open_masks(images(name[0], [name])).counts_from_0


def test_size_note(results):
    masks = open_masks(str(results(source={"scale": 0.5, "roi": [0, 0, 2, 2]})))
    assert masks.size_note == " (made with --scale 0.5 --roi)"


def test_footage_numbers(images):
    assert footage_numbers(images("even", ["in0.png", "in2.png", "in10.png"])).tolist() == [
        0,
        2,
        10,
    ]
    assert footage_numbers(images("mixed", ["a5.png", "b1.png"])) is None
    assert footage_numbers(images("plain", ["x.png", "y.png"])) is None
    assert footage_numbers("film.mp4") is None


def test_a_run_as_the_truth_of_another(results, images):
    """Frames of both are numbered by the runs, whatever their order or the names of the input."""
    truth = open_truth(str(results([5, 10, 15, 20], name="truth", source={"every": "5"})))
    assert truth.numbers.tolist() == [5, 10, 15, 20]
    masks = open_masks(str(results([10, 20, 30], name="other", source={"every": "10"})))
    matching = match(masks, truth)
    assert matching.frames.tolist() == [10, 20]
    assert (matching.offset, matching.unmatched) == (0, 2)
    alike = open_masks(str(results([1, 2, 3], name="alike")))
    second = open_truth(str(results([2, 3, 4], name="b")))
    assert match(alike, second, common=True).offset == 0
    film = images("film", range(40))  # count from 0
    late = open_masks(str(results([10, 20, 30], name="late", input={"path": film})))
    assert match(late, truth, common=True).frames.tolist() == [10, 20]


SAMPLES = Path(__file__).parents[2] / "sample_videos"
LEVELS = np.array([[0, 50, 85, 170, 255]], np.uint8)


@pytest.fixture
def cdnet(tmp_path):
    """A sequence in CDnet's layout, its region of interest without the last column."""
    root = tmp_path / "highway"
    (root / "groundtruth").mkdir(parents=True)
    (root / "input").mkdir()
    for number in range(1, 7):
        write_image(root / "groundtruth" / f"gt{number:06d}.png", LEVELS)
        write_image(root / "input" / f"in{number:06d}.png", LEVELS)
    write_image(root / "ROI.bmp", np.array([[255, 255, 255, 255, 0]], np.uint8))
    write_image(root / "ROI.jpg", np.full((1, 5, 3), 120, np.uint8))
    (root / "temporalROI.txt").write_text("3 5")
    return root


def test_levels_have_the_meaning_of_cdnet():
    assert classify(LEVELS, "x").tolist() == [[0, 0, 2, 2, 1]]
    assert classify(LEVELS.astype(np.uint16) * 257, "x").tolist() == [[0, 0, 2, 2, 1]]


def test_a_threshold_scores_everything():
    assert classify(LEVELS, "x", 128).tolist() == [[0, 0, 0, 1, 1]]
    assert classify(np.array([[0, 1]], np.uint8), "x", 1).tolist() == [[0, 1]]


@pytest.mark.parametrize(("level", "advice"), [(1, 1), (120, 120), (250, 128)])
def test_other_levels_are_an_error(level, advice):
    expected = rf"gt7\.png: holds grey level {level}, .*--truth-threshold {advice} "
    with pytest.raises(InputError, match=expected):
        classify(np.array([[0, level]], np.uint8), "gt7.png")


@pytest.mark.parametrize("inside", [False, True])
def test_the_layout_of_cdnet(cdnet, inside):
    truth = open_truth(str(cdnet / "groundtruth" if inside else cdnet))
    assert truth.name == "highway"
    assert truth.numbers.tolist() == [1, 2, 3, 4, 5, 6]
    assert truth.scored.tolist() == [False, False, True, True, True, False]
    assert truth.roi.tolist() == [[True, True, True, True, False]]
    assert Path(truth.footage) == cdnet / "input"
    assert not truth.counts_from_0


def test_a_photograph_is_no_region_of_interest(cdnet):
    (cdnet / "ROI.bmp").unlink()
    truth = open_truth(str(cdnet))
    assert truth.roi is None
    assert "ROI.jpg is a picture" in truth.notes[0]
    write_image(cdnet / "ROI.jpg", np.full((1, 5), 255, np.uint8))
    assert open_truth(str(cdnet)).roi.all()


def test_a_grey_region_of_interest_is_an_error(cdnet):
    write_image(cdnet / "ROI.bmp", np.full((1, 5), 120, np.uint8))
    with pytest.raises(InputError, match=r"ROI\.bmp: must be black and white"):
        open_truth(str(cdnet))


@pytest.mark.parametrize("text", ["", "470", "a b", "9 3", "1 2 3"])
def test_temporal_roi_that_is_not_understood(cdnet, text):
    (cdnet / "temporalROI.txt").write_text(text)
    with pytest.raises(InputError, match=r"temporalROI\.txt"):
        open_truth(str(cdnet))


def test_plain_images_with_a_region_among_them(tmp_path):
    for name in ("gt2.png", "gt4.png", "ROI.png"):
        write_image(tmp_path / name, np.zeros((2, 3), np.uint8))
    truth = open_truth(str(tmp_path))
    assert truth.numbers.tolist() == [2, 4]
    assert not truth.roi.any()


def test_hand_drawn_masks_count_from_0(tmp_path):
    folder = tmp_path / "waving_trees"
    folder.mkdir()
    write_image(folder / "b00247.png", LEVELS)
    truth = open_truth(str(folder / "b00247.png"))
    assert (truth.name, truth.numbers.tolist(), truth.counts_from_0) == (
        "waving_trees",
        [247],
        True,
    )
    assert open_truth(str(folder)).named_from_0


def test_a_video_numbers_its_frames(tmp_path):
    truth = open_truth(str(SAMPLES / "water_masks.mkv"))
    assert truth.numbers[[0, -1]].tolist() == [1, 633]
    assert truth.name == "water_masks"


def test_what_is_not_there(tmp_path):
    with pytest.raises(InputError, match="no such ground truth"):
        open_truth(str(tmp_path / "none"))
    with pytest.raises(InputError, match="holds no images"):
        open_truth(str(tmp_path))
    write_image(tmp_path / "ROI.png", LEVELS)
    with pytest.raises(InputError, match="holds no images of ground truth"):
        open_truth(str(tmp_path))


def test_names_with_numbers_of_20_digits_are_refused(tmp_path):
    for name in ("1", "12345678901234567890"):
        write_image(tmp_path / f"{name}.png", np.zeros((4, 4), np.uint8))
    with pytest.raises(InputError, match="a number of 20 digits in its name"):
        open_truth(str(tmp_path))


def matched(masks, truth, **options):
    """Return the number of the truth by frame, and the offset."""
    masks, truth = open_masks(str(masks)), open_truth(str(truth))
    found = match(masks, truth, **options)
    assert found.frames.tolist() == masks.numbers[found.masks].tolist()
    return dict(zip(found.frames.tolist(), truth.numbers[found.truths].tolist(), strict=True)), (
        found.offset
    )


@pytest.mark.parametrize(
    ("frames", "names", "expected", "offset"),
    [
        ([1, 2, 3], [1, 2, 3], {1: 1, 2: 2, 3: 3}, 0),
        ([1, 2, 3, 4], [2, 4], {2: 2, 4: 4}, 0),
        ([1, 2, 3], [0, 1, 2], {1: 0, 2: 1, 3: 2}, 1),
        ([1, 2, 3, 4], [0, 3], {1: 0, 4: 3}, 1),
        ([1, 2, 3], [301, 302, 303], {1: 301, 2: 302, 3: 303}, -300),
        ([100, 101, 102], [1, 2, 3], {100: 1, 101: 2, 102: 3}, 99),
        (range(1, 9), ["b00005.png"], {6: 5}, 1),
    ],
)
def test_frames_of_a_run_are_matched_by_number(results, images, frames, names, expected, offset):
    masks = results(list(frames), source={"start": "1"})
    assert matched(masks, images("truth", names)) == (expected, offset)


@pytest.mark.parametrize(
    ("masks", "names", "expected"),
    [
        ([0, 1, 2], [0, 2], {0: 0, 2: 2}),
        ([1, 2], [0, 1, 2, 3], {1: 1, 2: 2}),
        (range(1, 9), ["b00005.png"], {6: 5}),  # which counts from 0 whatever the masks are called
    ],
)
def test_named_masks_are_matched_by_their_names(images, masks, names, expected):
    assert matched(images("masks", masks), images("truth", names), common=True)[0] == expected


def test_a_given_offset_decides(results, images):
    masks, truth = results(list(range(1, 9))), images("truth", ["b00005.png"])
    assert matched(masks, truth, offset=-2) == ({3: 5}, -2)


def test_names_of_the_input_decide(results, images, tmp_path):
    film, truth = images("film", range(0, 12, 2)), images("truth", [2, 4, 10])
    expected = {2: 2, 3: 4, 6: 10}
    masks = results(list(range(1, 7)), input={"path": film})
    assert matched(masks, truth) == (expected, None)
    np.save(tmp_path / "masks.npy", np.zeros((6, 4, 6), np.uint8))
    assert matched(tmp_path / "masks.npy", truth, footage=film) == (expected, None)
    # Five masks of six images: nothing says which of them.
    np.save(tmp_path / "masks.npy", np.zeros((5, 4, 6), np.uint8))
    with pytest.raises(InputError, match="truth's 10 has no mask"):
        matched(tmp_path / "masks.npy", truth, footage=film)


def test_only_the_temporal_roi_is_scored(results, cdnet):
    assert matched(results([1, 2, 3, 4], source={"end": "4"}), cdnet)[0] == {3: 3, 4: 4}
    (cdnet / "temporalROI.txt").write_text("9 12")
    with pytest.raises(InputError, match=r"temporalROI\.txt wants 9–12"):
        matched(results([1, 2, 3, 4]), cdnet)


def test_numbers_that_do_not_match_are_named(results, images, tmp_path):
    masks = results([1, 2, 3, 4])
    with pytest.raises(InputError, match=r"masks 1–4, .* 1–6: .*5 has no mask"):
        matched(masks, images("more", range(1, 7)))
    with pytest.raises(InputError, match=r"masks 1–4, .* 70–91 \(3 of them\): no frame is in both"):
        matched(masks, images("other", [70, 80, 91]))
    np.save(tmp_path / "truth.npy", np.zeros((3, 4, 6), np.uint8))
    with pytest.raises(InputError, match=r"1–3: frame 4 has no truth"):
        matched(masks, tmp_path / "truth.npy")


def test_what_is_common_is_scored_on_request(results, images):
    assert matched(results([1, 2, 3, 4]), images("t", range(3, 8)), common=True)[0] == {3: 3, 4: 4}
