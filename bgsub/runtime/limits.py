"""Read memory limits, and find out what memory and disk space there is."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bgsub.errors import MemoryLimitError, OutputError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*(?:(%)|([KMGT]?)(?:i?B)?)\s*", re.IGNORECASE | re.ASCII)

_CGROUPS = Path("/proc/self/cgroup")
_CGROUP_ROOT = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")
_STATM = Path("/proc/self/statm")

# Address space that libraries and threads of a run take that are not there when it begins. It is
# most of what they ask for, and little of it becomes memory.
_LIBRARIES, _A_THREAD = 600 * 10**6, 16 * 10**6
_ASSUMED = 4 * 10**9  # where the system says nothing at all


def split_memory(text: str) -> tuple[float, str]:
    """Read an amount of memory, such as ``600M``, or a share, such as ``50%``: number and unit.

    ValueError for any other text, less than a byte, or a share that is not above 0 and up to 100 %.
    """
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no amount of memory")
    number, unit = float(match[1]), match[2] or match[3].upper()
    if not (0.0 < number <= 100.0 if unit == "%" else number * _UNITS[unit] >= 1.0):
        raise ValueError(f"{text!r} is no amount of memory")
    return number, unit


def memory_bytes(text: str) -> int:
    """Return the bytes meant by ``600M``, ``4G`` or ``50%`` of what is available."""
    number, unit = split_memory(text)
    if unit == "%":
        return max(1, int(number / 100.0 * available_memory()))
    return int(number * _UNITS[unit])


def amount(count: int) -> str:
    """Write bytes rounded up to 2 to 4 digits, as --memory takes them: 313M, 2612M, 26G."""
    count = max(count, 1)
    return f"{-(-count // 10**6)}M" if count < 10**10 else f"{-(-count // 10**9)}G"


def available_memory() -> int:
    """Return the bytes to be had without swapping, within control groups and ``ulimit -v``."""
    found = list(_cgroup_rooms())
    room = address_room()
    if room is not None:
        found.append(room - _LIBRARIES)
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    if not found:
        try:
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
        except (AttributeError, ValueError, OSError):
            found.append(_ASSUMED)
    return max(min(found), 1)


def address_room() -> int | None:
    """Return the bytes of address space that are left to the process; None if nothing limits it."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        taken = int(_STATM.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):  # another system
        return None
    return None if limit == resource.RLIM_INFINITY else max(0, limit - taken)


def check_address_space(threads: int) -> None:
    """Raise MemoryLimitError where ``ulimit -v`` leaves too little for the libraries of a run.

    OpenBLAS asks for ever for what it cannot have, or ends the process without a word of ours.
    """
    room, needed = address_room(), _LIBRARIES + threads * _A_THREAD
    if room is not None and room < needed:
        message = f"out of memory: the limit on address space (ulimit -v) leaves {amount(room)}"
        raise MemoryLimitError(f"{message}, and a run takes {amount(needed)}; allow more")


def _cgroup_rooms() -> Iterator[int]:
    """Yield what the limits of the control groups of this process leave, of both versions."""
    try:
        lines = _CGROUPS.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "?", "?"][:3]
        if controllers == "":
            root, limit, use, cache = _CGROUP_ROOT, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            root, cache = _CGROUP_ROOT / "memory", "total_inactive_file"
            limit, use = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        # A limit of any group above holds too. In a container the upper ones are not to be seen.
        group = root / path.lstrip("/")
        while group.is_relative_to(root):
            try:
                room = int((group / limit).read_text()) - int((group / use).read_text())
            except (OSError, ValueError):  # no such group, or "max": no limit
                pass
            else:
                # Besides cached files that the system drops when it needs the memory.
                with contextlib.suppress(OSError, ValueError):
                    stat = (group / "memory.stat").read_text(encoding="ascii").splitlines()
                    words = (line.split() for line in stat)
                    room += next((int(count) for name, count in words if name == cache), 0)
                yield room
            group = group.parent


def give_back() -> None:
    """Let the system have the memory that was freed, where the C library keeps it (glibc does).

    What one stage has freed would be added to what the next one takes. Costs milliseconds.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another C library, another system
        return


def spill_folder() -> Path:
    """Choose a folder to spill frames to: often /tmp is in memory, and /var/tmp is not."""
    large = Path("/var/tmp")  # noqa: S108 - the file that is made there has no name
    if "TMPDIR" not in os.environ and large.is_dir() and os.access(large, os.W_OK | os.X_OK):
        return large
    return Path(tempfile.gettempdir())


def check_folder(folder: Path, option: str) -> None:
    """Raise OutputError unless files can be made in a folder."""
    if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises for names that are refused
        what = "is no folder" if os.path.lexists(folder) else "does not exist"
        raise OutputError(f"{option} {folder}: {what}; name a folder that exists")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{option} {folder}: may not be written to; name another folder")


def free_space(folder: Path) -> int:
    """Return the bytes free on the disk of a folder; 0 where the system does not say."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
