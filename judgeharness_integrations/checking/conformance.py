"""Rows of a judge -> its conformance report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.checking.choosing import chosen_criteria, chosen_judge
from judgeharness_integrations.checking.facts import consistent_but_wrong, facts_of
from judgeharness_integrations.checking.properties.collapsing import collapse
from judgeharness_integrations.checking.properties.finding import Finding
from judgeharness_integrations.checking.properties.perturbed import PERTURBED, perturbed, property_of
from judgeharness_integrations.checking.properties.position import position
from judgeharness_integrations.checking.properties.probed import Expected, checked_expectations, probe_property, probed
from judgeharness_integrations.checking.properties.repetition import failing, repetition
from judgeharness_integrations.checking.properties.samples import Samples, samples_of
from judgeharness_integrations.checking.properties.words import of_text
from judgeharness_integrations.checking.report import CheckReport
from judgeharness_integrations.checking.settling import settled
from judgeharness_integrations.verdictlog.probenames import PROBE_PROPERTIES
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["check_rows"]

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
    facts = [facts_of(samples) for samples in found]
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


def _flat(samples: Samples) -> str | None:
    """Return that a judge gives every case the same score, which looks steady and says nothing."""
    cases = {case for case, _ in samples.unchanged}
    scores = {row.verdict for rows in samples.unchanged.values() for row in rows}
    if samples.kind != "scores" or len(scores) > 1 or len(cases) < _SEVERAL:
        return None
    (score,) = scores
    return f"{samples.criterion}: all {len(cases)} cases get the score {score:g}: it tells none from another"
