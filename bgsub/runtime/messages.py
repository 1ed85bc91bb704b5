"""Pass messages between processes of bgsub, through pipes."""

from __future__ import annotations

import pickle
import struct
from io import BufferedReader
from typing import BinaryIO, cast

_NUMBER = struct.Struct(">Q")


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
    whole: object = pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301 - our own process's
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
