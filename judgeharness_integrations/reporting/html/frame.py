"""What every page stands in: one frame, with its style, script and policy; texts in it are made safe."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from judgeharness_integrations.verdictlog.encoding import counted, time_text

from .charts import grouped, interval_text, percent

# Controls, what overrides the direction of other text, what has no width, lone surrogates. Marks that Arabic, Hebrew,
# Persian and emoji need (LRM, RLM, ALM, ZWJ, ZWNJ) reorder nothing outside of their isolated element.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_BREAKS = re.compile("\r\n?|[\u2028\u2029]")
_ACTIVE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def visible(text: str) -> str:
    """Return a text in which unseen characters stand as `[U+202E]`; line breaks of every kind become a newline."""
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", _BREAKS.sub("\n", text))


def isolated(text: object) -> Markup:
    """Return an escaped text that cannot reorder what stands around it."""
    return Markup("<bdi>{}</bdi>").format(escape(visible(str(text))))


def embedded_json(value: Any) -> Markup:
    """Return JSON that may stand inside a script element: nothing in it ends the element or starts another one.

    Texts are made `visible`, so it holds neither lone surrogates nor U+2028 and U+2029.
    """
    text = json.dumps(_seen(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(re.sub("[<>&]", lambda found: _ACTIVE[found[0]], text))  # noqa: S704 - escaped right here


def _seen(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _seen(part) for key, part in value.items()}
    return [_seen(part) for part in value] if isinstance(value, (list, tuple)) else value


_HERE = "judgeharness_integrations.reporting.html"
_STYLES = ("base.css", "page.css", "figures.css", "cards.css", "cases.css")
_SCRIPTS = ("dom.js", "diff.js", "frame.js")


@dataclass(frozen=True)
class Asset:
    """A style or script as it stands in the page, and the source expression a policy allows it by."""

    text: Markup
    allowed: str


def asset(text: str) -> Asset:
    """Return a style or script of the product's own, never of somebody's texts, with its digest."""
    digest = b64encode(sha256(text.encode()).digest()).decode()
    return Asset(text=Markup(text), allowed=f"'sha256-{digest}'")  # noqa: S704 - a file of this package


def _read(name: str) -> str:
    return files(_HERE).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def style(own: str = "") -> Asset:
    """Return the style of every page, with that of one page before what holds on paper."""
    return asset("\n" + "\n".join((*map(_read, _STYLES), own, _read("print.css"))))


@cache
def script(*more: str) -> Asset:
    """Return the script of every page, with further ones behind it."""
    return asset('\n(() => {\n"use strict";\n' + "\n".join(map(_read, (*_SCRIPTS, *more))) + "})();\n")


@cache
def environment(package: str = _HERE) -> Environment:
    """Return the environment of the templates of a package, with those of the report's page beside them."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, _HERE))]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "grouped": grouped,
        "interval": interval_text,
        "iso": isolated,
        "time": time_text,
        "percent": percent,
        "plural": counted,
    }
    return made


def _finalize(value: object) -> object:
    """Make every printed text visible; what was not measured has words of its own."""
    if value is None or isinstance(value, Mapping):
        raise TypeError("a template prints something that is no text")
    return visible(value) if type(value) is str else value
