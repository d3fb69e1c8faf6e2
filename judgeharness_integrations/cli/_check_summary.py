"""A check of judges in the summary of a GitHub job: what each fails, and what speaks against it, in a short table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judgeharness_integrations.checking import CheckReport
from judgeharness_integrations.checking.page.rendering import headline
from judgeharness_integrations.reporting.markdown.escaping import escaped, table

__all__ = ["summary_of"]

_COLUMNS = ("judge", "property", "status", "why")
_TOLD = ("fail", "inconclusive")
_LONGEST = 300


def summary_of(reports: Sequence[CheckReport]) -> str:
    """Return the answer in one sentence and a table of what fails and what is open."""
    lines = [f"### {escaped(headline(reports), _LONGEST)}", ""]
    if rows := [row for report in reports for row in _rows(report)]:
        lines += [*table(_COLUMNS, rows, texts=len(_COLUMNS)), ""]
    lines += [f"- {escaped(report.judge)}: {_counts(report)}" for report in reports]
    return "\n".join([*lines, "", ""])


def _rows(report: CheckReport) -> Iterator[tuple[str, ...]]:
    several = len({one.criterion for one in report.properties}) > 1
    for status in _TOLD:
        for one in report.properties:
            if one.status == status:
                name = f"{one.criterion} · {one.name}" if several else one.name
                yield escaped(report.judge), escaped(name), status, escaped(one.reason, _LONGEST)


def _counts(report: CheckReport) -> str:
    counts = (f"{count} {status.replace('_', ' ')}" for status, count in report.counts.items() if count)
    return f"{', '.join(counts)}; {report.cases} cases, {report.calls} calls"
