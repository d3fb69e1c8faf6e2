"""The cases that matter: those that failed, were not graded, abstained, and the most divided ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judgeharness_integrations.reporting.caseoutcome import CaseOutcome, case_outcome
from judgeharness_integrations.reporting.markdown.escaping import details, escaped, table
from judgeharness_integrations.reporting.plain import distribution_text
from judgeharness_integrations.reporting.rationales import dissent, rationale
from judgeharness_integrations.reporting.runs.goldlabels import gold_of
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.runs.report import RunReport
    from judgeharness_integrations.result import CriterionResult, HarnessResult

__all__ = ["case_lines"]

_MOST = 20
_TITLES = {
    "failed": "Failed",
    "not_graded": "Not graded",
    "abstained": "Abstained",
    "divided": "Decided, but divided",
    "rest": "Decided without dissent",
}


@dataclass(frozen=True, kw_only=True)
class _Case:
    result: HarnessResult
    measured: CriterionResult
    gold: Verdict | None
    found: CaseOutcome

    @property
    def kind(self) -> str:
        if self.found.outcome != "passed":
            return self.found.outcome
        return "divided" if self.consistency < 1 else "rest"

    @property
    def consistency(self) -> float:
        rate = self.measured.consistency_rate
        return 1.0 if rate is None else rate


def case_lines(report: RunReport, *, all_cases: bool) -> Iterator[str]:
    """Yield tables of the cases that matter, the most divided first; of every case only if so wished."""
    groups: dict[str, list[_Case]] = {name: [] for name in _TITLES}
    for case in _cases(report):
        groups[case.kind].append(case)
    if not all_cases:
        del groups["rest"]
    for name, cases in groups.items():
        if cases:
            cases.sort(key=lambda case: case.consistency)
            yield from _section(report, _TITLES[name], cases, len(cases) if all_cases else _MOST)


def _cases(report: RunReport) -> Iterator[_Case]:
    for result in report.results:
        for measured in result.criteria.values():
            gold = gold_of(result, measured.criterion)
            yield _Case(result=result, measured=measured, gold=gold, found=case_outcome(measured, gold))


def _section(report: RunReport, title: str, cases: Sequence[_Case], most: int) -> list[str]:
    columns = ["case", "judge · criterion", "decision", "samples", "consistency", "gold", "reasons"]
    shown = [_row(case) for case in cases[:most]]
    if report.case_texts:
        columns.append("judged")
        shown = [[*row, _judged(report, case)] for row, case in zip(shown, cases, strict=False)]
    lines = table(columns, shown, texts=len(columns))
    if len(cases) > most:
        lines += ["", f"{len(cases) - most} more are in the table of cases (CSV)."]
    return details(f"{title}: {len(cases)} case{'' if len(cases) == 1 else 's'}", lines)


def _row(case: _Case) -> list[str]:
    measured, result = case.measured, case.result
    decision = "NOT GRADED" if measured.verdict is None else verdict_text(measured.verdict)
    return [
        escaped(result.case_id, 60),
        escaped(f"{result.judge} · {measured.criterion}", 80),
        escaped(decision, 60),
        escaped(f"{distribution_text(measured.sample_distribution)} of {measured.planned}", 160),
        "-" if measured.consistency_rate is None or result.informal else f"{measured.consistency_rate:.3f}",
        "-" if case.gold is None else escaped(verdict_text(case.gold), 60),
        _reasons(case) or "-",
    ]


def _reasons(case: _Case) -> str:
    if case.measured.status == "not_graded":
        return escaped(case.measured.reason, 200)
    name = case.measured.criterion
    found = [(row.verdict, row.reasoning or row.raw or "") for row in (rationale(case.result, name),) if row]
    found += [(row.verdict, row.reasoning or row.raw or "") for row in (dissent(case.result, name),) if row]
    return "<br>".join(f"{escaped(verdict_text(verdict), 40)}: {escaped(text, 160)}" for verdict, text in found)


def _judged(report: RunReport, case: _Case) -> str:
    texts = report.case_texts.get(case.result.case_id, {})
    return "<br>".join(f"{escaped(name, 40)}: {escaped(text, 160)}" for name, text in texts.items()) or "-"
