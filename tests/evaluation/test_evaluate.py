from pathlib import Path

import av
import numpy as np
import pytest

from bgsub.errors import InputError, UsageError
from bgsub.evaluation import EvaluationOptions
from bgsub.evaluation.evaluate import Pair, evaluate, footage_frames
from bgsub.evaluation.measures import Counts, Verdict
from bgsub.pipeline.run import run
from bgsub.video.images import write_image

TRUTH = str(Path(__file__).parents[2] / "sample_videos" / "water_masks.mkv")

# Frame 1: 2 TP, 1 FP, 1 FN, 2 TN, and 2 unscored. Frame 2: 4 TN, 1 FP, 1 shadow that is TN.
MASKS = [[[255, 255, 255, 0], [0, 0, 255, 0]], [[255, 0, 0, 0], [0, 0, 0, 255]]]
TRUTHS = [[[255, 255, 0, 255], [0, 50, 85, 170]], [[0, 0, 0, 50], [0, 170, 170, 170]]]
FIRST, SECOND = Counts(tp=2, fp=1, fn=1, tn=2), Counts(tp=0, fp=1, fn=0, tn=4)


@pytest.fixture
def save(tmp_path):
    """Write pictures as numbered images and give their folder."""

    def write(name, pictures, dtype=np.uint8, first=1):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for number, picture in enumerate(pictures, first):
            write_image(folder / f"{number:04d}.png", np.array(picture, dtype))
        return str(folder)

    return write


@pytest.fixture
def pair(save):
    return Pair(save("masks", MASKS), save("street/groundtruth", TRUTHS))


def test_hand_computed_counts(pair):
    calls = []
    found = evaluate([pair], progress=lambda *call: calls.append(call))
    (one,) = found.sequences
    assert [(f.frame, f.truth, f.counts) for f in one.frames] == [
        (1, "0001.png", FIRST),
        (2, "0002.png", SECOND),
    ]
    assert one.name == "street"
    assert one.counts == found.total == Counts(tp=2, fp=2, fn=1, tn=6)
    assert found.means["precision"] == 0.5
    assert one.notes == []
    assert calls == [("evaluate", 1, 2), ("evaluate", 2, 2)]


def test_the_region_of_interest(pair, save, tmp_path):
    write_image(tmp_path / "street" / "ROI.bmp", np.array([[255] * 4, [0] * 4], np.uint8))
    (one,) = evaluate([pair]).sequences
    assert one.counts == Counts(tp=2, fp=2, fn=1, tn=3)
    write_image(tmp_path / "street" / "ROI.bmp", np.full((3, 4), 255, np.uint8))
    with pytest.raises(InputError, match=r"ROI\.bmp is 4×3 pixels, but .*0001\.png is 4×2"):
        evaluate([pair])


def test_frames_without_scored_pixels_do_not_count(save):
    unknown = np.full((2, 4), 170)
    masks, truth = save("m", [*MASKS, MASKS[0]]), save("t", [*TRUTHS, unknown])
    assert [f.frame for f in evaluate([Pair(masks, truth)]).sequences[0].frames] == [1, 2]
    with pytest.raises(InputError, match="none of its pixels is scored"):
        evaluate([Pair(save("m1", MASKS[:1]), save("t1", [unknown]))])


def test_several_sequences(pair, save):
    second = Pair(save("more", MASKS[1:]), save("night", TRUTHS[1:]), name="dark")
    found = evaluate([pair, second])
    assert [one.name for one in found.sequences] == ["street", "dark"]
    assert found.total == Counts(tp=2, fp=3, fn=1, tn=10)
    again = evaluate([pair, pair])
    assert [one.name for one in again.sequences] == [pair.masks] * 2


def test_thresholds(save):
    masks = save("m", [[[40, 90, 128, 255]]])
    truth = save("t", [[[10, 10, 200, 200]]])
    scored = EvaluationOptions(truth_threshold=128)
    assert evaluate([Pair(masks, truth)], scored).total == Counts(2, 0, 0, 2)
    scored = EvaluationOptions(threshold=40.5, truth_threshold=128)
    assert evaluate([Pair(masks, truth)], scored).total == Counts(2, 1, 0, 1)
    with pytest.raises(InputError, match=r"0001\.png: holds grey level 200"):
        evaluate([Pair(masks, truth)])


def test_masks_of_16_bits(save):
    masks = save("m", np.array(MASKS) * 257, np.uint16)
    assert evaluate([Pair(masks, save("t", TRUTHS))]).total == Counts.sum([FIRST, SECOND])


def test_masks_of_0_and_1_are_noticed(save):
    masks = save("m", np.array(MASKS) // 255)
    (one,) = evaluate([Pair(masks, save("t", TRUTHS))]).sequences
    assert one.counts.tp == 0
    assert "the highest is 1" in one.notes[0]


def test_sizes_that_do_not_match_are_named(save):
    masks, truth = save("m", np.zeros((1, 4, 6))), save("t", np.zeros((1, 3, 5)))
    with pytest.raises(InputError, match=r"m.0001\.png is 6×4 pixels, but .*t.0001\.png is 5×3"):
        evaluate([Pair(masks, truth)])


def test_padding_of_a_video_is_left_out(tmp_path, save):
    path = tmp_path / "masks.mkv"
    frames = np.zeros((2, 16, 18), np.uint8)
    frames[:, :4, :5] = 255
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.height, stream.width, stream.pix_fmt = 16, 18, "gray"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="gray")))
        container.mux(stream.encode(None))
    (one,) = evaluate([Pair(str(path), save("t", frames[:, :15, :17]))]).sequences
    assert one.counts == Counts(40, 0, 0, 2 * 15 * 17 - 40)
    assert "padding" in one.notes[0]
    with pytest.raises(InputError, match="18×16 pixels, but"):
        evaluate([Pair(str(path), save("t2", frames[:, :15, :16]))])


