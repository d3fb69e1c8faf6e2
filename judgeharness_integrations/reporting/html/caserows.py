"""The table of cases: one row a judge, case and criterion, with what it is filtered and sorted by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from judgeharness_integrations.reporting.html.charts import Bar, bar
from judgeharness_integrations.reporting.html.tones import Tones
from judgeharness_integrations.reporting.html.wording import decision_word, percent
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.runs.goldlabels import gold_of
from judgeharness_integrations.reporting.runs.report import RunReport
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

__all__ = ["CaseRow", "CaseTable", "case_table", "right"]

_EXCERPT = 160  # characters
_INPUT = "input"


@dataclass(frozen=True, kw_only=True)
class CaseRow:
    """One measurement as a line. `right` is None where there is no decision or no gold label to compare.

    `flags` are `g` (judge and gold differ), `o` (the orders disagree) and `f` (samples failed). `texts` is the place of
    the case's texts among those of the report.
    """

    anchor: str
    case_id: str
    excerpt: str
    judge: str
    judge_number: int
    criterion: str
    criterion_number: int
    decision: str
    tone: str
    status: str
    samples: Bar
    consistency: str
    consistency_order: str
    gold: str
    right: bool | None
    flips: str
    flips_order: str
    flipped_by: str
    failed: int
    asked: int
    flags: str
    texts: int | None
    result: HarnessResult
    measured: CriterionResult


@dataclass(frozen=True, kw_only=True)
class CaseTable:
    """The rows and what they can be filtered by; a column is shown only where it says something."""

    rows: tuple[CaseRow, ...]
    judges: tuple[str, ...]
    criteria: tuple[str, ...]
    decisions: tuple[str, ...]
    statuses: tuple[str, ...]
    flags: frozenset[str]
    gold: bool
    flips: bool
    repeated: bool

    @property
    def decision_numbers(self) -> Mapping[str, int]:
        """Decision -> its place among `decisions`."""
        return {word: number for number, word in enumerate(self.decisions)}


def case_table(report: RunReport, tones: Tones) -> CaseTable:
    """Return the table of a report's results, in order."""
    judges = list(dict.fromkeys(result.judge for result in report.results))
    criteria = list(dict.fromkeys(name for result in report.results for name in result.criteria))
    anchors = _Anchors(several_judges=len(judges) > 1, several_criteria=len(criteria) > 1)
    excerpts = {case: (number, _excerpt(texts)) for number, (case, texts) in enumerate(report.case_texts.items())}
    judge_numbers = {name: number for number, name in enumerate(judges)}
    criterion_numbers = {name: number for number, name in enumerate(criteria)}
    rows = tuple(
        _row(
            result,
            measured,
            tones,
            anchor=anchors.of(result, measured.criterion),
            texts=excerpts.get(result.case_id, (None, "")),
            judge_number=judge_numbers[result.judge],
            criterion_number=criterion_numbers[measured.criterion],
        )
        for result in report.results
        for measured in result.criteria.values()
    )
    decisions = Counter(row.decision for row in rows)
    return CaseTable(
        rows=rows,
        judges=tuple(judges),
        criteria=tuple(criteria),
        decisions=tuple(word for word, _ in decisions.most_common()),
        statuses=tuple(dict.fromkeys(row.status for row in rows)),
        flags=frozenset(flag for row in rows for flag in row.flags),
        gold=any(row.gold for row in rows),
        flips=any(row.flips_order for row in rows),
        repeated=any(row.measured.planned > 1 for row in rows),
    )


class _Anchors:
    """Addresses of rows that stay the same from one report to the next: what tells rows apart, and no more."""

    def __init__(self, *, several_judges: bool, several_criteria: bool) -> None:
        self._judges, self._criteria = several_judges, several_criteria
        self._seen: Counter[str] = Counter()

    def of(self, result: HarnessResult, criterion: str) -> str:
        parts = [result.case_id, *([result.judge] if self._judges else []), *([criterion] if self._criteria else [])]
        name = "case-" + "/".join(quote(part, safe="", errors="surrogatepass") for part in parts)
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name}/{self._seen[name]}"


def _excerpt(texts: Mapping[str, str]) -> str:
    return safe_text(texts.get(_INPUT) or next(iter(texts.values()), ""), _EXCERPT)


def _row(
    result: HarnessResult,
    measured: CriterionResult,
    tones: Tones,
    *,
    anchor: str,
    texts: tuple[int | None, str],
    judge_number: int,
    criterion_number: int,
) -> CaseRow:
    name, gold = measured.criterion, gold_of(result, measured.criterion)
    agrees, failed = right(measured, gold), measured.taken - measured.valid
    flipped_by, flips = max(
        ((part.name, part.flip_rate) for part in measured.perturbations if part.flip_rate is not None),
        key=lambda pair: pair[1],
        default=("", None),
    )
    flags = ("g" if agrees is False else "") + ("o" if _orders_disagree(measured) else "") + ("f" if failed else "")
    return CaseRow(
        anchor=anchor,
        case_id=result.case_id,
        texts=texts[0],
        excerpt=texts[1],
        judge=result.judge,
        judge_number=judge_number,
        criterion=name,
        criterion_number=criterion_number,
        decision=decision_word(measured.verdict),
        tone=tones.of(name, measured.verdict),
        status=measured.status,
        samples=bar(
            [
                *((verdict_text(one), many, tones.of(name, one)) for one, many in measured.sample_distribution.items()),
                ("failed", failed, "failed"),
            ]
        ),
        consistency=percent(measured.consistency_rate),
        consistency_order=_order(measured.consistency_rate),
        gold="" if gold is None else verdict_text(gold),
        right=agrees,
        flips=percent(flips),
        flips_order=_order(flips),
        flipped_by=flipped_by if flips else "",
        failed=failed,
        asked=measured.taken,
        flags=flags,
        result=result,
        measured=measured,
    )


def _order(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def right(measured: CriterionResult, gold: Verdict | None) -> bool | None:
    """Return whether a decision is what people said, for scores within the tolerance; None if it cannot be told."""
    if gold is None or measured.status != "decided" or is_number(gold) != is_number(measured.verdict):
        return None
    if is_number(gold):
        return abs(float(gold) - float(measured.verdict)) <= (measured.tolerance or 0.0)  # type: ignore[arg-type]
    return measured.verdict == gold


def _orders_disagree(measured: CriterionResult) -> bool:
    """Whether both orders have a most frequent verdict, and not the same one."""
    leaders = [_leading(measured, swapped=swapped) for swapped in (False, True)]
    return None not in leaders and leaders[0] != leaders[1]


def _leading(measured: CriterionResult, *, swapped: bool) -> Verdict | None:
    counts: Counter[Verdict] = Counter()
    for part in measured.perturbations:
        if part.swapped == swapped:
            counts.update(part.sample_distribution)
    ranked = counts.most_common(2)
    return ranked[0][0] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else None
