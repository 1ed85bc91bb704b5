"""Fill the templates of pages, with everything in the one file and a policy against the rest."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from bgsub.version import __version__
from bgsub.video.timecode import format_time

_ASSETS = files("bgsub.page") / "assets"


def _asset(name: str) -> str:
    return _ASSETS.joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_asset),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["clock"] = format_time
    return made


def fill(
    name: str, *, scripts: Sequence[str], styles: Sequence[str], values: Mapping[str, Any]
) -> str:
    """Fill a template.

    Parameters
    ----------
    name : str
        A file of ``assets/``, as those in `scripts` and `styles` are, which it includes.
    scripts, styles : sequence of str
        JavaScript and CSS; nothing else may run on the page.
    values : mapping
        What the template shows. All of it is escaped.

    Returns
    -------
    str
        The page: HTML without any address but those of videos beside it.
    """
    codes, looks = [_asset(each) for each in scripts], [_asset(each) for each in styles]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(codes)}",
            f"style-src {_hashes(looks)}",
            "img-src data:",
            "media-src 'self' file: data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return (
        _environment()
        .get_template(name)
        .render(
            **values,
            policy=policy,
            scripts=[Markup(code) for code in codes],  # noqa: S704 - files of this package
            styles=[Markup(look) for look in looks],  # noqa: S704 - the same
            version=__version__,
        )
    )


def _hashes(texts: Sequence[str]) -> str:
    """Write the sources of a policy that allow some inline texts."""
    digests = (hashlib.sha256(text.encode("utf-8")).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
