"""Gates on a report: every gate on every judge and criterion it is about, and how many cases would settle it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import counted, safe_text

from ..aggregation.grouping import copied_cases
from ..aggregation.rules import samples_planned
from ..calibration.items import confidence_text
from ..statistics import CONFIDENCE
from ..statistics.paired import fewest
from ..statistics.proportions import exact_interval
from .gate import (
    METRICS,
    OF_CALIBRATION,
    REQUIRE_CALIBRATION,
    STOPPED,
    TAKEN_FOR_WHOLE,
    Expression,
    Gate,
    GateCheck,
    GateReport,
    Gates,
    number,
)
from .metrics import CriterionCases, Measured, criteria_of, measure, unanchored, untested

if TYPE_CHECKING:
    from ..result import HarnessResult
    from ..runs.report import RunReport
    from .sequential import Looked

_NEGLIGIBLE = 1e-9
_MOST = 10**12
_OF_DECISIONS: Final = frozenset({"accuracy", "pass_rate", "rate"})
_FAILS = {">=": "below", ">": "not above", "<=": "above", "<": "not below"}
_HOLDS = {">=": "not below", ">": "above", "<=": "not above", "<": "below"}


def judged(
    expression: Expression,
    measured: Measured,
    *,
    judge: str,
    criterion: str,
    design: str = "",
    point_estimates: bool = False,
    exploratory: bool = False,
) -> GateCheck:
    """Return what a gate says about a metric of one judge and criterion.

    Args:
        expression: the bar.
        measured: the metric.
        judge: whose verdicts they are.
        criterion: what they are about.
        design: what tells their design from others of the judge.
        point_estimates: look at the value instead of the worse end of its interval.
        exploratory: the rule was chosen after the samples, and the sentence says so.

    """
    value, end = measured.value, measured.low if expression.wants_high else measured.high
    looked_at = value if point_estimates else end
    more = None
    if value is None or looked_at is None:
        status, sentence = "not_measured", _not_measured(expression, measured)
    elif expression.holds(looked_at):
        status, sentence = "passed", _sentence(expression, measured, looked_at, of_value=point_estimates)
    else:
        status, sentence = "failed", _sentence(expression, measured, looked_at, of_value=point_estimates)
        more = None if point_estimates else more_cases(expression, measured)
        if more is not None:
            same = "share" if expression.is_share else "mean and spread"
            more, what = _in_clusters(more, measured)
            sentence += f"; with this {same}, about {what} would settle it"
    notes = "; ".join(filter(None, (measured.note, measured.controls)))
    sentence += f" ({notes})" if notes else ""
    sentence += "; exploratory: the rule was chosen after the samples" if exploratory else ""
    known = status != "not_measured"
    return GateCheck(
        gate=expression.text,
        judge=judge,
        criterion=criterion,
        status=status,  # type: ignore[arg-type]
        value=value if known else None,
        low=measured.low if known else None,
        high=measured.high if known else None,
        n=measured.n,
        reason=sentence,
        more_cases=more,
        design=design,
        confidence=measured.confidence,
    )


def _in_clusters(more: int, measured: Measured) -> tuple[int, str]:
    """Return so many further cases as whole clusters of them, and in words: more of a cluster tell nothing new."""
    if measured.each <= 1:
        of = measured.of.replace("cases", "case", 1) if more == 1 else measured.of
        return more, f"{more} more {of}"
    clusters = math.ceil(more / measured.each - _NEGLIGIBLE)
    cases = math.ceil(clusters * measured.each - _NEGLIGIBLE)
    return cases, f"{counted(clusters, 'more cluster')} ({cases} {measured.of}, none of them of those there are)"


def _not_measured(expression: Expression, measured: Measured) -> str:
    if measured.value is None:
        return f"{expression.name} was not measured: {measured.missing}"
    value = number(measured.value, None)
    return f"{expression.name} {value} over {measured.n} {measured.of} has no interval: {measured.missing}"


def _sentence(expression: Expression, measured: Measured, looked_at: float, *, of_value: bool) -> str:
    """Return the sentence of a gate that passed or failed."""
    bar, held = expression.bar, expression.holds(looked_at)
    word, shown = (_HOLDS if held else _FAILS)[expression.operator], f"{bar:.10g}"
    value = number(measured.value, bar)
    interval = ""
    if measured.low is not None and measured.high is not None:
        interval = f" [{number(measured.low, bar)}, {number(measured.high, bar)}]"
        if measured.confidence != CONFIDENCE:
            interval += f" at {confidence_text(measured.confidence)}, as one of several candidates,"
    what = f"{expression.name} {value}{interval} over {measured.n} {measured.of}"
    if of_value:
        return f"{what}: the value alone is {word} {shown}, its interval was not looked at"
    if not held and not expression.holds(float(measured.value or 0)):
        return f"{what} is itself {word} {shown}"
    end = ("" if measured.worth is None else "exact ") + ("lower" if expression.wants_high else "upper")
    return f"{what}: its {end} end is {word} {shown}"


def more_cases(expression: Expression, measured: Measured) -> int | None:
    """Return about how many more cases with the same result would bring the end of the interval past the bar.

    An exact interval is made of more and more cases, each worth as much as those there are. Wilson's
    of a mean of shares p ends where (p - x)^2 = k x (1 - x), with k falling as 1/n: its own end gives k, and the bar
    the k that is needed. The width of others falls with the square root of n. None where
    the value itself does not clear the bar, or one cluster tells no width.
    """
    value, end, bar = measured.value, measured.low if expression.wants_high else measured.high, expression.bar
    if value is None or end is None or not expression.holds(value) or abs(value - bar) <= _NEGLIGIBLE:
        return None
    if measured.worth is not None:
        total = _enough(expression, measured, measured.worth / measured.n) if measured.worth else None
        return None if total is None else total - measured.n
    if expression.is_share and expression.metric != "balanced_accuracy":
        if not 0 < end < 1 or not 0 < bar < 1:
            return None
        ratio = (value - end) ** 2 / (end * (1 - end)) * bar * (1 - bar) / (value - bar) ** 2
    else:
        ratio = ((value - end) / (value - bar)) ** 2
    return max(1, math.ceil(measured.n * ratio - _NEGLIGIBLE) - measured.n)


def _enough(expression: Expression, measured: Measured, each: float) -> int | None:
    """Return the fewest cases, more than `n` and each worth so many independent ones, whose share clears the bar."""

    def clears(cases: int) -> bool:
        ends = exact_interval(float(measured.value or 0), cases * each, confidence=measured.confidence)
        return expression.holds(ends[0 if expression.wants_high else 1])

    return fewest(clears, least=measured.n + 1, most=_MOST)


_MOST_NAMED = 8
_FIXED: Final = f"the run {STOPPED}: gate with --sequential, or on a run that asked every case"
_NONE_LOOKED_AT: Final = "no case that was looked at is about it"


def check_gates(
    report: RunReport,
    gates: Gates | Iterable[Gate | str],
    *,
    at_stop: Mapping[tuple[str, str, str], Looked] | None = None,
) -> GateReport:
    """Check gates on a report: the case is the unit, and the worse end of the 95 % interval is looked at.

    A gate is checked on every judge and criterion its metric can be measured of: a pass rate not of scores. What could
    be measured and was not (no gold labels, no valid calibration, no answer) never passes. Where the run ended because
    gates of its own were settled, gates on a fixed number of cases are not measured.

    Args:
        report: what was measured.
        gates: `Gates`, or gates or texts as `pass_rate>=0.9`.
        at_stop: the evidence by which asking was stopped, by gate, judge and criterion.

    Raises:
        UnknownNameError: a gate is about a judge or criterion that the report does not have.
        UsageError: an expression cannot be read or can never pass, or is about nothing in the report.

    """
    asked = gates if isinstance(gates, Gates) else Gates(fail_under=tuple(gates))
    found = tuple(criteria_of(report))
    checks = [check for gate in asked.listed for check in _checks(report, found, gate, asked, at_stop)]
    if asked.require_calibration:
        checks += _calibrations(report, found)
    about, own = (asked.about, report.gates) if asked.sequential else (None, None)
    order = None if own is None else own.order
    return GateReport(checks=tuple(checks), point_estimates=asked.point_estimates, sequential=about, order=order)


def _checks(
    report: RunReport,
    found: Sequence[CriterionCases],
    gate: Gate,
    asked: Gates,
    at_stop: Mapping[tuple[str, str, str], Looked] | None,
) -> Iterator[GateCheck]:
    expression = gate.expression
    chosen = _chosen(report, found, gate)
    measured = [(cases, measure(expression, cases)) for cases in chosen]
    unmeasured = [name for name in _without_criteria(report) if gate.judge in (None, name)]
    if not unmeasured and all(one is None for _, one in measured):
        raise UsageError(_about_nothing(expression, chosen))
    for cases, one in measured:
        if one is not None:
            check = _check(gate, one, cases, asked=asked, report=report, at_stop=at_stop)
            yield _with_caution(_with_copies(check, cases), _caution(expression, cases))
    for judge in unmeasured:
        yield judged(expression, Measured(missing="no case was measured"), judge=judge, criterion=gate.criterion or "")


def _check(
    gate: Gate,
    measured: Measured,
    cases: CriterionCases,
    *,
    asked: Gates,
    report: RunReport,
    at_stop: Mapping[tuple[str, str, str], Looked] | None,
) -> GateCheck:
    expression, of_cases = gate.expression, gate.expression.metric not in OF_CALIBRATION
    facts: dict[str, Any] = {
        "judge": cases.summary.judge,
        "criterion": cases.summary.criterion,
        "design": cases.design,
        "exploratory": cases.summary.design.rule_fixed == "after",
    }
    if of_cases and (cut := cut_off(cases, report)):
        return judged(expression, Measured(missing=cut), **facts)
    if asked.sequential:
        return _sequentially(gate, measured, cases, asked=asked, report=report, at_stop=at_stop, facts=facts)
    if report.stopped:
        return judged(expression, Measured(missing=_FIXED), **facts)
    check = judged(expression, measured, point_estimates=asked.point_estimates, **facts)
    told = taken_for_whole(cases, report) if of_cases and check.value is not None else ""
    return replace(check, reason=f"{check.reason}; {told}") if told else check


def _caution(expression: Expression, cases: CriterionCases) -> str:
    """Return which judge that reads nothing is as good as this one, by the labels the gate is about, or of its cases.

    It says something of a gate on what was decided: a judge that always answers the same passes many of them.
    """
    if expression.metric in OF_CALIBRATION:
        calibration = cases.section.calibration
        measured = None if calibration is None else calibration.criteria.get(cases.summary.criterion)
        controls = None if measured is None else measured.controls
    else:
        decided = expression.metric in _OF_DECISIONS and not cases.summary.apart
        controls = cases.summary.controls if decided else None
    return "" if controls is None else controls.caution


def _with_caution(check: GateCheck, caution: str) -> GateCheck:
    """Return a check that passed with what speaks against the judge all the same."""
    if check.status != "passed" or not caution:
        return check
    return replace(check, caution=caution, reason=f"{check.reason}; passed, but {caution}")


def _with_copies(check: GateCheck, cases: CriterionCases) -> GateCheck:
    """Return a check that says which of its cases are copies of others."""
    if check.value is None:
        return check
    said = copied_cases(row for result, _ in cases.pairs for row in result.rows)
    return replace(check, reason="; ".join([check.reason, *said])) if said else check


def _sequentially(
    gate: Gate,
    measured: Measured,
    cases: CriterionCases,
    *,
    asked: Gates,
    report: RunReport,
    at_stop: Mapping[tuple[str, str, str], Looked] | None,
    facts: Mapping[str, Any],
) -> GateCheck:
    from .sequential import Looked, judged_sequentially, looked_at  # noqa: PLC0415 - loads SciPy

    stop = None
    if at_stop is not None:
        stop = at_stop.get((gate.name, facts["judge"], facts["criterion"])) or Looked(missing=_NONE_LOOKED_AT)
    of: dict[str, Any] = {"about": asked.about, "scale": asked.scale, "report": report, "at_stop": stop}
    looked = looked_at(gate.expression, measured, cases, **of)
    return judged_sequentially(gate.expression, looked, about=asked.about, **facts)


def _without_criteria(report: RunReport) -> list[str]:
    """Return the judges nothing was measured of; a report without judges is one without a name."""
    return [section.judge for section in report.judges if not section.criteria] if report.judges else [""]


def _chosen(report: RunReport, found: Sequence[CriterionCases], gate: Gate) -> list[CriterionCases]:
    """Return the criteria a gate is narrowed to."""
    judges = [section.judge for section in report.judges]
    if gate.judge is not None and gate.judge not in judges:
        raise UnknownNameError(f"judge of the gate {safe_text(gate.name, 120)}", gate.judge, judges)
    criteria = {cases.summary.criterion for cases in found}
    if gate.criterion is not None and criteria and gate.criterion not in criteria:
        raise UnknownNameError(f"criterion of the gate {safe_text(gate.name, 120)}", gate.criterion, criteria)
    return [
        cases
        for cases in found
        if gate.judge in (None, cases.summary.judge) and gate.criterion in (None, cases.summary.criterion)
    ]


def _about_nothing(expression: Expression, chosen: Sequence[CriterionCases]) -> str:
    """Return why no criterion has the metric, and what there is."""
    if METRICS[expression.metric] == "PERTURBATION" or expression.metric == "position_flip":
        asked = dict.fromkeys(name for cases in chosen for name in cases.summary.design.perturbations if name != "none")
        there = f"the perturbations asked are {', '.join(asked)}" if asked else "no perturbation was asked"
    else:
        there = "; ".join(map(_there, chosen[:_MOST_NAMED])) or "there is no criterion"
    return safe_text(f"the gate {expression.text} is about nothing in this report: {there}.", 800)


def _there(cases: CriterionCases) -> str:
    name = f"{cases.summary.criterion} of {cases.summary.judge} holds"
    if cases.scored:
        return f"{name} scores (mean_score, consistency, coverage, abstention)"
    return f"{name} the labels {', '.join(cases.labels)} (rate(LABEL), accuracy, consistency, coverage, abstention)"


def _calibrations(report: RunReport, found: Sequence[CriterionCases]) -> Iterator[GateCheck]:
    for cases in found:
        section, criterion = cases.section, cases.summary.criterion
        reason = unanchored(section, criterion)
        if reason or section.calibration is None:
            yield _calibration(section.judge, criterion, reason, design=cases.design)
        else:
            one, source = section.calibration.criteria[criterion], section.calibration.name
            controls = one.controls
            beside = "" if controls is None else controls.missing if controls.beaten else controls.sentence
            told = (f"calibrated on {source}: {one.n} labelled cases", beside, untested(section))
            reason = "; ".join(filter(None, told))
            check = _calibration(section.judge, criterion, reason, n=one.n, design=cases.design)
            yield _with_caution(check, "" if controls is None else controls.caution)
    for judge in _without_criteria(report):
        yield _calibration(judge, "", "no case was measured")


def _calibration(judge: str, criterion: str, reason: str, *, n: int | None = None, design: str = "") -> GateCheck:
    """Return the check of one criterion; `n` labelled cases of the calibration that holds, None without one."""
    return GateCheck(
        gate=REQUIRE_CALIBRATION,
        judge=judge,
        criterion=criterion,
        status="failed" if n is None else "passed",
        value=None,
        low=None,
        high=None,
        n=n or 0,
        reason=reason,
        design=design,
    )


_FOLDER: Final = "gate on the folder of the run, or continue it to its end"


def taken_for_whole(cases: CriterionCases, report: RunReport) -> str:
    """Return that the rows of a run are taken for all of it; empty where that is known, or no run is named."""
    named = any(row.run for result in cases.results for row in result.rows)
    return TAKEN_FOR_WHOLE if named and not report.of_known_size else ""


def cut_off(cases: CriterionCases, report: RunReport) -> str:
    """Return by what the rows of a run show that it was cut off; empty where they do not, or no run is named.

    A run asks every sample of a case unless it is stopped, and notes those that fail: where a perturbation was repeated
    less often in some cases than in others, the run ended in between, and early stopping would have said so. It also
    asks every judge about every case, a cascade apart, whose later cases were chosen by what earlier judges said.
    What ended between two cases of its only judge leaves no trace in rows.
    """
    return next(_traces(cases, report), "") if taken_for_whole(cases, report) else ""


def _traces(cases: CriterionCases, report: RunReport) -> Iterator[str]:
    mine = cases.results
    counts = [_repeated(result) for result in mine if not samples_planned(result.rows)]
    most: Counter[str] = Counter()
    for count in counts:
        most |= count
    short = sum(any(times < most[name] for name, times in count.items()) for count in counts)
    if short:
        verb = "holds" if short == 1 else "hold"
        yield f"{short} of {len(mine)} cases {verb} fewer samples than the others, as after a cut: {_FOLDER}"
    judged: dict[str, set[str]] = {}
    for result in report.results:
        judged.setdefault(result.judge, set()).add(result.case_id)
    own = judged.get(cases.summary.judge, set())
    missing = len(set().union(*judged.values()) - own)
    if missing and any(own < other for other in judged.values()):
        yield (
            f"other judges of the run were asked about {counted(missing, 'case')} more, so that these may be no random "
            f"part of them: {_FOLDER}"
        )


def _repeated(result: HarnessResult) -> Counter[str]:
    """Return perturbation -> how often the case was asked with it."""
    return Counter(name for name, _ in {(row.perturbation, row.repetition) for row in result.rows})
