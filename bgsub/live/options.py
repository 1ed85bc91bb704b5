"""Hold how a stream is watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bgsub.background.model import BackgroundModel
from bgsub.live.clip import ClipFormat
from bgsub.live.clips_folder import Keep
from bgsub.live.feed import PAUSES_S
from bgsub.local.params import MaskOptions
from bgsub.tracking.choosing import EventFilter
from bgsub.tracking.regions import Region


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """How a stream is watched.

    Attributes
    ----------
    window_s, refresh_s, warm_up_s : float
        See `Learner`.
    before_s, after_s : float
        Seconds of a clip before an event, and without objects after which it ends.
    min_area : int, optional
        Pixels of the stream that an object covers at least.
    min_track : int
        Frames in which an object must have been seen.
    counted : EventFilter
        Which objects make events; of it, their largest area and the places.
    regions : tuple of Region
        Whose names are said of what was in them.
    masks : MaskOptions
    model : BackgroundModel, optional
        Used instead of learning.
    scale : float, optional
        Of the pictures that are analysed; None is chosen from their size.
    every_s : float
        Seconds between them; 0 for all.
    drops : bool, optional
        Whether frames for which there is no time are left out; None is for all but files.
    clips, sound, writes_masks : bool
        Whether there are clips, whether they have sound, and whether there are masks too.
    clip_format : {"auto", "mp4", "mkv"}
    keep : Keep
    stall_s : float
    pauses_s : sequence of float
        As of `Feed`.
    threads : int, optional
        For learning; None is one, so that another core is free for what is seen meanwhile.
    status : Path, optional
        Where the status is written.
    """

    window_s: float = 600.0
    refresh_s: float = 30.0
    warm_up_s: float = 5.0
    before_s: float = 5.0
    after_s: float = 2.0
    min_area: int | None = None
    min_track: int = 3
    counted: EventFilter = field(default_factory=EventFilter)
    regions: tuple[Region, ...] = ()
    masks: MaskOptions = field(default_factory=MaskOptions)
    model: BackgroundModel | None = None
    scale: float | None = None
    every_s: float = 0.0
    drops: bool | None = None
    clips: bool = True
    sound: bool = True
    writes_masks: bool = False
    clip_format: ClipFormat = "auto"
    keep: Keep = field(default_factory=Keep)
    stall_s: float = 20.0
    pauses_s: Sequence[float] = PAUSES_S
    threads: int | None = None
    status: Path | None = None
