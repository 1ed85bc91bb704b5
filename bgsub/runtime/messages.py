"""Pass messages between processes of bgsub, through pipes."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">Q")


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
    """Write a message to a pipe."""
    data = pickle.dumps(message, protocol=5)
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO) -> object | None:
    """Read the next message; None where the pipe has ended, amid a message too."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = pipe.read(length)
    if len(data) < length:
        return None
    message: object = pickle.loads(data)  # noqa: S301 - of a process of ours, from our own module
    return message
