"""Every option of a run, resolved, as one frozen value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from bgsub.errors import UsageError

OUTPUTS = ("background", "foreground", "mask", "errors", "plot", "model", "preview")
"""What a run can write: three videos, errors.csv, errors.png, model.npz and preview.mp4."""

DEFAULT_OUTPUTS = frozenset(OUTPUTS) - {"preview"}

ProgressCallback = Callable[[str, int, int | None], None]
"""Called with the stage, the frames (or blocks) done and their number if it is known."""


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Which frames and pixels are read; see `bgsub.open_source`.

    Attributes
    ----------
    start, end, every : str or int, optional
        Frames from 1, seconds (``12.5s``) or ``HH:MM:SS.mmm``.
    scale : float
        Factor on width and height.
    roi : tuple of four ints, optional
        X, Y, width, height in input pixels, before `scale`.
    mask_image : str, optional
        Image file; pixels where it is black are left out of the fit and stay as they are.
    color : {"auto", "gray", "color"}
    on_bad_frame : {"skip", "repeat", "fail"}
    """

    start: str | int | None = None
    end: str | int | None = None
    every: str | int | None = None
    scale: float = 1.0
    roi: tuple[int, int, int, int] | None = None
    mask_image: str | None = None
    color: Literal["auto", "gray", "color"] = "auto"
    on_bad_frame: Literal["skip", "repeat", "fail"] = "skip"


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How frames are fitted and what is written; a run is these options and an input.

    Attributes
    ----------
    source : SourceOptions
    k, support_fraction, n_init, tol, max_iter, reweight, solver, seed
        See `bgsub.TRPCA`; `seed` is its random_state.
    cutoff : float, optional
        Robust z-score above which a frame is an outlier; None is the documented default.
    format : {"mp4", "mkv", "png"}
        H.264, lossless FFV1, or a directory of PNG files.
    foreground : {"abs", "signed", "cutout"}
    outputs : frozenset of str
        Members of `OUTPUTS`.
    threshold : float, optional
        Grey levels; None is chosen from the noise of the residual.
    min_area : int, optional
        Smallest blob of a mask in pixels; None is chosen from the frame size.
    clean : bool
        Median filter and smallest-blob rule.
    plot_format : {"png", "svg"}
    force : bool
        Replace what an earlier run of bgsub wrote.
    threads : int, optional
        None is every core that the process may use.
    """

    source: SourceOptions = field(default_factory=SourceOptions)
    k: int = 10
    support_fraction: float | None = None
    n_init: int = 10
    tol: float = 1e-5
    max_iter: int = 1000
    reweight: bool = True
    solver: Literal["gram", "reference"] = "gram"
    seed: int = 0
    cutoff: float | None = None
    format: Literal["mp4", "mkv", "png"] = "mp4"
    foreground: Literal["abs", "signed", "cutout"] = "abs"
    outputs: frozenset[str] = DEFAULT_OUTPUTS
    threshold: float | None = None
    min_area: int | None = None
    clean: bool = True
    plot_format: Literal["png", "svg"] = "png"
    force: bool = False
    threads: int | None = None

    def to_json(self) -> dict[str, Any]:
        """All options as plain JSON values."""
        plain = asdict(self)
        plain["outputs"] = sorted(self.outputs)
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> RunOptions:
        """Options from what `to_json` returned.

        Raises
        ------
        UsageError
            For a name that is not an option.
        """
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(plain) - known)
        if unknown:
            message = f"option {unknown[0]!r} is not known to this version of bgsub"
            raise UsageError(message)
        values = dict(plain)
        source = dict(values.pop("source", {}))
        if source.get("roi") is not None:
            source["roi"] = tuple(source["roi"])
        if "outputs" in values:
            values["outputs"] = frozenset(values["outputs"])
        return cls(source=SourceOptions(**source), **values)
