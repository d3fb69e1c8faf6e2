"""Results in memory become a report, with its bill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judgeharness_integrations.analysis.aggregation.clusters import copied_cases
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion
from judgeharness_integrations.analysis.boundary import boundary
from judgeharness_integrations.analysis.calibration.transport import ShiftTest
from judgeharness_integrations.analysis.certifying.applying import UncertifiedCases
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs.labels import calibration_key, certificates_on_run, transported_results
from judgeharness_integrations.analysis.runs.report import JudgeSection, RunReport, nothing_graded
from judgeharness_integrations.analysis.runs.stopped import told_at_stop
from judgeharness_integrations.analysis.runs.summarising import (
    Unread,
    design_key,
    summaries,
    unvaried_systems,
    with_read_golds,
)
from judgeharness_integrations.analysis.runs.summary import CriterionSummary
from judgeharness_integrations.analysis.usage import Usage, known_sum, tokens_of
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, TOKENS, CutOff

_DIGITS = 12  # of a difference of money
_ADDED = ("attempts", *TOKENS, "latency_s")


@dataclass(frozen=True, kw_only=True)
class Bill:
    """`cost` belongs to `usage`, `calibration_cost` to `calibration_usage`; None without prices, or where unknown.

    `cost_remarks` say why it is not known, where it is the most it can be, and whose prices it is by.
    """

    usage: Usage
    cost: float | None = None
    calibration_usage: Usage | None = None
    calibration_cost: float | None = None
    cost_remarks: tuple[str, ...] = ()


def total_usage(usages: Sequence[Usage]) -> Usage:
    """Return what several cases used together; None where no case knows it."""
    return Usage(
        calls=sum(one.calls for one in usages),
        attempts=sum(one.attempts for one in usages),
        rewrites=sum(one.rewrites for one in usages),
        **tokens_of(usages),
        latency_s=known_sum(one.latency_s for one in usages),
        reused=sum(one.reused for one in usages),
    )


def bill_of_summary(judge: Mapping[str, Any], usages: Sequence[Usage]) -> Bill:
    """Return the bill of a judge in the summary of a run, labelled cases apart from the others.

    Args:
        judge: its entry. In one of an older version the labelled cases are not told apart: the cost is then that of the
            cases only where they made every call.
        usages: those of its results.

    """
    total, own = judge["usage"], total_usage(usages)
    remarks = tuple(total.get("cost_remarks", ()))
    if "calibration_usage" not in judge:
        return Bill(usage=own, cost=total["cost"] if total["calls"] == own.calls else None)
    labelled = judge["calibration_usage"]
    if labelled is None:
        return Bill(usage=_usage(total), cost=total["cost"], cost_remarks=remarks)
    rest = {name: _less(total.get(name), labelled.get(name)) for name in _ADDED}
    counts = {name: total[name] - labelled[name] for name in ("calls", "reused", "rewrites")}
    cost = _less(total["cost"], labelled["cost"])
    return Bill(
        usage=_usage(rest | counts),
        cost=None if cost is None else round(cost, _DIGITS),
        calibration_usage=_usage(labelled),
        calibration_cost=labelled["cost"],
        cost_remarks=remarks,
    )


def _usage(found: Mapping[str, Any]) -> Usage:
    calls = found["calls"]
    attempts = calls if found["attempts"] is None else found["attempts"]
    return Usage(
        calls=calls,
        attempts=attempts,
        rewrites=found["rewrites"],
        **{name: found.get(name) for name in TOKENS},  # an older summary has no tokens of caches
        latency_s=found["latency_s"],
        reused=found["reused"],
    )


def _less(total: float | None, part: float | None) -> Any:
    return None if total is None else total - (part or 0)


def run_report(
    results: Iterable[HarnessResult],
    *,
    source: str = "results",
    planned: Mapping[str, int] | None = None,
    costs: Mapping[str, float | None] | None = None,
    bills: Mapping[str, Bill] | None = None,
    unknown_certificate: str = "",
    **facts: Any,
) -> RunReport:
    """Return the report of measured cases.

    Args:
        results: one a judge and case; judges and designs may be mixed.
        source: for people, where they come from.
        planned: judge -> number of cases that were to be asked; those without a result count as not graded. An empty
            one says that nobody knows, None that there are no others.
        costs: judge -> what its answers cost.
        bills: judge -> what it used and cost, where more is known than its results and `costs` say.
        unknown_certificate: that decisions stood under a certificate which the log does not hold.
        facts: further fields of `RunReport`.

    """
    listed, unread = with_read_golds(tuple(_under_criteria(results)))
    by_judge: dict[str, list[HarnessResult]] = {name: [] for name in planned or ()}
    for result in listed:
        by_judge.setdefault(result.judge, []).append(result)
    texts: Mapping[str, Mapping[str, str]] = facts.get("case_texts", {})
    gates = facts.get("gates")
    stop = "" if gates is None else gates.stop
    shifts: dict[str, Mapping[Hashable, ShiftTest]] = {}
    for judge, mine in by_judge.items():
        by_judge[judge], shifts[judge] = transported_results(mine, texts, stopped=bool(stop))
    listed = _in_order(listed, by_judge)
    sections = tuple(
        _section(
            judge,
            mine,
            (planned or {}).get(judge, len(mine)),
            texts,
            (bills or {}).get(judge)
            or Bill(usage=total_usage([one.usage for one in mine]), cost=(costs or {}).get(judge)),
            unread=unread,
            shifts=shifts[judge],
            stop=stop,
            unknown_certificate=unknown_certificate,
        )
        for judge, mine in by_judge.items()
    )
    known = planned is None or bool(planned)
    return told_at_stop(RunReport(source=source, results=listed, judges=sections, of_known_size=known, **facts))


def _in_order(
    results: Sequence[HarnessResult], by_judge: Mapping[str, Sequence[HarnessResult]]
) -> tuple[HarnessResult, ...]:
    """Return the results of judges in the order of all results."""
    left = {judge: iter(mine) for judge, mine in by_judge.items()}
    return tuple(next(left[result.judge]) for result in results)


def _under_criteria(results: Iterable[HarnessResult]) -> Iterator[HarnessResult]:
    """Yield results; one without any answer is about the criteria its judge was heard on, not about one of its own."""
    listed = list(results)
    known: dict[str, dict[str, None]] = {}
    for result in listed:
        heard = known.setdefault(result.judge, {})
        heard.update(dict.fromkeys(row.criterion for row in result.rows if row.criterion != EVERY_CRITERION))
    for result in listed:
        names, silent = known[result.judge], next(iter(result.criteria.values()), None)
        unheard = silent is not None and all(row.criterion == EVERY_CRITERION for row in result.rows)
        if not unheard or silent is None or not names or any(name in names for name in result.criteria):
            yield result
        else:
            yield replace(result, criteria={name: replace(silent, criterion=name) for name in names})


def _section(
    judge: str,
    results: Sequence[HarnessResult],
    planned: int,
    texts: Mapping[str, Mapping[str, str]],
    bill: Bill,
    *,
    unread: Mapping[tuple[str, Hashable, str], Unread],
    shifts: Mapping[Hashable, ShiftTest],
    stop: str,
    unknown_certificate: str,
) -> JudgeSection:
    anchored = _weakest(results)
    criteria = tuple(_with_unread(one, unread) for one in summaries(results, planned={judge: planned}, texts=texts))
    shift = None if anchored is None else shifts.get(calibration_key(anchored))
    untested = {} if shift is None or shift.shifted is not None else {shift.sentence: len(results)}
    cut_off = CutOff()
    for one in results:
        cut_off.add(one.rows)
    return JudgeSection(
        judge=judge,
        alerts=(*filter(None, (stop, _ungraded(results, criteria), cut_off.alert)), *unvaried_systems(results, texts)),
        models=tuple(dict.fromkeys(one.judge_model for one in results if one.judge_model)),
        fingerprint=_only({one.fingerprint for one in results}),
        calibration=None if anchored is None else anchored.calibration,
        calibration_state=None if anchored is None else anchored.calibration_state,
        criteria=criteria,
        cases=len(results),
        not_asked=max(planned - len(results), 0),
        usage=bill.usage,
        cost=bill.cost,
        calibration_usage=bill.calibration_usage,
        calibration_cost=bill.calibration_cost,
        cost_remarks=bill.cost_remarks,
        skipped=dict(Counter(name for one in results for name in one.skipped)),
        warnings=(
            *dict.fromkeys(warning for one in results for warning in one.warnings),
            *_repeated(criteria),
            *_uncertified(results),
            *copied_cases(row for one in results for row in one.rows),
            *(found.sentence for (name, *_), found in unread.items() if name == judge),
        ),
        not_measured=dict(Counter(sentence for one in results for sentence in boundary(one)).most_common()) | untested,
        shift=shift,
        certificates=certificates_on_run(results, texts, stopped=bool(stop)),
        unknown_certificate=unknown_certificate,
    )


def _with_unread(summary: CriterionSummary, unread: Mapping[tuple[str, Hashable, str], Unread]) -> CriterionSummary:
    found = unread.get((summary.judge, design_key(summary.design), summary.criterion))
    return summary if found is None else replace(summary, replay=replace(summary.replay, unread=found.cases))


def _ungraded(results: Sequence[HarnessResult], criteria: Sequence[CriterionSummary]) -> str | None:
    """Return what to say first of a judge that graded nothing, and why; None where it graded anything."""
    if not results or any(one.graded for one in criteria):
        return None
    reasons = Counter(one.reason for result in results for one in result.criteria.values())
    return f"{nothing_graded(len(results))}: {reasons.most_common(1)[0][0]}"


def _repeated(criteria: Sequence[CriterionSummary]) -> list[str]:
    """Return what is to be said where cases were measured more than once under one design."""
    designs = {design_key(one.design): one.repeated for one in criteria}  # its criteria stand on the same results
    again = sum(designs.values())
    if not again:
        return []
    told = "1 result measures a case" if again == 1 else f"{again} results measure a case"
    return [f"{told} again: each counts in shares, intervals take the results of one case for one"]


def _weakest(results: Sequence[HarnessResult]) -> HarnessResult | None:
    """Return the result that tells what anchors all of them: a calibration of one design vouches for no other."""
    return min(results, key=_anchoring, default=None)


def _uncertified(results: Sequence[HarnessResult]) -> list[str]:
    """Return in which strata the certificate of a judge's results certifies nothing, and how many cases are there."""
    found = UncertifiedCases()
    for one in results:
        if one.certificate is not None:
            for criterion, rows in by_criterion(one.rows).items():
                found.add(one.certificate, criterion, rows)
    return found.warnings


def _anchoring(result: HarnessResult) -> int:
    """Return 0 without a calibration, 1 with one that does not hold, 2 with one that does."""
    state = result.calibration_state
    return 0 if state is None or result.calibration is None else 1 + state.valid


def _only(values: set[str | None]) -> str | None:
    return next(iter(values)) if len(values) == 1 else None
