"""Labelled decisions -> a certificate: the thresholds tested, or why it is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.cases import (
    CaseDecision,
    case_decisions,
    scores_of,
)
from judgeharness_integrations.analysis.aggregation.clusters import CLUSTER, Clusters, without_copies
from judgeharness_integrations.analysis.aggregation.deciding import samples_planned
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion, is_numeric
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.analysis.calibration.controls import longer_of
from judgeharness_integrations.analysis.calibration.facts import facts_of_decisions, unlike_labelled
from judgeharness_integrations.analysis.calibration.holdout import check_candidates
from judgeharness_integrations.analysis.calibration.items import Judged, LabelledItem, check_labels, read_labels
from judgeharness_integrations.analysis.calibration.measure import measure_calibration
from judgeharness_integrations.analysis.calibration.population import column_text, population_of
from judgeharness_integrations.analysis.calibration.selection import selection_by_sureness, selection_of_items
from judgeharness_integrations.analysis.certifying.certificate import Certificate, Refusal, Selection, Step
from judgeharness_integrations.analysis.certifying.sequence import (
    Curve,
    agreed_votes,
    certified_steps,
    fewest_accepted,
    labels_needed,
    p_values,
    threshold_grid,
    votes_needed,
)
from judgeharness_integrations.analysis.certifying.sureness import (
    check_numbers,
    check_score,
    counted_samples,
    sureness,
)
from judgeharness_integrations.analysis.design import design_of_rows
from judgeharness_integrations.verdictlog.encoding import check_columns
from judgeharness_integrations.verdictlog.row import LARGEST_SCORE, Verdict, VerdictRow, is_number

__all__ = [
    "Labels",
    "Wanted",
    "certify",
    "shortfall",
    "step_tests",
]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be certified.

    Args:
        agreement: how often certified decisions have to agree with the labels.
        delta: 1 - confidence.
        score: how sure a decision is: `consistency`, `margin` or `column:NAME`.
        tolerance: how far decided scores may lie from the label, and samples from the decision.
        stratum: a column of strata, each of which has a threshold of its own; several, with commas between, divide
            together.
        cluster: a column whose equal values belong together; `cluster` when None.
        candidates: how many judges, rules or scores were looked at with these labels, of which one is chosen: each is
            tested at delta / candidates (Bonferroni), so that the confidence is that of all of them together.

    Raises:
        UsageError: a number is out of range.

    """

    agreement: float = 0.9
    delta: float = 0.1
    score: str = "consistency"
    tolerance: float = 1.0
    stratum: str | None = None
    cluster: str | None = None
    candidates: int = 1

    def __post_init__(self) -> None:
        """Check the numbers."""
        fewest_accepted(agreement=self.agreement, delta=self.delta)
        check_candidates(self.candidates)
        if not 0 <= self.tolerance <= LARGEST_SCORE:
            raise UsageError(f"tolerance must be a number of at least 0, not {self.tolerance:g}.")

    @property
    def level(self) -> float:
        """The level at which this candidate is tested: that of all its criteria and strata together."""
        return self.delta / self.candidates


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Where the labels in rows come from; see `calibration.CalibrationSet`."""

    name: str
    source: str = "human"
    consensus: str = "majority"
    ties: int = 0


class _Item(NamedTuple):
    """A case: its score where it is decided, and whether its decision disagrees with its label where it has one.

    `thin`: it has fewer graded samples than most, and no score.
    """

    score: float | None
    thin: bool
    wrong: bool | None
    cluster: Hashable
    stratum: str | None
    case: CaseDecision


class _Place(NamedTuple):
    """The cases of one criterion, or of one stratum of it, about which something is certified or refused."""

    criterion: str
    stratum: str | None
    items: Sequence[_Item]
    samples: int


def certify(
    rows: Sequence[VerdictRow],
    rule: Rule,
    wanted: Wanted,
    labels: Labels,
    *,
    measured_at: str,
    parts: Mapping[str, Any] | None = None,
    min_valid: int | None = None,
) -> Certificate:
    """Certify the decisions of a rule about the rows of one judge, by the gold labels some of them carry.

    Criteria and strata with enough labels for a test share delta equally (Bonferroni), so that all of them that are
    certified keep the promise at once, with confidence 1 - delta.

    The labelled cases have to be a random sample of those the certificate is to hold for: nothing is certified where
    they were labelled by what was decided about them (`calibration.selection`).

    Of cases that ask the same, one counts (`grouping.without_copies`).

    Args:
        rows: of one judge.
        rule: what decides.
        wanted: what is to be certified.
        labels: where the gold labels come from.
        measured_at: now, as an ISO 8601 time with offset.
        parts: the fingerprint of judge and design; None where that is not known.
        min_valid: the quorum; see `replay`.

    Raises:
        UsageError: the rows hold no labels, or full samples beside ones that were stopped early or more of them, or no
            such column of numbers.
        CaseError: labels cannot be compared with decisions.

    """
    rows, _ = without_copies(rows, wanted.cluster or CLUSTER)
    groups = by_criterion(rows).items()
    places = [place for name, group in groups for place in _places(name, group, rule, wanted, min_valid)]
    if not places:
        raise UsageError("no row carries a gold label: a certificate needs labels.")
    tests = max(1, sum(_testable(place, wanted) for place in places))
    return Certificate(
        name=labels.name,
        judge=rows[0].judge,
        source=labels.source,
        consensus=labels.consensus,
        excluded_ties=labels.ties,
        measured_at=measured_at,
        parts=parts,
        design=design_of_rows(rows, rule.name),
        agreement=wanted.agreement,
        delta=wanted.delta,
        score=wanted.score,
        tolerance=wanted.tolerance,
        stratum=wanted.stratum,
        curtailed=any(item.case.curtailed for place in places for item in place.items),
        candidates=wanted.candidates,
        tests=tests,
        selections=tuple(_selected(place, wanted, wanted.level / tests) for place in places),
    )


def _places(
    criterion: str, rows: Sequence[VerdictRow], rule: Rule, wanted: Wanted, min_valid: int | None
) -> Iterator[_Place]:
    """Yield the strata of a criterion that hold labels; without strata there is one. None where nothing is labelled."""
    numeric = bool(is_numeric(rows))
    cases = list(case_decisions(rows, rule, min_valid=min_valid))
    if all(case.gold is None for case in cases):
        return
    check_score(wanted.score, rows, numeric=numeric)
    check_numbers(wanted.score, cases)
    _check_whole(cases)
    samples = _samples(cases, wanted.score)
    items = _items(cases, criterion, wanted, samples=samples, numeric=numeric)
    for stratum, mine in _strata(items, wanted.stratum):
        yield _Place(criterion=criterion, stratum=stratum, items=mine, samples=samples)


def _testable(place: _Place, wanted: Wanted) -> bool:
    """Whether enough decisions have a label for a test that could pass: what labels say does not come into it."""
    labelled = {item.cluster for item in place.items if item.score is not None and item.wrong is not None}
    return len(labelled) >= fewest_accepted(agreement=wanted.agreement, delta=wanted.level)


def _check_whole(cases: Sequence[CaseDecision]) -> None:
    """Refuse full samples beside ones that were stopped early: the same consistency says another thing of each."""
    early = sum(case.curtailed for case in cases)
    if 0 < early < len(cases):
        raise UsageError(
            f"{early} of {len(cases)} cases were asked with early stopping, the others in full: how sure their "
            "decisions are cannot be compared; choose one run with --run."
        )


def _samples(cases: Sequence[CaseDecision], score: str) -> int:
    """Return how many graded samples most cases have, of equals the most; those with fewer are not certified.

    Raises:
        UsageError: some were asked more often than most: two designs, of which each needs a certificate of its own.

    """
    asked = Counter(samples_planned(case.rows) or len(case.rows) for case in cases)
    usual = max(asked, key=lambda count: (asked[count], count))
    if more := sum(many for count, many in asked.items() if count > usual):
        raise UsageError(
            f"{more} of {len(cases)} cases hold more samples than the commonest number, {usual}: how sure decisions on "
            "different numbers of samples are cannot be compared; certify a log of one design, or one run with --run."
        )
    graded = Counter(counted_samples(case, score) for case in cases)
    return max(graded, key=lambda count: (graded[count], count))


def _items(
    cases: Sequence[CaseDecision], criterion: str, wanted: Wanted, *, samples: int, numeric: bool
) -> list[_Item]:
    wrong = _wrong(cases, criterion, wanted.tolerance)
    known = {name for case in cases for row in case.rows for name in row.attributes}
    check_columns(wanted.cluster, known)
    check_columns(wanted.stratum, known)
    clusters = Clusters.of_cases(cases, wanted.cluster or CLUSTER)
    return [
        _Item(
            score=sureness(case, wanted.score, numeric=numeric, tolerance=wanted.tolerance)
            if case.decision.status == "decided" and counted_samples(case, wanted.score) >= samples
            else None,
            thin=counted_samples(case, wanted.score) < samples,
            wrong=wrong.get(place),
            cluster=clusters.of(case.case_id),
            stratum=None if wanted.stratum is None else column_text(case.rows, wanted.stratum),
            case=case,
        )
        for place, case in enumerate(cases)
    ]


def _wrong(cases: Sequence[CaseDecision], criterion: str, tolerance: float) -> dict[int, bool]:
    """Return place of a labelled case -> whether it is decided and its decision does not agree with the label."""
    labelled = {place: _judged(case, case.gold) for place, case in enumerate(cases) if case.gold is not None}
    items = read_labels(list(labelled.values()))
    check_labels(items, [item for item in items if item.status == "decided"], criterion)
    return {
        place: item.status == "decided" and not _agrees(item, tolerance)
        for place, item in zip(labelled, items, strict=True)
    }


def _agrees(item: Judged, tolerance: float) -> bool:
    if is_number(item.gold):
        return abs(float(item.gold) - float(item.verdict)) <= tolerance + 1e-9  # type: ignore[arg-type]
    return item.verdict == item.gold


def _strata(items: Sequence[_Item], column: str | None) -> Iterator[tuple[str | None, list[_Item]]]:
    """Yield the strata that hold labels; a case without a value is in none."""
    if column is None:
        yield None, list(items)
        return
    for name in dict.fromkeys(item.stratum for item in items if item.stratum is not None and item.wrong is not None):
        yield name, [item for item in items if item.stratum == name]


def _selected(place: _Place, wanted: Wanted, level: float) -> Selection:
    criterion, name, items, samples = place
    scores = [item.score for item in items if item.score is not None]
    labelled = [
        (item.score, item.wrong, item.cluster) for item in items if item.score is not None and item.wrong is not None
    ]
    steps, last = step_tests(labelled, scores, agreement=wanted.agreement, delta=level)
    chosen = _chosen(items, criterion)
    if chosen is not None:
        steps, last = (), None
    return Selection(
        criterion=criterion,
        stratum=name,
        cases=len(items),
        labelled=sum(item.wrong is not None for item in items),
        clusters=len({item.cluster for item in items if item.wrong is not None}),
        samples=samples,
        thin=sum(item.thin for item in items),
        levels=len(set(scores)),
        of_scores=any(is_number(item.case.gold) for item in items),
        threshold=None if last is None else steps[last].threshold,
        covered=0 if last is None else steps[last].covered,
        steps=steps,
        refusal=chosen or (_refusal(items, steps, wanted, level) if last is None else None),
        untold="" if chosen is not None else _untold(items, criterion),
        population=population_of(
            facts_of_decisions({criterion: [item.case for item in items if item.wrong is not None]}, column=None)
        ),
    )


def _chosen(items: Sequence[_Item], criterion: str) -> Refusal | None:
    """Return the refusal where labels speak for no other cases: these are decided otherwise, or unlike the labelled."""
    cases = [
        LabelledItem(
            case_id=case.case_id,
            criterion=criterion,
            gold=case.gold,
            verdict=case.decision.verdict,
            status=case.decision.status,
        )
        for case in (item.case for item in items)
    ]
    what = "no certificate stands on them"
    by_verdict = selection_of_items(cases, criterion, {item.case.case_id: item.cluster for item in items})
    sure = [(item.score, item.case.gold is not None, item.cluster) for item in items if item.score is not None]
    by_score = selection_by_sureness(*zip(*sure, strict=True)) if sure else None
    found = next((one for one in (by_verdict, by_score) if one is not None and one.found), None)
    reason = unlike_labelled(criterion, [item.case for item in items], what) if found is None else found.told(what)
    return Refusal(reason=reason, labels=None, votes=None) if reason else None


def _untold(items: Sequence[_Item], criterion: str) -> str:
    """Return why the labels cannot tell the decisions from always the same one; empty where they can."""
    judged = [_judged(one.case, one.case.gold, one.cluster) for one in items if one.case.gold is not None]
    measured = measure_calibration(judged, criterion=criterion)
    if measured.controls is None or not measured.untold:
        return ""
    return (
        "the certificate says how often decisions agree with labels, not that the judge tells anything: decisions are "
        f"{measured.controls.sentence}; {measured.untold}"
    )


def _judged(case: CaseDecision, gold: Verdict, cluster: Hashable = None) -> Judged:
    return Judged(
        gold=gold,
        verdict=case.decision.verdict,
        status=case.decision.status,
        longer=longer_of({}, case.rows[0].attributes),
        cluster=cluster,
        scored=bool(scores_of(case)),
    )


def step_tests(
    labelled: Sequence[tuple[float, bool, Hashable]], scores: Sequence[float], *, agreement: float, delta: float
) -> tuple[tuple[Step, ...], int | None]:
    """Test the thresholds of the grid of `scores`, and return them with the place of the last one certified.

    Args:
        labelled: (score, whether it is wrong, cluster) of each decision with a label.
        scores: those of all decisions, labelled or not: what the grid is made of.
        agreement: how often accepted decisions have to agree with the labels.
        delta: how often a threshold may be certified that does not keep that.

    """
    fewest = fewest_accepted(agreement=agreement, delta=delta)
    steps: list[Step] = []
    largest: list[int] = []
    for threshold in threshold_grid(scores):
        accepted = [(wrong, cluster) for score, wrong, cluster in labelled if score >= threshold]
        sizes = Counter(cluster for _, cluster in accepted)
        largest.append(max(sizes.values(), default=0))
        steps.append(
            Step(
                threshold=threshold,
                labelled=len(accepted),
                clusters=len(sizes),
                wrong=sum(wrong for wrong, _ in accepted),
                covered=sum(score >= threshold for score in scores),
                p=None,
            )
        )
    clusters = [step.clusters for step in steps]
    counts = ([step.wrong for step in steps], [step.labelled for step in steps], clusters, largest)
    p = p_values(*counts, risk=1 - agreement)
    passed, tested = certified_steps(p, clusters, delta=delta, fewest=fewest)
    told = (replace(step, p=float(one) if seen else None) for step, one, seen in zip(steps, p, tested, strict=True))
    return tuple(told), int(np.flatnonzero(passed)[-1]) if passed.any() else None


def _refusal(items: Sequence[_Item], steps: Sequence[Step], wanted: Wanted, level: float) -> Refusal:
    labelled = [item for item in items if item.wrong is not None]
    if len({item.cluster for item in labelled}) < len(labelled):  # prices are of labels that are independent
        return Refusal(reason=shortfall(steps, agreement=wanted.agreement, level=level), labels=None, votes=None)
    limits = {"agreement": wanted.agreement, "delta": level}
    hoped = (1 - wanted.agreement) / 2  # where no decision was wrong; half an error may be too much already
    curve: Curve = [
        (step.labelled / len(labelled), (step.wrong or min(0.5, hoped * step.labelled)) / step.labelled)
        for step in steps
        if step.labelled
    ]
    by_votes = wanted.score in {"consistency", "margin"} and not any(item.case.curtailed for item in items)
    votes = votes_needed(agreed_votes(item.case.rows for item in labelled), labels=len(labelled), **limits)
    asked = max(len(item.case.rows) for item in items)
    return Refusal(
        reason=shortfall(steps, agreement=wanted.agreement, level=level),
        labels=labels_needed(curve, **limits),
        votes=votes if by_votes and votes is not None and votes > asked else None,
    )


def shortfall(steps: Sequence[Step], *, agreement: float, level: float) -> str:
    """Return why none of the thresholds tested is certified at a level."""
    tested = next((step for step in steps if step.p is not None), None)
    if tested is None:
        fewest = fewest_accepted(agreement=agreement, delta=level)
        most = max((step.clusters for step in steps), default=0)
        shared = any(step.clusters < step.labelled for step in steps)
        ending = "" if most == 1 else "s"
        what = f"cluster{ending} of labelled decisions" if shared else f"labelled decision{ending}"
        return f"{most} {what}, at least {fewest} are needed to certify {agreement:g} at all"
    return (
        f"of the {tested.labelled} surest labelled decisions that were tested first {tested.wrong} disagree: that they "
        f"agree {agreement:g} of the time is not shown (p {tested.p:.2g}, needed {level:.3g})"
    )
