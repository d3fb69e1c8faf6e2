"""A check of judges as one HTML page that needs no network and no other file, in the style of the report's page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.reporting.checkpage.cards import axis_of, judge_section
from judgeharness_integrations.verdictlog.plain import counted

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.checking.report import CheckReport
    from judgeharness_integrations.reporting.html.page import Asset

_HERE: Final = "judgeharness_integrations.reporting.checkpage"
_NAMED: Final = 4


def check_page(reports: Sequence[CheckReport]) -> str:
    """Return the reports of one or several judges as one HTML document.

    Every text of cases, judges and files is escaped, and a policy in the page allows its own style alone: there is no
    script.
    """
    from judgeharness_integrations.reporting.html.page import environment  # noqa: PLC0415 - loads Jinja

    axis = axis_of(one for report in reports for one in report.properties)
    return (
        environment(_HERE)
        .get_template("check.html")
        .render(
            style=_style(),
            headline=headline(reports),
            axis=axis,
            reports=reports,
            judges=[judge_section(report, axis) for report in reports],
        )
    )


def headline(reports: Sequence[CheckReport]) -> str:
    """Return the answer in one sentence: what a judge fails, or which of several judges fail something."""
    if len(reports) == 1:
        return _of_one(reports[0])
    failing = [report.judge for report in reports if report.failed]
    if not failing:
        return f"None of {len(reports)} judges fails a property"
    verb = "fails" if len(failing) == 1 else "fail"
    named = f": {', '.join(failing)}" if len(failing) <= _NAMED else ""
    return f"{len(failing)} of {len(reports)} judges {verb} a property{named}"


def _of_one(report: CheckReport) -> str:
    counts = report.counts
    checked = len(report.properties) - counts["not_checked"]
    failed, still, of = counts["fail"], counts["inconclusive"], counted(checked, "property", "properties")
    if not checked:
        return f"Nothing about {report.judge} could be checked"
    if failed:
        return f"{report.judge} fails {failed} of {of} checked: {_names(report.failed)}"
    if still:
        return f"{report.judge} fails nothing; {still} of {of} checked {'is' if still == 1 else 'are'} open"
    return f"{report.judge} passes {'the one property' if checked == 1 else f'all {of}'} that could be checked"


def _names(names: Sequence[str]) -> str:
    shown = [*names[:_NAMED]]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")


@cache
def _style() -> Asset:
    """Return the style of this page; the report's stands before it."""
    from judgeharness_integrations.reporting.html.page import asset, style  # noqa: PLC0415 - loads Jinja

    own = files(_HERE).joinpath("templates", "check.css").read_text(encoding="utf-8")
    return asset(f"{style().text}\n{own}")