def test_truth_that_has_no_mask_is_told(save):
    masks, truth = save("m", MASKS), save("t", [*TRUTHS, TRUTHS[0]])
    with pytest.raises(InputError, match=r"1–2, .* 1–3: the truth's 3 has no mask"):
        evaluate([Pair(masks, truth)])
    (one,) = evaluate([Pair(masks, truth)], EvaluationOptions(common=True)).sequences
    assert one.notes == ["1 picture of the truth had no mask"]
    (one,) = evaluate([Pair(masks, truth, offset=-1)], EvaluationOptions(common=True)).sequences
    assert [f.truth for f in one.frames] == ["0002.png", "0003.png"]


def test_the_sample_truth_against_itself():
    (one,) = evaluate([Pair(TRUTH, TRUTH)], EvaluationOptions(worst=3)).sequences
    assert len(one.frames) == 633
    assert (one.counts.f_measure, one.counts.wrong) == (1.0, 0)
    assert sum(one.counts) == 633 * 160 * 128
    assert one.worst == []


def test_worst_frames(save):
    blank = np.zeros((2, 4))
    masks = save("m", [blank, *MASKS, blank])
    truth = save("t", [blank, *TRUTHS, blank])
    footage = save("f", [np.full((2, 4), 10 * n) for n in range(1, 5)])
    pair = Pair(masks, truth, footage=footage)
    (one,) = evaluate([pair], EvaluationOptions(worst=3)).sequences
    assert [(w.frame, w.counts) for w in one.worst] == [(2, FIRST), (3, SECOND)]
    assert one.worst[0].verdicts[0].tolist() == [Verdict.TP, Verdict.TP, Verdict.FP, Verdict.FN]
    frames = footage_frames(one)
    assert {number: int(frame.max()) for number, frame in frames.items()} == {2: 20, 3: 30}
    (one,) = evaluate([pair], EvaluationOptions(worst=1)).sequences
    assert [w.frame for w in one.worst] == [2]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_scores(save, dtype):
    factor = 1 if dtype == np.uint8 else 250
    first = save("s1", np.array([[[90, 50, 30, 30, 10]]]) * factor, dtype)
    second = save("s2", np.array([[[60, 200, 40, 20, 0]]]) * factor, dtype)
    t1 = save("t1", [[[255, 0, 255, 255, 50]]])
    t2 = save("t2", [[[255, 170, 0, 0, 0]]])
    found = evaluate([Pair(first, t1), Pair(second, t2)], EvaluationOptions(scores=True))
    one, two = found.sequences
    assert (one.threshold, one.counts) == (30 * factor, Counts(3, 1, 0, 1))
    assert (two.threshold, two.counts) == (60 * factor, Counts(1, 0, 0, 3))
    # Of all: at 30 four are right, 2 wrong (F 0.8); at 60 two are right, none wrong (F 0.67).
    assert (found.threshold, found.total) == (30 * factor, Counts(4, 2, 0, 3))
    fixed = EvaluationOptions(scores=True, threshold=60 * factor)
    assert evaluate([Pair(first, t1)], fixed).total == Counts(1, 0, 2, 2)


def test_scores_of_several_kinds_have_no_common_threshold(save):
    pairs = [
        Pair(save(f"s{i}", [[[1, 0]]], dtype), save(f"t{i}", [[[255, 0]]]))
        for i, dtype in enumerate((np.uint8, np.uint16))
    ]
    with pytest.raises(InputError, match=r"s0 uint8, .*s1 uint16"):
        evaluate(pairs, EvaluationOptions(scores=True))


def test_nothing_to_evaluate():
    with pytest.raises(UsageError, match="nothing to evaluate"):
        evaluate([])


def test_the_results_of_a_run(tmp_path, scene, options, video, save):
    frames, out = scene(24, visit=16), tmp_path / "out"
    np.save(tmp_path / "clip.npy", frames)
    run(tmp_path / "clip.npy", out, options(outputs={"mask"}, format="mkv", model="paper"))
    truth = np.zeros(frames.shape[:3], np.uint8)
    truth[16:, 12:24, 12:24] = 255
    pair = Pair(str(out), save("t", truth), footage=str(tmp_path / "clip.npy"))
    (one,) = evaluate([pair], EvaluationOptions(worst=1)).sequences
    assert [f.frame for f in one.frames] == list(range(1, len(truth) + 1))
    masks = video(out / "mask.mkv", "gray") > 0
    assert one.counts.tp == np.count_nonzero(masks & (truth > 0))
    assert one.counts.wrong == np.count_nonzero(masks != (truth > 0)) > 0
    ((number, frame),) = footage_frames(one).items()
    assert np.array_equal(frame, frames[number - 1, ..., ::-1])
