"""Pictures of digits: files of them, draws, and fits."""

from __future__ import annotations

import builtins
import bz2
import dataclasses
import gzip
import lzma
import struct
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import InputError, UsageError
from bgsub.paper.curves import (
    OTHERS,
    VARIANTS,
    DigitOptions,
    Digits,
    draw_sets,
    load_digits,
    read_idx,
    read_libsvm,
    run_digits,
)


def idx(array):
    array = np.asarray(array, dtype=np.uint8)
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


IMAGES = np.arange(4 * 3 * 2, dtype=np.uint8).reshape(4, 3, 2) * 10
LABELS = np.array([0, 1, 9, 5], dtype=np.uint8)


@pytest.fixture(params=["", ".gz"])
def mnist(tmp_path, request):
    pack = gzip.compress if request.param else bytes
    for name, array in (
        ("train-images-idx3-ubyte", IMAGES),
        ("train-labels-idx1-ubyte", LABELS),
        ("t10k-images-idx3-ubyte", IMAGES[:1]),
        ("t10k-labels-idx1-ubyte", LABELS[:1]),
    ):
        (tmp_path / f"{name}{request.param}").write_bytes(pack(idx(array)))
    return tmp_path / f"train-images-idx3-ubyte{request.param}"


def test_idx_comes_with_the_labels_beside_it(mnist):
    digits = load_digits(mnist)
    np.testing.assert_allclose(digits.X, IMAGES.reshape(4, 6) / 230)
    np.testing.assert_array_equal(digits.labels, LABELS)
    assert digits.name == mnist.name


def test_missing_labels_are_named(mnist):
    labels = mnist.with_name(mnist.name.replace("images", "labels").replace("idx3", "idx1"))
    labels.unlink()
    with pytest.raises(InputError, match=f"they must be beside it, as {labels.name}"):
        load_digits(mnist)


def test_as_many_labels_as_pictures_are_needed(mnist):
    mnist.write_bytes((gzip.compress if mnist.suffix else bytes)(idx(IMAGES[:3])))
    with pytest.raises(InputError, match="3×3×2 and 4; one digit for each picture"):
        load_digits(mnist)


def test_a_cut_off_file_is_said_to_be(tmp_path):
    path = tmp_path / "a-images-idx3-ubyte"
    path.write_bytes(idx(IMAGES)[:-1])
    with pytest.raises(InputError, match="should hold 24 bytes behind its header, but holds 23"):
        read_idx(path)
    packed = tmp_path / "a-images-idx3-ubyte.gz"
    packed.write_bytes(gzip.compress(idx(IMAGES))[:-12])
    with pytest.raises(InputError, match="is damaged"):
        load_digits(packed)


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_libsvm_text(tmp_path, suffix, pack):
    path = tmp_path / f"usps{suffix}"
    text = "7 1:-1 3:0.5  \n\n10 2:2 # a comment\n1\n"
    path.write_bytes(pack(text.encode()))
    X, labels = read_libsvm(path)
    np.testing.assert_array_equal(X, [[-1, 0, 0.5], [0, 2, 0], [0, 0, 0]])
    np.testing.assert_array_equal(labels, [6, 9, 0])
    np.testing.assert_array_equal(load_digits(path).X, X / 2)


def test_labels_from_0_stay_as_they_are(tmp_path):
    path = tmp_path / "mnist"
    path.write_text("0 1:1\n9 1:1\n")
    np.testing.assert_array_equal(read_libsvm(path)[1], [0, 9])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\n2 1:x\n", "line 2: is not label index:value"),
        ("1 0:1\n", "line 1"),
        ("1 99999999999:1\n", "line 1"),
        ("a 1:1\n", "line 1"),
        ("1 7\n", "line 1"),
        ("", "holds no pictures"),
        ("1 1:nan\n", "no finite number"),
        ("1 1:1 €", "neither IDX nor"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    path = tmp_path / "digits"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_digits(path)


def test_what_is_not_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_digits(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read"):
        load_digits(tmp_path)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("digits") / "file"
    path.write_bytes(raw)
    try:
        digits = load_digits(path)
    except InputError:
        return
    assert len(digits.X) == len(digits.labels)


def test_without_scikit_learn_it_is_said_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(InputError, match=r"pip install scikit-learn` installs it, or name USPS"):
        load_digits(None)


def test_the_digits_of_scikit_learn_are_scaled(monkeypatch):
    datasets = types.ModuleType("sklearn.datasets")
    datasets.load_digits = lambda *, return_X_y: (np.full((3, 64), 16.0), np.array([1, 2, 3]))
    monkeypatch.setitem(sys.modules, "sklearn", types.ModuleType("sklearn"))
    monkeypatch.setitem(sys.modules, "sklearn.datasets", datasets)
    digits = load_digits(None)
    assert digits.X.shape == (3, 64)
    assert digits.X.max() == 1.0
    assert digits.labels.dtype == np.int64


@pytest.mark.parametrize("names", [("X", "y"), ("x_train", "y_train")])
def test_arrays_of_an_npz_file(tmp_path, names):
    path = tmp_path / "mnist.npz"
    np.savez_compressed(path, **dict(zip(names, (IMAGES, LABELS), strict=True)), other=np.ones(3))
    digits = load_digits(path)
    np.testing.assert_allclose(digits.X, IMAGES.reshape(4, 6) / 230)
    np.testing.assert_array_equal(digits.labels, LABELS)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": IMAGES}, "holds a; it must hold X and y or x_train and y_train"),
        ({"X": IMAGES, "y": LABELS[:3]}, "digits are 4×3×2 and 3; one digit for each picture"),
        ({"X": LABELS, "y": LABELS}, "one digit for each picture"),
        ({"X": IMAGES, "y": np.array(list("abcd"))}, "pictures and digits must be numbers"),
        ({"X": IMAGES * np.nan, "y": LABELS}, "no finite number"),
        ({"X": np.array([{}, 1, 2, 3]), "y": LABELS}, "Python objects"),
    ],
)
def test_other_arrays_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "own.npz", **arrays)
    with pytest.raises(InputError, match=message):
        load_digits(tmp_path / "own.npz")


