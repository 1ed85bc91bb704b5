"""Every option of a run, resolved, as one frozen value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from bgsub.errors import UsageError
from bgsub.robustpca.competitors.methods import METHODS
from bgsub.runtime.limits import MEMORY_RULE, is_memory

OUTPUTS = (
    *("background", "foreground", "mask", "errors", "plot", "model"),
    *("preview", "spectrum", "scores"),
)
"""What a run can write: three videos, errors.csv, errors.png, model.npz, preview.mp4, spectrum.png
and scores.mkv."""

EXTRA_OUTPUTS = frozenset({"preview", "spectrum", "scores"})
"""Those that are only written when they are asked for."""

DEFAULT_OUTPUTS = frozenset(OUTPUTS) - EXTRA_OUTPUTS

MOST_AUTO_COMPONENTS = 10
"""Most components that ``k="auto"`` chooses; memory is planned for so many."""

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
        Image file; pixels where it is black are left out of the fit and of the masks, and stay as
        they are.
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
    method : str
        A name in `bgsub.robustpca.competitors.methods.METHODS`.
    k : int or "auto"
        Components; "auto" chooses from the frames, see `bgsub.robustpca.rank`.
    support_fraction, seed
        See `bgsub.TRPCA`; `seed` is its random_state.
    lam : float, optional
        λ of the methods that have one; None is the default of each.
    n_init, tol, max_iter, reweight
        See `bgsub.TRPCA`; other methods have settings of their own.
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
    model : {"local", "paper"}, optional
        Whence the masks: local models of the background, or the paper's |x - x_b| > threshold. None
        is local models, but the formula for a `method` other than TRPCA. A `threshold` that is
        given means the formula.
    shadows : {"drop", "keep"}
        Whether local models take cast shadows for background.
    sensitivity : {"low", "normal", "high"}
        Of local models.
    fill_holes : bool
        Whether local models fill the holes of objects.
    ignore : str, optional
        Image file; pixels where it is white take part in the fit, but are never foreground.
    plot_format : {"png", "svg"}
    force : bool
        Replace what an earlier run of bgsub wrote.
    threads : int, optional
        None is every core that the process may use.
    memory : str, optional
        Limit of the process, as ``600M``, ``4G`` or ``50%`` of what is available, which is also
        what None means.
    temp : str, optional
        Folder for frames that do not fit into memory; None is the system's.
    fit_frames : int, optional
        Fit to a sample of so many frames; None fits to all, but to 2000 at most.
    jobs : int
        Runs side by side, in processes of their own, that `threads` and `memory` are shared among.

    Raises
    ------
    UsageError
        For a value out of range, before any work; names the option and the rule.
    """

    source: SourceOptions = field(default_factory=SourceOptions)
    method: str = "trpca"
    k: int | Literal["auto"] = "auto"
    support_fraction: float | None = None
    lam: float | None = None
    n_init: int = 10
    tol: float = 1e-5
    max_iter: int = 1000
    reweight: bool = True
    seed: int = 0
    cutoff: float | None = None
    format: Literal["mp4", "mkv", "png"] = "mp4"
    foreground: Literal["abs", "signed", "cutout"] = "abs"
    outputs: frozenset[str] = DEFAULT_OUTPUTS
    threshold: float | None = None
    min_area: int | None = None
    clean: bool = True
    model: Literal["local", "paper"] | None = None
    shadows: Literal["drop", "keep"] = "drop"
    sensitivity: Literal["low", "normal", "high"] = "normal"
    fill_holes: bool = True
    ignore: str | None = None
    plot_format: Literal["png", "svg"] = "png"
    force: bool = False
    threads: int | None = None
    memory: str | None = None
    temp: str | None = None
    fit_frames: int | None = None
    jobs: int = 1

    def __post_init__(self) -> None:
        for name, (rule, test) in _RULES.items():
            value = getattr(self, name)
            if value is None and name in _MAY_BE_NONE:
                continue
            try:
                is_fine = test(value)
            except TypeError:
                is_fine = False
            if not is_fine:
                option = _OPTIONS.get(name, name.replace("_", "-"))
                message = f"--{option} {value}: must be {rule}"
                raise UsageError(message)
        for name, word in (("support_fraction", "--support-fraction"), ("lam", "--lambda")):
            if getattr(self, name) is not None and word not in METHODS[self.method].parameters:
                raise UsageError(f"{word} has no effect with --method {self.method}; leave it out")
        for name in ("n_init", "tol", "max_iter", "reweight"):
            if self.method != "trpca" and getattr(self, name) != getattr(type(self), name):
                word = "no-reweight" if name == "reweight" else name.replace("_", "-")
                raise UsageError(
                    f"--{word} has no effect with --method {self.method}; leave it out"
                )
        unknown = sorted(self.outputs - set(OUTPUTS))
        if unknown:
            message = f"output {unknown[0]!r} is not known; choose from {', '.join(OUTPUTS)}"
            raise UsageError(message)

    @property
    def mask_model(self) -> str:
        """Kind of masks, a name in `bgsub.pipeline.masker.MASKERS`; a threshold is the formula."""
        usual = "local" if self.method == "trpca" else "paper"
        return "paper" if self.threshold is not None else self.model or usual

    @property
    def most_components(self) -> int:
        """`k`, or the most that "auto" chooses."""
        return MOST_AUTO_COMPONENTS if self.k == "auto" else self.k

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
            For a name that is not an option, or a value out of range.
        """
        values = dict(plain)
        source = dict(values.pop("source", {}))
        for given, kind in ((values, cls), (source, SourceOptions)):
            unknown = sorted(set(given) - {f.name for f in fields(kind)})
            if unknown:
                message = f"option {unknown[0]!r} is not known to this version of bgsub"
                raise UsageError(message)
        if source.get("roi") is not None:
            source["roi"] = tuple(source["roi"])
        if "outputs" in values:
            values["outputs"] = frozenset(values["outputs"])
        return cls(source=SourceOptions(**source), **values)


def _is_count(least: int) -> Callable[[Any], bool]:
    return lambda value: value >= least and int(value) == value


def _choice(*names: str) -> tuple[str, Callable[[Any], bool]]:
    return f"one of {', '.join(names)}", lambda value: value in names


_WHOLE = "a whole number of 1 or more"
_WHOLE_OR_ZERO = "a whole number of 0 or more"

# Options whose names differ from those of the attributes.
_OPTIONS = {"lam": "lambda"}

_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "method": _choice(*METHODS),
    "k": (f"{_WHOLE}, or auto", lambda value: value == "auto" or _is_count(1)(value)),
    "support_fraction": ("a share of the frames from 0.5 to 1", lambda value: 0.5 <= value <= 1.0),
    "lam": ("a number above 0", lambda value: 0.0 < value < math.inf),
    "n_init": (_WHOLE, _is_count(1)),
    "tol": ("a number of 0 or more", lambda value: 0.0 <= value < math.inf),
    "max_iter": (_WHOLE, _is_count(1)),
    "seed": (_WHOLE_OR_ZERO, _is_count(0)),
    "cutoff": ("a number above 0", lambda value: 0.0 < value < math.inf),
    "format": _choice("mp4", "mkv", "png"),
    "foreground": _choice("abs", "signed", "cutout"),
    "threshold": ("a number of grey levels from 0 to 255", lambda value: 0.0 <= value <= 255.0),
    "min_area": (_WHOLE_OR_ZERO, _is_count(0)),
    "model": _choice("local", "paper"),
    "shadows": _choice("drop", "keep"),
    "sensitivity": _choice("low", "normal", "high"),
    "plot_format": _choice("png", "svg"),
    "threads": (_WHOLE, _is_count(1)),
    "memory": (MEMORY_RULE, is_memory),
    "fit_frames": ("a whole number of 2 or more", _is_count(2)),
    "jobs": (_WHOLE, _is_count(1)),
}

_MAY_BE_NONE = {
    *("support_fraction", "lam", "cutoff", "threshold", "min_area", "model"),
    *("threads", "memory", "fit_frames"),
}
