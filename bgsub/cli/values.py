"""Values that options take, checked as they are read; each mistake is one line that names both."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bgsub.errors import UsageError
from bgsub.options import OUTPUTS
from bgsub.runtime.limits import MEMORY_RULE, check_folder, is_memory
from bgsub.video.selection import parse_region
from bgsub.video.timecode import parse_position, parse_step

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # it has a type parameter only since click 8.4
    ParamType = click.ParamType


def _name(param: click.Parameter | None) -> str:
    if param is None:
        return "value"
    return (
        max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name
    )


class Number(ParamType):
    """A number that obeys a rule.

    Parameters
    ----------
    kind : {int, float}
    rule : str
        What the number must be, in words.
    test : callable
        Whether a number is that; never asked about NaN and infinity.
    """

    def __init__(
        self, kind: type[int] | type[float], rule: str, test: Callable[[float], bool]
    ) -> None:
        self.kind = kind
        self.rule = rule
        self.test = test
        self.name = "integer" if kind is int else "float"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002 - click's signature
    ) -> int | float | None:
        """Read the number, or raise UsageError."""
        try:
            number = self.kind(value)
        except (TypeError, ValueError, OverflowError):
            self._refuse(value, param)
        # run.json may hold 2.5 where a whole number is needed, and int() would cut it.
        if isinstance(value, bool) or (isinstance(value, float) and number != value):
            self._refuse(value, param)
        if not math.isfinite(number) or not self.test(number):
            self._refuse(value, param)
        return number

    def _refuse(self, value: object, param: click.Parameter | None) -> NoReturn:
        message = f"{_name(param)} {value}: must be {self.rule}"
        raise UsageError(message)


class Position(ParamType):
    """A place in the input, or with `step` a distance; kept as it is written."""

    name = "position"

    def __init__(self, *, step: bool = False) -> None:
        self.step = step

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002
    ) -> str:
        """Check the position; raises UsageError."""
        (parse_step if self.step else parse_position)(value, _name(param))
        return str(value)


class Region(ParamType):
    """A rectangle, ``X,Y,W,H``."""

    name = "region"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> tuple[int, int, int, int]:
        """Read the rectangle; raises UsageError."""
        try:
            region = parse_region(value if isinstance(value, str) else tuple(value))
        except UsageError as error:
            message = f"--{error}"
            raise UsageError(message) from error
        return region.x, region.y, region.width, region.height


class OutputNames(ParamType):
    """Names of outputs, with commas between them."""

    name = "list"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002
    ) -> frozenset[str]:
        """Read the names; raises UsageError."""
        parts: Iterable[str] = value.split(",") if isinstance(value, str) else value
        names = [part.strip().lower() for part in parts]
        for name in names:
            if name not in OUTPUTS:
                message = f"{_name(param)}: {name!r} is no output; choose from {','.join(OUTPUTS)}"
                raise UsageError(message)
        return frozenset(names)


class SampleSize(Number):
    """Number of frames to fit; ``auto`` is None, the library's choice."""

    def __init__(self) -> None:
        super().__init__(int, "a whole number of 2 or more, or auto", lambda value: value >= 2)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float | None:
        """Read the number, or raise UsageError."""
        if isinstance(value, str) and value.strip().lower() == "auto":
            return None
        return super().convert(value, param, ctx)


class Rank(Number):
    """Number of components, or ``auto``."""

    def __init__(self) -> None:
        super().__init__(int, "a whole number of 1 or more, or auto", lambda value: value >= 1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number, or raise UsageError."""
        if isinstance(value, str) and value.strip().lower() == "auto":
            return "auto"
        return super().convert(value, param, ctx)


class Amount(ParamType):
    """An amount of memory, such as ``600M`` or ``50%``; kept as it is written."""

    name = "amount"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002
    ) -> str:
        """Check the amount; raises UsageError."""
        if not isinstance(value, str) or not is_memory(value):
            message = f"{_name(param)} {value}: must be {MEMORY_RULE}"
            raise UsageError(message)
        return value


class Folder(click.Path):
    """A folder that files can be made in; another is an OutputError before any work."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the folder."""
        name = super().convert(value, param, ctx)
        if ctx is None or not ctx.resilient_parsing:
            check_folder(Path(os.fsdecode(name)), _name(param))
        return name


COUNT = Number(int, "a whole number of 1 or more", lambda value: value >= 1)
COUNT_OR_ZERO = Number(int, "a whole number of 0 or more", lambda value: value >= 0)
POSITIVE = Number(float, "a number above 0", lambda value: value > 0)
LEVEL = Number(float, "a number of grey levels from 0 to 255", lambda value: 0 <= value <= 255)
FRACTION = Number(float, "a share of the frames from 0.5 to 1", lambda value: 0.5 <= value <= 1)
TOLERANCE = Number(float, "a number of 0 or more", lambda value: value >= 0)
POSITION = Position()
STEP = Position(step=True)
REGION = Region()
OUTPUT_NAMES = OutputNames()
FRAMES = SampleSize()
RANK = Rank()
MEMORY = Amount()
#: Whether a file can be read or written is for the library to find out, with its exit codes.
PATH = click.Path(readable=False)
FOLDER = Folder(readable=False)
