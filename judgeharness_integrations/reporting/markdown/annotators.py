"""May the judges replace annotators: the alternative annotator test in a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from judgeharness_integrations.reporting.markdown.escaping import details, escaped, table
from judgeharness_integrations.reporting.markdown.headlines import interval

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.alttest.report import AltTest, AltTestReport
    from judgeharness_integrations.reporting.runs.report import RunReport

__all__ = ["annotator_lines"]

_ANSWERS = {True: "may replace them", False: "may not", None: "not measured"}


def annotator_lines(report: RunReport) -> list[str]:
    """Return the test's answers, folded away; nothing where nobody asked for it."""
    if report.annotators is not None:
        return details("May the judges replace annotators?", _tested(report.annotators))
    if report.annotators_reason:
        return [f"Not compared with annotators: {escaped(report.annotators_reason.rstrip('.'), 300)}.", ""]
    return []


def _tested(tested: AltTestReport) -> Iterator[str]:
    columns = ("judge", "score", "epsilon", "answer", "omega", "of annotators", "rho", "of cases")
    yield from table(columns, (_row(one) for one in tested.candidates), texts=4)
    yield ""
    for sentence in (*tested.controls(), *tested.scope.sentences()):
        yield f"- {escaped(sentence, 400)}"


def _row(one: AltTest) -> list[str]:
    low, high = one.rho_interval or (None, None)
    return [
        escaped(one.candidate, 60),
        escaped(one.score, 40),
        f"{one.epsilon:g}",
        _ANSWERS[one.passed] + (f": {escaped(one.reason, 200)}" if one.reason else ""),
        "-" if one.omega is None else f"{one.omega:.2f}",
        f"{one.n_rejected} of {one.m_tested}",
        "-" if one.rho is None else f"{one.rho:.3f} {interval(low, high)}",
        str(one.n_instances),
    ]
