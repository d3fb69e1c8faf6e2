"""Jinja for fragments: everything printed is escaped, on one line and short, whoever wrote it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.reporting.plain import safe_text

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["rendered"]

_HERE = "judgeharness_integrations.reporting.fragments"
_LONGEST = 600


def rendered(template: str, **shown: Any) -> str:
    """Return a template of this folder with its values, each of which is escaped and made safe."""
    return _environment().get_template(template).render(shown)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only notebooks render

    return Environment(
        loader=PackageLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _finalized(value: object) -> object:
    """Make texts safe before they are escaped; what a template makes itself is no text of anybody's."""
    if value is None:
        raise TypeError("a template prints None: say what it stands for")
    return safe_text(value, _LONGEST) if type(value) is str else value
