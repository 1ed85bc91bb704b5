"""Give the frames of stretches of a film, sought where that is exact."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from bgsub.video.frames import Frame
from bgsub.video.seeking import can_seek, frames_between
from bgsub.video.source import FrameSource, open_source
from bgsub.video.video_file import VideoFileSource


class Stretches:
    """Stretches of one film, one after the other.

    Parameters
    ----------
    source : FrameSource
        The film.
    numbered : bool
        Whether the numbers of the frames are wanted: the film is read through once then, for a
        frame that was sought has none.
    fps : str, optional
        The rate that was given for `source`.
    """

    def __init__(
        self, source: FrameSource, *, numbered: bool = False, fps: str | None = None
    ) -> None:
        self.source, self._fps = source, fps
        self._half = 0.5 / float(source.rate or 25)
        self._sought = not numbered and isinstance(source, VideoFileSource) and can_seek(source)
        self._rest: Iterator[Frame] = iter(source) if numbered else iter(())
        self._numbered = numbered

    def frames(self, start_s: float, end_s: float) -> Iterator[Frame]:
        """Give the frames of a stretch; with numbers, stretches must come in order of time.

        Parameters
        ----------
        start_s, end_s : float
            Times of the first and last frame, from the film's first frame on.
        """
        if self._numbered:
            return self._next(start_s, end_s)
        if self._sought and isinstance(self.source, VideoFileSource):
            return frames_between(self.source, start_s, end_s)
        start, end = max(start_s - self._half, 0.0), end_s + self._half
        first, last = f"{start:.6f}s", f"{end:.6f}s"
        return iter(open_source(self.source.path, start=first, end=last, fps=self._fps))

    def _next(self, start_s: float, end_s: float) -> Iterator[Frame]:
        for frame in self._rest:
            if frame.time_s > end_s + self._half:
                self._rest = chain([frame], self._rest)
                return
            if frame.time_s >= start_s - self._half:
                yield frame
