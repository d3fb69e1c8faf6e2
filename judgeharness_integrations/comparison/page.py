"""A comparison as one HTML page that needs no network and no other file, in the style of the report's page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.comparison.cards import criterion_card
from judgeharness_integrations.comparison.facts import caveats, differences
from judgeharness_integrations.comparison.words import change_text

if TYPE_CHECKING:
    from judgeharness_integrations.comparison.report import ComparisonReport

__all__ = ["comparison_page", "headline"]

_HERE: Final = "judgeharness_integrations.comparison"


def comparison_page(report: ComparisonReport) -> str:
    """Return the whole comparison as an HTML document, all flips included.

    Every text of cases, judges and files is escaped, and a policy in the page allows its own style alone: there is no
    script.
    """
    from judgeharness_integrations.reporting.html.environment import environment, style  # noqa: PLC0415 - loads Jinja

    return (
        environment(_HERE)
        .get_template("comparison.html")
        .render(
            style=style(),
            headline=headline(report),
            report=report,
            differences=list(differences(report)),
            cards=[criterion_card(one) for one in report.criteria],
            caveats=list(caveats(report)),
        )
    )


def headline(report: ComparisonReport) -> str:
    """Return the answer in one sentence: of one criterion with its change, of several how many of each."""
    if len(report.criteria) == 1:
        one = report.criteria[0]
        change = one.reason if one.main is None else change_text(one.main)
        return f"{one.answer.capitalize()}: {change}".replace(" -> ", " \N{RIGHTWARDS ARROW} ")
    counts = Counter(one.answer for one in report.criteria)
    told = ", ".join(f"{counts[answer]} {answer}" for answer in dict.fromkeys((report.answer, *counts)))
    return f"{report.answer.capitalize()}: of {len(report.criteria)} criteria {told}"
