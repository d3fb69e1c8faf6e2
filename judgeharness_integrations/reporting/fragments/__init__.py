"""Templates of what a notebook shows: every value in them is escaped and made safe."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.verdictlog.encoding import SENTENCE, safe_text

from ..sections import LONGEST_CELL, Section

if TYPE_CHECKING:
    from jinja2 import Environment


_HERE = "judgeharness_integrations.reporting.fragments"
_EXAMPLES, _ROWS = 10, 40


def section_html(section: Section) -> str:
    """Return a section as HTML that stands by itself; tables show the first forty rows, those of examples ten."""
    return rendered(
        "section.html",
        section=section,
        examples=_EXAMPLES,
        rows=_ROWS,
        kind=lambda block: type(block).__name__,
        cut=lambda line: safe_text(line, LONGEST_CELL),
    )


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
    return safe_text(value, SENTENCE) if type(value) is str else value
