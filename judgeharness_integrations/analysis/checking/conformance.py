"""Which judge, run and criteria of a log are checked, and what stands beside the properties."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import p_text
from judgeharness_integrations.verdictlog.row import (
    EVERY_CRITERION,
    PROBE_PROPERTIES,
    VerdictRow,
    is_number,
    verdict_text,
)

from ..aggregation.grouping import by_criterion, by_judge
from ..calibration.controls import Controls, controls_of, label_controls, longer_of
from ..statistics.proportions import clopper_pearson, holm
from .excess import PERTURBED, holds_zero, perturbed, position, property_of
from .probes import Expected, checked_expectations, probe_property, probed
from .samples import Finding, Samples, collapse, failing, of_text, percent, repetition, samples_of
from .statistics import CheckReport, PropertyCheck

_CONSISTENT: Final = 0.6
_COIN: Final = 0.5
_AS_IT_IS: Final = frozenset({"none", "position_swap"})


def facts_of(samples: Samples, *, longer: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """Return what is known of a criterion, None what is not.

    `consistency` is the share of cases with the same verdict in both orders, or the agreement of repetitions
    (`consistency_of` says which); `right_of_labelled` is the share of right samples, those that failed being wrong, of
    the cases as they are in either order, its mean over the cases with a gold label. `controls` are judges that read
    nothing, on the same cases and samples; of scores, on the mean score of each case.

    Args:
        samples: of one criterion.
        longer: case -> the longer of its two answers, A or B; by columns of the log without.

    """
    orders, repeated = list(_orders(samples)), list(_repeated(samples))
    same = orders or repeated
    labelled = _labelled(samples)
    right = [_share(samples, rows) for rows in labelled.values()]
    controls = _controls(samples, labelled, longer)
    return {
        "criterion": samples.criterion,
        "consistency": sum(same) / len(same) if same else None,
        "consistency_of": "orders" if orders else "repetitions" if repeated else None,
        "consistency_cases": len(same),
        "right_of_labelled": sum(right) / len(right) if right else None,
        "right_of_labelled_interval": clopper_pearson(sum(right), len(right)) if right else None,
        "labelled_cases": len(right),
        "controls": controls,
    }


def consistent_but_wrong(fact: Mapping[str, Any]) -> str | None:
    """Return the warning that consistent is not right, for a judge that is clearly wrong more often than not."""
    interval, consistency = fact["right_of_labelled_interval"], fact["consistency"]
    if interval is None or consistency is None or consistency <= _CONSISTENT or interval[1] >= _COIN:
        return None
    again = f"{percent(consistency)} of {fact['consistency_cases']} cases get the same verdict again"
    right = f"{percent(fact['right_of_labelled'])} of {fact['labelled_cases']} agree with gold"
    return f"{fact['criterion']}: {again}, but {right}: consistent is not right"


def _orders(samples: Samples) -> Iterator[float]:
    """Yield the share of pairs with the same verdict of each case; a failed sample is equal to nothing."""
    cases: dict[str, tuple[list[VerdictRow], list[VerdictRow]]] = {}
    for row in samples.rows:
        if row.perturbation in _AS_IT_IS:
            cases.setdefault(row.case_id, ([], []))[row.swapped].append(row)
    for shown, swapped in cases.values():
        if shown and swapped:
            yield _agreeing(samples, [(first, second) for first in shown for second in swapped])


def _repeated(samples: Samples) -> Iterator[float]:
    for rows in samples.unchanged.values():
        if len(rows) > 1:
            yield _agreeing(samples, [(one, other) for place, one in enumerate(rows) for other in rows[:place]])


def _agreeing(samples: Samples, pairs: Sequence[tuple[VerdictRow, VerdictRow]]) -> float:
    return sum(one.ok and not samples.differ(one.verdict, other.verdict) for one, other in pairs) / len(pairs)


def _labelled(samples: Samples) -> dict[str, list[VerdictRow]]:
    """Return case -> its samples with a gold label, of the cases as they are."""
    cases: dict[str, list[VerdictRow]] = {}
    for row in samples.rows:
        if row.gold is not None and row.perturbation in _AS_IT_IS:
            cases.setdefault(row.case_id, []).append(row)
    return cases


def _share(samples: Samples, rows: Sequence[VerdictRow]) -> float:
    return sum(row.ok and not samples.differ(row.verdict, row.gold) for row in rows) / len(rows)


def _controls(
    samples: Samples, labelled: Mapping[str, Sequence[VerdictRow]], longer: Mapping[str, str | None] | None
) -> Controls | None:
    if samples.kind == "scores":
        means = [
            (rows[0].gold, statistics.fmean(scores))
            for rows in labelled.values()
            if is_number(rows[0].gold)
            if (scores := [row.verdict for row in rows if isinstance(row.verdict, (int, float))])
        ]
        golds, decided = zip(*means, strict=True) if means else ((), ())
        return controls_of(golds, decided, range(len(means)))
    listed = [rows for rows in labelled.values() if not is_number(rows[0].gold)]
    named = [verdict_text(rows[0].gold) for rows in listed]
    said = {verdict_text(row.verdict) for rows in listed for row in rows if row.verdict is not None}
    return label_controls(
        named,
        [_share(samples, rows) for rows in listed],
        range(len(listed)),
        labels=frozenset({*named, *said}),
        longer=[
            longer_of({}, rows[0].attributes) if longer is None else longer.get(rows[0].case_id) for rows in listed
        ],
        first=[sum(row.gold == "AB"[row.swapped] for row in rows) / len(rows) for rows in listed],
        of="labelled",
    )


def not_better_than_a_control(fact: Mapping[str, Any]) -> str | None:
    """Return that a judge is not shown to be better than one that reads nothing; None where it is, and without gold."""
    controls: Controls | None = fact["controls"]
    return None if controls is None or controls.beaten else f"{fact['criterion']}: {controls.sentence}"


def chosen_judge(rows: Iterable[VerdictRow], judge: str | None) -> tuple[str, list[VerdictRow]]:
    """Return the judge to be checked and its rows.

    Raises:
        UsageError: there are several judges and none was named, there are no rows, or cases stand in several runs.
        UnknownNameError: there is no judge of that name.

    """
    groups = by_judge(rows)
    if not groups:
        raise UsageError("there are no rows to check.")
    if judge is None:
        if len(groups) > 1:
            raise UsageError(f"the log holds {len(groups)} judges ({_names(groups)}): choose one with --judge.")
        judge = next(iter(groups))
    if judge not in groups:
        raise UnknownNameError("judge", judge, groups)
    _check_runs(groups[judge])
    return judge, groups[judge]


def _check_runs(rows: Sequence[VerdictRow]) -> None:
    """Refuse a case of two runs: it would count twice, and its repetitions could not be told apart."""
    runs: dict[str, str] = {}
    for row in rows:
        if runs.setdefault(row.case_id, row.run) != row.run:
            names = {row.run for row in rows}
            raise UsageError(
                f"the log holds {len(names)} runs of the same cases ({_names(names)}): choose one with --run."
            )


def _names(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names))


def chosen_criteria(rows: Sequence[VerdictRow], criteria: Sequence[str] | None) -> dict[str, list[VerdictRow]]:
    """Return criterion -> rows, in the order they were asked for, else by name.

    Raises:
        UnknownNameError: there is no criterion of that name.

    """
    if criteria is None:
        return dict(sorted(by_criterion(rows).items()))
    known = {row.criterion for row in rows} - {EVERY_CRITERION}
    for name in criteria:
        if known and name not in known:
            raise UnknownNameError("criterion", name, known)
    groups = by_criterion(rows, criteria)
    return {name: groups[name] for name in criteria}


_FEW: Final = "significant, but in too few cases to speak of others: the interval of the effect holds 0"


def settled(findings: Sequence[Finding], *, alpha: float, foresee: bool = True) -> tuple[PropertyCheck, ...]:
    """Return every property with its status.

    What is proven to be within the tolerance passes, be it as significant as it may; what is not fails where its
    p-value, adjusted over all properties with one, is at most `alpha`, and the interval of its effect does not hold 0;
    the rest is inconclusive. The exact tests hold these cases fixed, so that three with many samples each can be
    enough; the intervals ask what other cases would do. To ask for both makes false alarms rarer, never more frequent.
    """
    tested = [place for place, one in enumerate(findings) if one.check.p_value is not None]
    adjusted = dict(zip(tested, holm([findings[place].check.p_value or 0.0 for place in tested]), strict=True))
    level = alpha / max(1, len(tested))
    findings = findings if foresee else [replace(one, smallest=None, settle=None) for one in findings]
    return tuple(_status(one, adjusted.get(place), alpha, level) for place, one in enumerate(findings))


def _status(found: Finding, adjusted: float | None, alpha: float, level: float) -> PropertyCheck:
    check = found.check
    if check.status != "inconclusive" or check.tolerance is None:
        return check
    smallest = None if found.smallest is None or adjusted is None else found.smallest(level)
    check = replace(check, adjusted_p=adjusted, smallest_effect=smallest)
    significant = "" if adjusted is None or adjusted > alpha else f"p {p_text(adjusted)}"
    if found.proven:
        beside = f"; there is an effect all the same ({significant})" if significant else ""
        return replace(check, status="pass", reason=check.reason + beside)
    if not significant or found.harmless:
        return _open(found, check, level)
    if holds_zero(check.effect_interval):
        return _open(replace(found, advice=f"{_FEW} ({significant})"), check, level, more=_beyond_zero(check))
    return replace(check, status="fail", reason=f"{check.reason}: {found.fault} ({significant})")


def _beyond_zero(check: PropertyCheck) -> int:
    """Return how many more cases move the interval of the effect off 0: its width falls with the root of the cases."""
    effect, (low, high) = check.effect or 0.0, check.effect_interval or (0.0, 0.0)
    near = effect - low if effect > 0 else high - effect
    return max(1, math.ceil(check.cases * ((near / effect) ** 2 - 1))) if effect else 1


def _open(found: Finding, check: PropertyCheck, level: float, *, more: int | None = None) -> PropertyCheck:
    """Return an inconclusive property with what would settle it: so many `more` cases, where that is known."""
    cases = None if found.settle is None else more or found.settle(level)
    calls = None if cases is None else math.ceil(cases * found.calls) + found.repeat
    return replace(check, reason=f"{check.reason}: {found.advice}", more_cases=cases, more_calls=calls)


_SEVERAL: Final = 5  # cases: fewer may well be equally good
_OF_PAIRS: Final = frozenset({"position", "slot_names", "sentinel.copy"})


def check_rows(
    rows: Iterable[VerdictRow],
    *,
    judge: str | None = None,
    tolerance: float = 0.1,
    alpha: float = 0.05,
    score_tolerance: float | None = None,
    score_tolerances: Mapping[str, float] | None = None,
    lowest_scores: Mapping[str, float] | None = None,
    criteria: Sequence[str] | None = None,
    probe_expectations: Mapping[str, Expected] | None = None,
    temperature: float | None = None,
    longer: Mapping[str, str | None] | None = None,
    foresee: bool = True,
) -> CheckReport:
    """Return the conformance report of a judge whose answers are in a log.

    Args:
        rows: verdict rows of one run; of several if no case is in two of them.
        judge: whose rows; None where there is only one judge.
        tolerance: largest effect that passes, a share of cases.
        alpha: chance of at most one false `fail` in the whole report.
        score_tolerance: how far two scores may lie apart and still be the same verdict; None takes, of each criterion,
            a ninth of the range of its scores in the log: 1 on a scale from 1 to 10 of which both ends were used.
        score_tolerances: the same per criterion, where it is known, as a ninth of a declared scale is.
        lowest_scores: criterion -> the lowest score of its scale, where one is declared: below it nothing can fall.
        criteria: which of them; None: all.
        probe_expectations: probe or family -> what an honest judge does, for probes that are not the product's.
        temperature: the judge's, where it is known: at 0 repetitions measure nothing.
        longer: case -> the longer of its two answers, A or B, for a control; by columns of the log without.
        foresee: whether to compute what could have been found and how many more calls would settle what is
            inconclusive, which takes most of the time.

    Raises:
        UsageError: the rows are of several judges or runs, a number is out of range, or labels and scores are mixed.
        UnknownNameError: there is no such judge or criterion.

    """
    _check_range(tolerance, alpha)
    scales = score_tolerances or {}
    _check_scores({**({} if score_tolerance is None else {"score_tolerance": score_tolerance}), **scales})
    expectations = checked_expectations(probe_expectations or {})
    name, mine = chosen_judge(rows, judge)
    groups = chosen_criteria(mine, criteria)
    found = [
        samples_of(one, group, tolerance=scales.get(one, score_tolerance), lowest=(lowest_scores or {}).get(one))
        for one, group in groups.items()
    ]
    findings = [one for samples in found for one in _findings(samples, tolerance, expectations, temperature)]
    facts = [facts_of(samples, longer=longer) for samples in found]
    return CheckReport(
        judge=name,
        properties=settled(findings, alpha=alpha, foresee=foresee),
        alpha=alpha,
        tolerance=tolerance,
        cases=len({row.case_id for row in mine}),
        calls=len({_call(row) for row in mine}),
        outcomes=dict(sorted(Counter(row.outcome for row in mine).items())),
        judge_model=_model(mine),
        facts=tuple(facts),
        notes=tuple(_notes(mine, found, facts)),
    )


def _check_range(tolerance: float, alpha: float) -> None:
    for name, value in (("tolerance", tolerance), ("alpha", alpha)):
        if not 0 < value < 1:
            raise UsageError(f"{name} must lie between 0 and 1, not at {value!r}.")


def _check_scores(tolerances: Mapping[str, float]) -> None:
    for name, value in tolerances.items():
        if not 0 <= value < math.inf:
            raise UsageError(f"{name}: two scores may lie apart by a number of at least 0, not by {value!r}.")


def _findings(
    samples: Samples, tolerance: float, expectations: Mapping[str, Expected], temperature: float | None
) -> Iterator[Finding]:
    """Yield every property that applies to a criterion, in the order of reports."""
    if _applies(samples, "position", "position_swap" in samples.asked):
        yield position(samples, tolerance=tolerance)
    asked = {name for name in map(property_of, samples.asked) if name is not None}
    for name in [*PERTURBED, *sorted(asked - {*PERTURBED})]:
        if _applies(samples, name, name in asked):
            yield perturbed(samples, name, tolerance=tolerance)
    yield repetition(samples, tolerance=tolerance)
    yield collapse(samples, temperature=temperature)
    yield failing(samples, "parse_rate", "unparsed", told="could not be read", tolerance=tolerance)
    yield failing(samples, "refusals", "refused", told="were refused", tolerance=tolerance)
    attacks = {name for name in map(probe_property, samples.asked) if name is not None}
    for name in [*PROBE_PROPERTIES, *sorted(attacks - {*PROBE_PROPERTIES})]:
        if _applies(samples, name, name in attacks):
            yield probed(samples, name, tolerance=tolerance, expectations=expectations)


def _applies(samples: Samples, name: str, asked: bool) -> bool:  # noqa: FBT001 - a fact of the samples, no switch
    return asked or name not in _OF_PAIRS or samples.kind in {"pairwise", "unknown"}


def _call(row: VerdictRow) -> tuple[object, ...]:
    return ("call", row.call_id) if row.call_id is not None else row.key


def _model(rows: Sequence[VerdictRow]) -> str | None:
    """Return the model that answered, None where it is not known or there were several."""
    models = {row.model for row in rows} - {None}
    return models.pop() if len(models) == 1 else None


def _notes(rows: Sequence[VerdictRow], found: Sequence[Samples], facts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what a reader of this log has to know."""
    errors = sum(row.outcome == "error" for row in rows)
    if errors:
        yield f"{of_text(errors, len(rows), 'sample')} met an error of infrastructure and count in no property"
    models = sorted({row.model for row in rows if row.model is not None})
    if len(models) > 1:
        yield f"{len(models)} models answered ({', '.join(models)}): what is said here is said of their mix"
    copies = sum(samples.copies for samples in found)
    if copies:
        yield f"{copies} answers are proven copies of another one and count as no repetition"
    yield from (warning for warning in map(_flat, found) if warning is not None)
    yield from (warning for warning in map(consistent_but_wrong, facts) if warning is not None)
    yield from (warning for warning in map(not_better_than_a_control, facts) if warning is not None)


def _flat(samples: Samples) -> str | None:
    """Return that a judge gives every case the same score, which looks steady and says nothing."""
    cases = {case for case, _ in samples.unchanged}
    scores = {row.verdict for rows in samples.unchanged.values() for row in rows}
    if samples.kind != "scores" or len(scores) > 1 or len(cases) < _SEVERAL:
        return None
    (score,) = scores
    return f"{samples.criterion}: all {len(cases)} cases get the score {score:g}: it tells none from another"
