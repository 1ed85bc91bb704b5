"""Pass messages between processes of bgsub, through pipes."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, BinaryIO, cast

_NUMBER = struct.Struct(">Q")


@dataclass(frozen=True)
class Modules:
    """The first message to a helper: what is to be imported while nobody waits for it."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Maker:
    """The second: ``make(**arguments)`` gives the function that is wanted; the answer is None."""

    make: Callable[..., Callable[[Any], Any]]
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Call:
    """Each of the others, an argument of the function; the answer is an `Answer`."""

    argument: Any


@dataclass(frozen=True)
class Answer:
    """What a call gave, or None where there was none."""

    value: Any


def send(pipe: BinaryIO, message: object) -> None:
    """Write a message to a pipe: how many parts it has and how long they are, and then these.

    Contiguous arrays are parts of their own: they need not be copied before they are written.
    """
    arrays: list[pickle.PickleBuffer] = []
    data = pickle.dumps(message, protocol=5, buffer_callback=arrays.append)
    parts = [memoryview(data), *(array.raw() for array in arrays)]
    numbers = len(parts), *(part.nbytes for part in parts)
    pipe.writelines([*map(_NUMBER.pack, numbers), *parts])
    pipe.flush()


def receive(pipe: BinaryIO) -> object | None:
    """Read the next message; None where the pipe has ended, amid a message too."""
    try:
        lengths = [_number(pipe) for _ in range(_number(pipe))]
        parts = [_part(pipe, length) for length in lengths]
    except EOFError:
        return None
    whole: object = pickle.loads(parts[0], buffers=parts[1:])
    return whole


def _number(pipe: BinaryIO) -> int:
    (number,) = _NUMBER.unpack(_part(pipe, _NUMBER.size))
    return int(number)


def _part(pipe: BinaryIO, length: int) -> bytearray:
    """Read so many bytes, which arrays can be in and be changed."""
    part = bytearray(length)
    if cast("BufferedReader", pipe).readinto(part) < length:
        raise EOFError
    return part
