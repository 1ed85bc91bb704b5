"""Change the bytes of files as disks, networks and people with editors do."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

Rng = np.random.Generator

_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_HEADER = 256


def flip(data: bytes, rng: Rng) -> bytes:
    """Flip up to eight bits, half of the time in the header."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        changed[_place(len(data), rng)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def overwrite(data: bytes, rng: Rng) -> bytes:
    """Write noise, zeros or a borderline number over some bytes."""
    changed = bytearray(data)
    start = _place(len(data), rng)
    kind = int(rng.integers(3))
    if kind == 0:
        piece = rng.bytes(int(rng.integers(1, 64)))
    elif kind == 1:
        piece = bytes(int(rng.integers(1, 600)))
    else:
        value = _NUMBERS[int(rng.integers(len(_NUMBERS)))]
        piece = value.to_bytes(4, "little" if rng.random() < 0.5 else "big")
    changed[start : start + len(piece)] = piece[: len(data) - start]
    return bytes(changed)


def cut(data: bytes, rng: Rng) -> bytes:
    """Cut the end off."""
    return data[: int(rng.integers(len(data)))]


def leave_out(data: bytes, rng: Rng) -> bytes:
    """Leave out a stretch."""
    start = _place(len(data), rng)
    return data[:start] + data[start + int(rng.integers(1, 2 + len(data) // 8)) :]


def repeat(data: bytes, rng: Rng) -> bytes:
    """Write a stretch twice."""
    start = _place(len(data), rng)
    stop = start + int(rng.integers(1, 2 + len(data) // 8))
    return data[:stop] + data[start:]


def _place(length: int, rng: Rng) -> int:
    return int(rng.integers(min(length, _HEADER) if rng.random() < 0.5 else length))


MUTATIONS: tuple[Callable[[bytes, Rng], bytes], ...] = (flip, overwrite, cut, leave_out, repeat)


def mutate(data: bytes, rng: Rng) -> bytes:
    """Change bytes in one to three ways."""
    for _ in range(int(rng.integers(1, 4))):
        if data:
            data = MUTATIONS[int(rng.integers(len(MUTATIONS)))](data, rng)
    return data


STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 10**20, -(10**400), 0.5, 1e308, float("nan"), float("inf")),
    *("", " ", "x", "0", "-1", "1e400", "nan", "\0", "\n", "ä", "../..", "/dev/null", "a" * 5000),
    *([], {}, [[]], {"": None}, "[" * 2000, [1, "2", None]),
)


def strange(rng: Rng) -> Any:
    """Give a value that nobody expects, a new one each time: lists of it are changed in turn."""
    return deepcopy(STRANGE[int(rng.integers(len(STRANGE)))])


def mutate_json(text: str, rng: Rng) -> str:
    """Change, remove or add one to three values anywhere in a JSON object."""
    tree = json.loads(text)
    for _ in range(int(rng.integers(1, 4))):
        node, keys = tree, []
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = keys[int(rng.integers(len(keys)))]
            child = node[key]
            if isinstance(child, dict | list) and child and rng.random() < 0.8:
                node = child
                continue
            if rng.random() < 0.2:
                del node[key]
            else:
                node[key] = strange(rng)
            break
    return json.dumps(tree)


def mutate_table(text: str, rng: Rng) -> str:
    """Change, remove, double or swap cells and lines of a CSV table."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(int(rng.integers(1, 4))):
        row = rows[int(rng.integers(len(rows)))]
        kind = int(rng.integers(5))
        if kind == 0 and row:
            row[int(rng.integers(len(row)))] = str(strange(rng))
        elif kind == 1 and row:
            row.pop(int(rng.integers(len(row))))
        elif kind == 2:
            row.append(str(strange(rng)))
        elif kind == 3:
            rows.insert(int(rng.integers(len(rows) + 1)), list(row))
        else:
            rows.reverse()
    return "\n".join(",".join(row) for row in rows) + "\n"
