"""Annotators one by one: the candidate against each of them, and how they stand among each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from judgeharness_integrations.cli._agreement_printing import Row, number, titled
from judgeharness_integrations.cli._printing import safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from judgeharness_integrations.agreement.alttest.report import AltTest, AltTestReport, AnnotatorTest
    from judgeharness_integrations.agreement.alttest.scope import Scope
    from judgeharness_integrations.cli._alttest_verdicts import Names

__all__ = ["annotator_tables", "fellow_table"]

_ALMOST_ZERO = 0.001
_LONGEST_TABLE = 60
_MOST_HUMANS = 12


def annotator_tables(report: AltTestReport, names: Names) -> Iterator[RenderableType]:
    """Yield a table for each candidate, where there is one epsilon and they are not too long."""
    lines = sum(len(test.annotators) for test in report.candidates)
    if not lines:
        return
    if lines > _LONGEST_TABLE or len({test.epsilon for test in report.candidates}) > 1:
        yield "\nevery annotator's test: with one candidate and one epsilon, or in --json"
        return
    for test in (one for one in report.candidates if one.annotators):
        yield _table(test, names, clustered=report.scope.cluster is not None)
    yield "rho_f: rho of the candidate against this annotator; rho_h: of this annotator against the candidate"


def _table(test: AltTest, names: Names, *, clustered: bool) -> RenderableType:
    beside = [*([] if test.multiplicative else ["Tango\np"]), *(["p by\ncluster"] if clustered else [])]
    columns = ["annotator", "items", "rho_f", "rho_h", "t", "p", "p ad-\njusted", "H0 re-\njected", *beside]
    title = f"{safe(names.of_test(test)).plain} at epsilon {test.epsilon:g}"
    return titled(title, columns, (_annotator(one, test, clustered=clustered) for one in test.annotators))


def _annotator(one: AnnotatorTest, test: AltTest, *, clustered: bool) -> Row:
    own = [number(one.rho_f), number(one.rho_h), number(one.t), _p(one.p), _p(one.p_adjusted)]
    beside = [*([] if test.multiplicative else [_p(one.tango_p)]), *([_p(one.clustered_p)] if clustered else [])]
    return [safe(one.annotator), str(one.n), *own, "yes" if one.rejected else "no", *beside]


def _p(value: float | None) -> str:
    return "-" if value is None else "<0.001" if value < _ALMOST_ZERO else f"{value:.3f}"


def fellow_table(scope: Scope) -> Iterator[RenderableType]:
    """Yield how the humans stand among each other, unless they are too many to read."""
    if not 0 < len(scope.fellows) <= _MOST_HUMANS:
        return
    scores = list(scope.fellows[0].ap)
    columns = ["annotator", "items\nshared", *(f"AP\n{name}" for name in scores), "mean\nkappa", "stands\napart"]
    rows: list[Row] = [
        [
            safe(one.annotator),
            str(one.n),
            *(number(one.ap[name]) for name in scores),
            number(one.mean_kappa),
            "-" if one.outlying is None else "yes" if one.outlying else "no",
        ]
        for one in scope.fellows
    ]
    yield titled("the humans among each other (AP: share of the others each does at least as well as)", columns, rows)
