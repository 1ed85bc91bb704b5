"""Share a temporary file without a name: no kill leaves it, and child processes have it too."""

from __future__ import annotations

import contextlib
import os
import tempfile
from multiprocessing import reduction
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from bgsub.errors import OutputError


class SharedFile:
    """A file that its process can hand to the processes that it starts, by pickling.

    A context manager, which frees the disk. Where files without a name cannot be handed on
    (Windows), it has one that only this user can read.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    file : binary file
        Positions are shared with the processes that have it.

    Raises
    ------
    OutputError
        If no file can be made there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            if os.name == "nt":
                self.file: IO[bytes] = tempfile.NamedTemporaryFile(  # noqa: SIM115 - see close
                    prefix="bgsub-compare-", dir=folder, delete=False
                )
            else:
                self.file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - see close
        except OSError as error:
            message = f"{folder}: frames cannot be kept there ({error.strerror}); use --temp"
            raise OutputError(message) from error

    def __getstate__(self) -> dict[str, Any]:
        self.file.flush()
        if os.name == "nt":
            return {"folder": self.folder, "handed": self.file.name}
        return {"folder": self.folder, "handed": reduction.DupFd(self.file.fileno())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        handed = state["handed"]
        self.folder = state["folder"]
        self.file = open(handed if os.name == "nt" else handed.detach(), "rb")  # noqa: PTH123, SIM115 - a name or a descriptor, see close

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.file.close()
        if os.name == "nt":
            with contextlib.suppress(OSError):
                Path(self.file.name).unlink()
