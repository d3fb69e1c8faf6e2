"""Jinja for the page: escaped, strict, and the style and script that are written into it with their digests."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from judgeharness_integrations.reporting.html.safetext import isolated, visible
from judgeharness_integrations.reporting.html.wording import grouped, interval_text, p_text, percent, plural

__all__ = ["Asset", "asset", "environment", "script", "style"]

_HERE = "judgeharness_integrations.reporting.html"
_STYLES = ("page.css", "figures.css", "cards.css", "cases.css", "print.css")
_SCRIPTS = ("dom.js", "details.js", "table.js", "main.js")


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
def style() -> Asset:
    """Return the page's style."""
    return asset("\n" + "\n".join(map(_read, _STYLES)))


@cache
def script() -> Asset:
    """Return the page's script."""
    return asset('\n(() => {\n"use strict";\n' + "\n".join(map(_read, _SCRIPTS)) + "})();\n")


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
        "p": p_text,
        "percent": percent,
        "plural": plural,
    }
    return made


def _finalize(value: object) -> object:
    """Make every printed text visible; what was not measured has words of its own."""
    if value is None:
        raise TypeError("a template prints None")
    return visible(value) if type(value) is str else value
