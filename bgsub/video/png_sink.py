"""Write directories of numbered PNG pictures."""

from __future__ import annotations

import contextlib
from pathlib import Path

from bgsub.errors import InputError, OutputError
from bgsub.video.frames import Layout
from bgsub.video.images import Image, read_image, write_image
from bgsub.video.pictures import as_picture
from bgsub.video.verify import check_count, make_empty_folder


class PngSink:
    """Writes a directory of numbered PNG pictures; see `open_sink` and `FrameSink`."""

    def __init__(self, path: Path, name: str, *, layout: Layout) -> None:
        self.name = name
        self.path = path
        self.padded = False
        self.count = 0
        self._layout = layout
        self._finished = False
        self._complete = False
        make_empty_folder(path)

    def _file(self, number: int) -> Path:
        return self.path / f"{number:06d}.png"

    def write(self, frame: Image, time_s: float | None = None) -> None:  # noqa: ARG002 - contract
        """Write a frame as the next picture, grey of 8 or 16 bits or BGR; see `VideoSink.write`."""
        if self._finished:
            raise ValueError(f"{self.path}: the sink is closed")
        picture = as_picture(frame, self._layout)
        file = self._file(self.count + 1)
        self.count += 1  # before writing, so that abort removes half a file too
        write_image(file, picture)

    def close(self) -> int:
        """Count the pictures and read the first and the last; see `VideoSink.close`."""
        if self._complete:
            return self.count
        if self._finished:
            raise ValueError(f"{self.path}: the sink was aborted or could not be closed")
        self._finished = True
        if self.count == 0:
            raise OutputError(f"{self.path}: no frame was written to it; select some frames")
        found = 0
        for number in range(1, self.count + 1):
            with contextlib.suppress(OSError):
                found += self._file(number).stat().st_size > 0
        check_count(self.path, found, self.count)
        for number in {1, self.count}:
            try:
                read_image(self._file(number))
            except InputError as error:
                raise OutputError(f"cannot be read back after writing: {error}") from error
        self._complete = True
        return self.count

    def abort(self) -> None:
        """Remove the pictures, and the directory if nothing else is in it."""
        self._finished, self._complete = True, False
        with contextlib.suppress(OSError):
            for number in range(1, self.count + 1):
                self._file(number).unlink(missing_ok=True)
            self.path.rmdir()
