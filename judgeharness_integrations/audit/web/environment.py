"""Jinja for the page: escaped and strict; texts of models and documents are shown as the texts they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from judgeharness_integrations.reporting.html.safetext import isolated, visible
from judgeharness_integrations.reporting.html.wording import percent, plural

__all__ = ["marked", "rendered"]


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("judgeharness_integrations.audit.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"iso": isolated, "marked": marked, "percent": percent, "plural": plural, "spaced": _spaced}
    return made


def rendered(template: str, **words: Any) -> str:
    """Return a page; a text that cannot be encoded stands as `[U+D800]`."""
    return _environment().get_template(template).render(words)


def marked(text: str, passages: Sequence[str]) -> Markup:
    """Return an escaped text in which passages are marked where they stand, whatever their spaces and line breaks."""
    patterns = [r"\s+".join(map(re.escape, passage.split())) for passage in passages if passage.strip()]
    if not patterns:
        return escape(visible(text))
    longest_first = "|".join(sorted(patterns, key=len, reverse=True))
    parts = re.split(f"({longest_first})", text)
    shown = [escape(visible(part)) for part in parts]
    return Markup().join(
        Markup("<mark>{}</mark>").format(part) if place % 2 else part for place, part in enumerate(shown)
    )


def _spaced(name: str) -> str:
    """Return the name of a type or state as words."""
    return name.replace("_", " ")


def _finalize(value: object) -> object:
    """Make every printed text visible; what is not there has words of its own."""
    if value is None or isinstance(value, Mapping):
        raise TypeError("a template prints something that is no text")
    return visible(value) if type(value) is str else value