def test_an_npz_file_that_is_none_is_said_to_be(tmp_path):
    (tmp_path / "own.npz").write_bytes(b"PK, perhaps")
    with pytest.raises(InputError, match=r"own\.npz: it is damaged, or no array"):
        load_digits(tmp_path / "own.npz")


QUICK = tuple(v for v in VARIANTS if v.name in {"TRPCA", "PCA"})
SMALL = DigitOptions(
    true=0, outliers=("1", OTHERS), ks=(1, 2), shares=(0.2, 0.4), sets=1, samples=60
)


@pytest.fixture(scope="module")
def digits():
    """Ten kinds of pictures, each near a plane of its own."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 50)
    centers, axes = rng.random((10, 30)), rng.normal(size=(10, 2, 30)) * 0.1
    scores = rng.normal(size=(500, 1, 2))
    X = centers[labels] + (scores @ axes[labels])[:, 0] + 0.01 * rng.normal(size=(500, 30))
    return Digits(X, labels, "made up")


def test_outliers_make_up_their_share_in_equal_proportion(digits):
    options = dataclasses.replace(SMALL, sets=2)
    for _, X, true in draw_sets(digits, OTHERS, 0.4, 50, options):
        assert X.shape == (50, 30)
        assert true.sum() == 30
        kinds = [digits.labels[(row == digits.X).all(axis=1)][0] for row in X]
        counts = np.bincount(np.array(kinds)[~true], minlength=10)
        assert counts[0] == 0
        assert counts[1:].min() >= 2 <= counts[1:].max() <= 3
        assert set(np.array(kinds)[true]) == {0}


def test_trpca_with_true_t_finds_the_true_digit(digits):
    points = run_digits(digits, SMALL, variants=QUICK)
    assert len(points) == 2 * 2 * 2 * 2
    assert {point["n"] for point in points} == {60}
    reached = {(p["variant"], p["outliers"], p["k"], p["share"]): p["tre_mean"] for p in points}
    for (variant, *panel), tre in reached.items():
        assert variant == "TRPCA" or reached["TRPCA", *panel] < tre / 10


def test_the_same_seed_gives_the_same_numbers(digits):
    first, second = (
        [{**p, "seconds": 0.0} for p in run_digits(digits, SMALL, variants=QUICK)] for _ in range(2)
    )
    assert first == second


def test_samples_are_what_the_data_have(digits):
    many = dataclasses.replace(SMALL, samples=10_000, ks=(1,), shares=(0.2,), outliers=("1",))
    points = run_digits(digits, many, variants=QUICK[:1])
    assert points[0]["n"] == 62  # 50 true ones are 80 %


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"true": 10}, "--true 10"),
        ({"outliers": ("1",)}, "--outliers 1: must be others or a digit other than 1"),
        ({"outliers": ("x",)}, "--outliers x"),
        ({"outliers": ("²",)}, "--outliers ²"),
    ],
)
def test_options_are_checked(changes, message):
    with pytest.raises(UsageError, match=message):
        DigitOptions(**changes)


def test_too_few_pictures_are_named(digits):
    few = Digits(digits.X[100:], digits.labels[100:], "few")
    with pytest.raises(UsageError, match="few: has too few pictures of digit 0"):
        run_digits(few, SMALL)
    with pytest.raises(UsageError, match="--k 30: must be below half of the 60"):
        run_digits(digits, dataclasses.replace(SMALL, ks=(30,)))
