"""Results in memory become a report: its bill, its labels, and numbers of a run that its own gates stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.verdictlog.encoding import counted
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, TOKENS, CutOff

from ..aggregation.grouping import Clusters, by_criterion, copied_cases
from ..calibration.population import CaseFacts, Population, population_of
from ..calibration.rates import Rate
from ..calibration.transport import OF_SOME, STOPPED, ShiftTest, shift_test, transported
from ..certifying.applying import UncertifiedCases
from ..certifying.cascade import certificate_on_run
from ..certifying.certificate import HeldCertificate
from ..gates.gate import OF_CALIBRATION, REQUIRE_CALIBRATION, GateCheck, GateReport, Gates, number, parse_expression
from ..measure import facts_of_result
from ..replay.report import JudgeReplay
from ..result import HarnessResult, boundary
from ..spending import ServedTiers
from ..statistics.means import Estimate
from ..usage import Usage, known_sum, tokens_of
from .report import CriterionSummary, JudgeSection, RunReport, nothing_graded
from .summarising import Unread, design_key, summaries, unvaried_systems, with_read_golds

if TYPE_CHECKING:
    from ..probability.passport import HeldPassport

TESTED = frozenset({"valid", "unverifiable"})


def calibration_key(result: HarnessResult) -> Hashable:
    """Return what tells calibrations of one judge apart, and the designs they are looked at under."""
    report = result.calibration
    return None if report is None else (report.name, report.measured_at, design_key(result.design))


def transported_results(
    results: Sequence[HarnessResult], texts: Mapping[str, Mapping[str, str]], *, stopped: bool = False
) -> tuple[list[HarnessResult], dict[Hashable, ShiftTest]]:
    """Return the results of one judge, calibrated no more where the run is shifted, and what was tested.

    Args:
        results: of one judge, perhaps under several designs.
        texts: case -> field -> text of what was judged, as far as that is known.
        stopped: whether asking ended because of what was answered: such cases cannot be compared.

    """
    groups: dict[Hashable, list[HarnessResult]] = {}
    for result in results:
        if result.calibration is not None and (state := result.calibration_state) and state.status in TESTED:
            groups.setdefault(calibration_key(result), []).append(result)
    tests = {
        key: _test(getattr(group[0].calibration, "population", None), group, texts, stopped=stopped)
        for key, group in groups.items()
    }
    return [_transported(result, tests) for result in results], tests


def _transported(result: HarnessResult, tests: Mapping[Hashable, ShiftTest]) -> HarnessResult:
    state, test = result.calibration_state, tests.get(calibration_key(result))
    if state is None or test is None or not test.shifted:
        return result
    return replace(result, calibration_state=transported(state, test))


def _test(
    known: Population | None,
    results: Sequence[HarnessResult],
    texts: Mapping[str, Mapping[str, str]],
    *,
    stopped: bool,
) -> ShiftTest:
    if stopped:
        return ShiftTest(shifted=None, reason=STOPPED)
    if known is None:
        return shift_test(None, population_of(()))
    facts = _facts(results, texts, column=known.column)
    return shift_test(known, population_of(facts, column=known.column, columns=known.columns))


def _facts(
    results: Iterable[HarnessResult], texts: Mapping[str, Mapping[str, str]], *, column: str | None
) -> Iterator[CaseFacts]:
    """Yield what is counted of the cases that were judged: of others nobody knows what they would have been."""
    judged = [one for one in results if one.state == "complete"]
    clusters = Clusters.of_cases(judged)
    for one in judged:
        yield facts_of_result(one, texts.get(one.case_id, {}), column=column, cluster=clusters.of(one.case_id))


def passport_notes(
    results: Sequence[HarnessResult], texts: Mapping[str, Mapping[str, str]], *, stopped: bool = False
) -> Iterator[str]:
    """Yield what the passports by which a judge's results were decided are worth for all of them, where that is less.

    Args:
        results: of one judge.
        texts: see `transported_results`.
        stopped: see there.

    """
    found: dict[Hashable, tuple[HeldPassport, list[HarnessResult]]] = {}
    for one in results:
        if (held := one.design.passport) is not None:
            found.setdefault((held[0].digest, held[0].measured_at, held[1]), (held, []))[1].append(one)
    for held, mine in found.values():
        yield from _passport_notes(held, mine, texts, stopped=stopped)


def _passport_notes(
    held: HeldPassport, mine: Sequence[HarnessResult], texts: Mapping[str, Mapping[str, str]], *, stopped: bool
) -> Iterator[str]:
    passport, state = held
    told = f"the passport on {passport.name} is"
    if not state.valid:
        yield f"{told} {state}: its decisions abstain"
    elif moved := passport.moved(row.model for one in mine for row in one.rows if row.answered):
        yield f"{told} {moved}: those decisions abstain"
    elif passport.granted:
        test = _test(passport.population, mine, texts, stopped=stopped)
        if test.shifted is None:
            yield f"{told} {state}, and {test.sentence}"
        elif test.shifted:
            yield f"{told} {transported(state, test)}"


def certificates_on_run(
    results: Sequence[HarnessResult], texts: Mapping[str, Mapping[str, str]], *, stopped: bool = False
) -> tuple[HeldCertificate, ...]:
    """Return the different certificates of a judge's results, with what each is worth for all of them.

    Args:
        results: of one judge, whose calibration is `transported_results`' already.
        texts: see there.
        stopped: see there.

    """
    found: dict[Hashable, tuple[HeldCertificate, list[HarnessResult]]] = {}
    for one in results:
        if (given := one.certificate) is not None and (state := one.certificate_state) is not None:
            found.setdefault((given.name, given.measured_at, state), ((given, state), []))[1].append(one)
    return tuple(
        certificate_on_run(
            held,
            _facts(mine, texts, column=held[0].stratum),
            mine[0].calibration,
            mine[0].calibration_state,
            stopped=stopped,
        )
        for held, mine in found.values()
    )


def told_at_stop(report: RunReport) -> RunReport:
    """Return a report whose gated numbers are those its own gates looked at, where asking stopped once they settled.

    An interval over a fixed number of cases does not hold for them: the gate's confidence sequence does, at every look.
    Decisions by a rule chosen later are others than those the gates were about: their sequence is made anew, over the
    same cases, or the reason is told why there is none.
    """
    gates = report.gates
    if gates is None or not gates.stopped:
        return report
    later = any(one.design.rule_fixed == "after" for section in report.judges for one in section.criteria)
    again = gates_of_decisions(report, gates) if later else gates
    judges = []
    for section in report.judges:
        found = [_at_stop(one, again if one.design.rule_fixed == "after" else gates) for one in section.criteria]
        told = tuple(sentence for _, sentence in found if sentence)
        judges.append(replace(section, criteria=tuple(one for one, _ in found), alerts=(*section.alerts, *told)))
    return replace(report, judges=tuple(judges))


def gates_of_decisions(report: RunReport, gates: GateReport) -> GateReport:
    """Return what the gates of a run that they stopped say of its decisions under another rule."""
    from ..gates.checking import check_gates  # noqa: PLC0415 - it makes reports of logs

    asked = tuple(dict.fromkeys(check.gate for check in gates.checks if check.gate != REQUIRE_CALIBRATION))
    if not asked:
        return gates
    return check_gates(report, Gates(fail_under=asked, sequential=True, about=gates.sequential or "population"))


def last_looks(gates: GateReport, judge: str, criterion: str) -> dict[str, GateCheck]:
    """Return metric -> the check of it that looked at most cases."""
    return {
        parse_expression(check.gate).name: check
        for check in sorted(gates.checks, key=lambda one: one.n)
        if (check.judge, check.criterion) == (judge, criterion) and check.gate != REQUIRE_CALIBRATION
    }


def replay_at_stop(one: JudgeReplay, gates: GateReport) -> tuple[JudgeReplay, str]:
    """Return an entry of a run that its gates stopped, and what its gated numbers are of, in a sentence.

    Its accuracy is that of the gate on it, with the confidence sequence; without such a gate it has no interval. Those
    of other gates stand in the sentence. It is empty where nothing was gated.

    Args:
        one: of the run.
        gates: what they say of decisions by the rule of the entry (`gates_of_decisions`).

    """
    looks = last_looks(gates, one.judge, one.criterion)
    check = looks.pop("accuracy", None)
    told = [_looked_at(name, other, one.cases) for name, other in looks.items() if other.value is not None]
    if check is None or check.value is None or check.low is None or check.high is None:
        return replace(one, stopped=True, accuracy_ends=None), "; ".join(told)
    rate = _rate_of(check)
    found = replace(
        one,
        stopped=True,
        accuracy=rate.value,
        correct=rate.successes,
        labelled=rate.trials,
        accuracy_ends=(rate.low, rate.high),
    )
    return found, "; ".join([_looked_at("accuracy", check, one.labelled), *told])


def _rate_of(check: GateCheck) -> Rate:
    value, ends = check.value or 0.0, {"low": check.low, "high": check.high}
    return Rate(successes=round(value * check.n), trials=check.n, **ends)  # type: ignore[arg-type]


def _looked_at(name: str, check: GateCheck, answered: int) -> str:
    """Return of which cases a gated number is, and how many more of the `answered` ones there are."""
    value, low, high = (number(one, None) for one in (check.value, check.low, check.high))
    shown = name if name in _IN_TABLES else f"{name} {value} [{low}, {high}]"
    told, others = f"{shown} is of the {counted(check.n, 'case')} its gate looked at", answered - check.n
    if others <= 0:
        return told
    return f"{told} ({others} more, in flight when it was settled, answered before, or copies, do not count)"


_IN_TABLES: Final = ("accuracy", "mean_score")  # with the interval of their gates


def _at_stop(summary: CriterionSummary, gates: GateReport) -> tuple[CriterionSummary, str]:
    """Return what a criterion comes to at the last look of each gate, and that in a sentence; nothing without any."""
    told, untold = [], []
    for name, check in last_looks(gates, summary.judge, summary.criterion).items():
        if check.value is None:
            untold.append(check.reason)
        elif name not in OF_CALIBRATION:  # as of none that may be looked at again
            told.append(_looked_at(name, check, _answered(summary, name)))
            if changed := _gated(summary, check):
                summary = replace(summary, **changed)
    about = [f"{'; '.join(told)}, with a confidence sequence that holds at every look"] if told else []
    sentences = "; ".join([*about, *untold])
    return summary, f"{summary.criterion}: {sentences}" if sentences else ""


def _answered(summary: CriterionSummary, name: str) -> int:
    """Return over how many of all cases a number is."""
    if name == "accuracy" and summary.accuracy is not None:
        return summary.accuracy.trials
    return summary.mean_score.n if name == "mean_score" and summary.mean_score is not None else summary.cases


def _gated(summary: CriterionSummary, check: GateCheck) -> dict[str, Any]:
    """Return the fields of a summary that are the number of a gate, as that measured it."""
    expression = parse_expression(check.gate)
    if expression.metric == "mean_score":
        return {"mean_score": Estimate(value=check.value or 0.0, n=check.n, low=check.low, high=check.high)}
    untold = summary.replay.not_graded + (0 if expression.metric == "abstention" else summary.replay.abstained)
    if untold and not expression.wants_high and expression.metric in {"pass_rate", "rate", "abstention"}:
        return {}  # such cases count against the gate, and are none of these
    rate = _rate_of(check)
    if expression.metric in {"accuracy", "coverage", "abstention"}:
        return {expression.metric: rate}
    label = {"pass_rate": "PASS", "rate": expression.argument}.get(expression.metric)
    if label is None:
        return {}
    positive = {"positive_rate": rate} if summary.positive == label else {}
    return {"shares": {**summary.shares, label: rate}, **positive}


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
        alerts=(
            *filter(None, (stop, _ungraded(results, criteria), cut_off.alert)),
            *unvaried_systems(results, texts),
            *labels_apart(criteria),
        ),
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
            *_served(results),
            *_repeated(criteria),
            *_uncertified(results),
            *passport_notes(results, texts, stopped=bool(stop)),
            *copied_cases(row for one in results for row in one.rows),
            *(found.sentence for (name, *_), found in unread.items() if name == judge),
        ),
        not_measured=dict(Counter(sentence for one in results for sentence in boundary(one)).most_common()) | untested,
        shift=shift,
        certificates=certificates_on_run(results, texts, stopped=bool(stop)),
        unknown_certificate=unknown_certificate,
    )


def labels_apart(criteria: Sequence[CriterionSummary]) -> Iterator[str]:
    """Yield of which criteria of a judge the labelled cases are no sample of all, and in what."""
    several = len({one.criterion for one in criteria}) > 1
    for one in criteria:
        if (told := one.apart or (one.batch and OF_SOME + one.batch)) and one.accuracy is not None:
            yield f"{one.criterion}: {told}" if several else told


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


def _served(results: Sequence[HarnessResult]) -> list[str]:
    """Return how many calls another tier served than was asked."""
    tiers = ServedTiers()
    for one in results:
        tiers.add(one.rows)
    return tiers.warnings


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
