"""Read pictures of digits: scikit-learn's own, or USPS and MNIST in their published formats.

- IDX, also compressed (``train-images-idx3-ubyte``, ``.gz``), with the labels in a file beside it
  whose name has ``labels`` and ``idx1`` in place of ``images`` and ``idx3``; or a folder of such.
- The text format of libsvm, ``label index:value …``, also compressed (``usps``, ``usps.bz2``,
  ``mnist.xz``). Labels 1 … 10, as those of USPS there, are the digits 0 … 9.
- An .npz file with arrays ``X`` and ``y``, or ``x_train`` and ``y_train`` as Keras's ``mnist.npz``.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.files import check_plain
from bgsub.video.npy import ArrayFileError
from bgsub.video.npz import ArrayArchive

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_IDX_BYTES = 8
_ARRAY_NAMES = (("X", "y"), ("x_train", "y_train"))
_MOST_FEATURES = 1 << 20
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, eq=False)
class Digits:
    """Pictures of digits.

    Attributes
    ----------
    X : ndarray of shape (n, p), float64
        A picture a row, scaled so that the largest magnitude is 1.
    labels : ndarray of shape (n,), int64
        The digit, 0 … 9.
    name : str
    """

    X: NDArray[np.float64]
    labels: NDArray[np.int64]
    name: str


def load_digits(path: Path | None) -> Digits:
    """Read pictures of digits.

    Parameters
    ----------
    path : Path, optional
        A file or folder; None is the 8×8 digits of scikit-learn.

    Raises
    ------
    InputError
        If it cannot be read, or scikit-learn is not installed; says how to get it.
    """
    if path is None:
        return _shipped()
    check_plain(path)
    try:
        if path.is_dir():
            path = _images_in(path)
        X, labels = _reader(path)(path)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error})"
        raise InputError(message) from error
    except _DAMAGE as error:
        message = f"{path}: is damaged ({error}); get it again"
        raise InputError(message) from error
    peak = float(np.abs(X).max(initial=0.0))
    return Digits(X / peak if peak else X, labels, path.name)


def _reader(path: Path) -> Callable[[Path], tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Choose how a file is read."""
    if path.suffix.lower() == ".npz":
        return _read_arrays
    return _read_idx_pair if _is_idx(path) else read_libsvm


def _shipped() -> Digits:
    try:
        from sklearn.datasets import load_digits as load
    except ImportError as error:
        message = (
            "the digits come with scikit-learn, which is not installed; "
            "pip install 'bgsub[experiments]', or name USPS or MNIST with --data"
        )
        raise InputError(message) from error
    X, labels = load(return_X_y=True)
    return Digits(np.asarray(X, dtype=np.float64) / 16.0, labels.astype(np.int64), "digits 8×8")


def _images_in(folder: Path) -> Path:
    found = sorted(file for file in folder.iterdir() if "images" in file.name and _is_idx(file))
    if not found:
        message = f"{folder}: holds no IDX file of images, such as train-images-idx3-ubyte.gz"
        raise InputError(message)
    training = [file for file in found if "train" in file.name]
    return (training or found)[0]


def _read(path: Path, count: int = -1) -> bytes:
    opener: Any = _OPENERS.get(path.suffix.lower(), open)
    with opener(path, "rb") as file:
        data: bytes = file.read(count)
    return data


def _is_idx(path: Path) -> bool:
    """Say whether a file begins with the magic number of IDX bytes."""
    if not path.is_file():
        return False
    head = _read(path, 4)
    return len(head) == 4 and head[:2] == b"\0\0" and head[2] == _IDX_BYTES and 1 <= head[3] <= 4


def _read_idx_pair(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    images = read_idx(path)
    name = path.name.replace("images", "labels").replace("idx3", "idx1")
    beside = path.with_name(name)
    if name == path.name or not beside.is_file():
        message = f"{path}: its labels are missing; they must be beside it, as {name}"
        raise InputError(message)
    labels = read_idx(beside)
    if images.ndim < 2 or labels.ndim != 1 or len(images) != len(labels):
        message = (
            f"{path}: holds {'×'.join(map(str, images.shape))} bytes, but {beside} "
            f"{'×'.join(map(str, labels.shape))}; one label for each picture is needed"
        )
        raise InputError(message)
    return images.reshape(len(images), -1).astype(np.float64), labels.astype(np.int64)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file of bytes, compressed or not.

    Raises
    ------
    InputError
        If it is none, or is cut off.
    """
    data = _read(path)
    dimensions = data[3] if len(data) >= 4 and data[:3] == b"\0\0\x08" else 0
    start = 4 + 4 * dimensions
    if not dimensions or len(data) < start:
        raise InputError(f"{path}: is no IDX file of bytes")
    shape = struct.unpack(f">{dimensions}I", data[4:start])
    if len(data) - start != math.prod(shape):
        message = (
            f"{path}: should hold {math.prod(shape)} bytes behind its header, but holds "
            f"{len(data) - start}; get it again"
        )
        raise InputError(message)
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def read_libsvm(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read the text format of libsvm, compressed or not.

    Returns
    -------
    X : ndarray of shape (n, p), float64
        Values that a line leaves out are 0.
    labels : ndarray of shape (n,), int64
        Digits.

    Raises
    ------
    InputError
        If it is in no such format; names the line.
    """
    try:
        lines = _read(path).decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        message = f"{path}: is neither IDX nor the text format of libsvm"
        raise InputError(message) from error
    labels, rows, columns, values = [], [], [], []
    for number, line in enumerate(lines, start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            labels.append(float(words[0]))
            pairs = [word.split(":", 1) for word in words[1:]]
            columns += [_index(pair[0]) for pair in pairs]
            values += [float(pair[1]) for pair in pairs]
        except (ValueError, IndexError) as error:
            message = f"{path}, line {number}: is not label index:value …, as libsvm has it"
            raise InputError(message) from error
        rows += [len(labels) - 1] * len(pairs)
    if not labels or not values:
        raise InputError(f"{path}: holds no pictures")
    digits = np.array(labels)
    if not np.isfinite(digits).all() or not np.isfinite(values).all():
        raise InputError(f"{path}: holds a value that is no finite number")
    X = np.zeros((len(labels), max(columns)))
    X[rows, np.array(columns) - 1] = values
    if digits.min() >= 1 and digits.max() == 10:
        digits = digits - 1
    return X, digits.astype(np.int64)


def _read_arrays(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read pictures and digits from the arrays of an .npz file.

    Returns
    -------
    X : ndarray of shape (n, p), float64
    labels : ndarray of shape (n,), int64

    Raises
    ------
    InputError
        If it holds no such arrays, or they do not go together.
    """
    try:
        with ArrayArchive(path) as arrays:
            names = next((pair for pair in _ARRAY_NAMES if set(pair) <= set(arrays)), None)
            if names is None:
                wanted = " or ".join(" and ".join(pair) for pair in _ARRAY_NAMES)
                message = f"{path}: holds {', '.join(arrays) or 'nothing'}; it must hold {wanted}"
                raise InputError(message)
            pictures, digits = (arrays[name] for name in names)
    except ArrayFileError as error:
        message = f"{path}: {error}"
        raise InputError(message) from error
    if pictures.ndim < 2 or digits.shape != pictures.shape[:1] or not pictures.size:
        shapes = " and ".join("×".join(map(str, each.shape)) for each in (pictures, digits))
        message = (
            f"{path}: {' and '.join(names)} are {shapes}; one digit for each picture is needed"
        )
        raise InputError(message)
    if pictures.dtype.kind not in "biuf" or digits.dtype.kind not in "biuf":
        message = f"{path}: {' and '.join(names)} must hold numbers"
        raise InputError(message)
    X = pictures.reshape(len(pictures), -1).astype(np.float64)
    if not np.isfinite(X).all() or not np.isfinite(digits).all():
        raise InputError(f"{path}: holds a value that is no finite number")
    return X, digits.astype(np.int64)


def _index(text: str) -> int:
    index = int(text)
    if not 1 <= index <= _MOST_FEATURES:
        raise ValueError(text)
    return index
