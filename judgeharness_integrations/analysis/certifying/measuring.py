"""Labelled decisions -> a certificate: the thresholds tested, or why it is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import check_columns
from judgeharness_integrations.verdictlog.row import LARGEST_SCORE, Verdict, VerdictRow, is_number, verdict_text

from ..aggregation.cases import CaseDecision, case_decisions, scores_of
from ..aggregation.grouping import CLUSTER, Clusters, by_criterion, is_numeric, without_copies
from ..aggregation.rules import Rule, samples_planned
from ..calibration.controls import longer_of
from ..calibration.items import Judged, check_candidates, check_labels, read_labels, simultaneous_level
from ..calibration.measure import measure_calibration
from ..calibration.population import column_text, population_of
from ..calibration.strata import selection_by_sureness, selection_of_items
from ..calibration.transport import facts_of_decisions, items_of_decisions, labelled_alone, unlike_labelled
from ..fingerprint import design_of_rows
from .applying import PROBABILITY, VOTES, check_numbers, check_score, counted_samples, sureness
from .certificate import Certificate, Refusal, Selection, Step
from .sequence import (
    Curve,
    agreed_votes,
    certified_steps,
    fewest_accepted,
    labels_needed,
    p_values,
    threshold_grid,
    votes_needed,
)

if TYPE_CHECKING:
    from ..probability.forecasts import AnnotatorShares, Forecasts, LabelledRows
    from ..probability.maps import ProbabilityMap

__all__ = [
    "HALVES",
    "Labels",
    "Wanted",
    "certify",
    "shortfall",
    "step_tests",
]

_TWO: Final = 2  # options, of which one can be told from the other
HALVES: Final = 2  # of the labels: one fits the map of probabilities, the other sets the threshold


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be certified.

    Args:
        agreement: how often certified decisions have to agree with the labels.
        delta: 1 - confidence.
        score: how sure a decision is: `consistency`, `margin`, `probability` (calibrated on one half of the labels; the
            threshold is set on the other) or `column:NAME`.
        tolerance: how far decided scores may lie from the label, and samples from the decision.
        stratum: a column of strata, each of which has a threshold of its own; several, with commas between, divide
            together.
        cluster: a column whose equal values belong together; `cluster` when None.
        candidates: how many judges, rules or scores were looked at with these labels, of which one is chosen: each is
            tested at delta / candidates (Bonferroni), so that the confidence is that of all of them together.
        skill: whether votes, too, have to tell more than the base rate does, as probabilities have to: of a step of a
            cascade, which keeps cases from better judges.

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
    skill: bool = False

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

    `thin`: it has fewer graded samples than most, and no score. `fitted`: its label made the map of the scores, and
    tests no threshold.
    """

    score: float | None
    thin: bool
    wrong: bool | None
    cluster: Hashable
    stratum: str | None
    case: CaseDecision
    fitted: bool = False

    @property
    def tested(self) -> bool:
        """Whether its label may test a threshold."""
        return self.wrong is not None and not self.fitted


class _Place(NamedTuple):
    """The cases of one criterion, or of one stratum of it, about which something is certified or refused.

    `alone`: a column tells those with a label from all others of the criterion, so that nothing is certified of these.
    """

    criterion: str
    stratum: str | None
    items: Sequence[_Item]
    samples: int
    map: ProbabilityMap | None
    forecasts: Forecasts | None  # the labelled cases, where probabilities or votes have to show skill
    alone: bool


def certify(
    rows: Sequence[VerdictRow],
    rule: Rule,
    wanted: Wanted,
    labels: Labels,
    *,
    measured_at: str,
    parts: Mapping[str, Any] | None = None,
    min_valid: int | None = None,
    among: Sequence[VerdictRow] | None = None,
    shares: AnnotatorShares = MappingProxyType({}),
) -> Certificate:
    """Certify the decisions of a rule about the rows of one judge, by the gold labels some of them carry.

    Criteria and strata with enough labels for a test share delta equally (Bonferroni), so that all of them that are
    certified keep the promise at once, with confidence 1 - delta.

    The labelled cases have to be a random sample of those the certificate is to hold for: nothing is certified where
    they were labelled by what was decided about them (`calibration.selection`).

    Where a column has one value in all of them and another in all other cases (`calibration.transport.told_apart_by`)
    it is for the labelled kind alone: the others are not counted as cases, nor as covered.

    Of cases that ask the same, one counts (`grouping.without_copies`).

    Where several annotators labelled a case, agreement is with one of them drawn at random: a case that 45 % of them
    pass agrees with PASS at .45. Rows hold the label of one that was drawn (`CalibrationSet.drawn`), so that tests stay
    exact: a sum of shares is not binomial, and the bound for it (`sequence.p_values`, of clusters) costs a factor e. A
    majority is another promise at 3 annotators than at 24, and says nothing of an even split; who wants its certificate
    gives its labels. A map of probabilities is fitted on the shares.

    Args:
        rows: of one judge.
        rule: what decides.
        wanted: what is to be certified.
        labels: where the gold labels come from.
        measured_at: now, as an ISO 8601 time with offset.
        parts: the fingerprint of judge and design; None where that is not known.
        min_valid: the quorum; see `replay`.
        among: all rows of the judge, where `rows` are those of a part of the labels: how cases came to have one is
            tested on all of them.
        shares: case -> criterion -> label -> share of its annotators, where rows hold labels drawn from several.

    Raises:
        UsageError: the rows hold no labels, or full samples beside ones that were stopped early or more of them, or no
            such column of numbers.
        CaseError: labels cannot be compared with decisions.

    """
    rows, _ = without_copies(rows, wanted.cluster or CLUSTER)
    places = _every_place(rows, rule, wanted, min_valid, shares)
    if not places:
        raise UsageError("no row carries a gold label: a certificate needs labels.")
    apart = {} if among is None else _apart(among, rule, wanted, min_valid, shares)
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
        selections=tuple(
            _selected(place, wanted, wanted.level / tests, apart.get((place.criterion, place.stratum)))
            for place in places
        ),
    )


def _apart(
    rows: Sequence[VerdictRow], rule: Rule, wanted: Wanted, min_valid: int | None, shares: AnnotatorShares
) -> dict[tuple[str, str | None], Refusal | None]:
    """Return criterion and stratum -> the refusal where their labels speak for no other cases."""
    rows, _ = without_copies(rows, wanted.cluster or CLUSTER)
    places = _every_place(rows, rule, wanted, min_valid, shares)
    return {(place.criterion, place.stratum): _chosen(place.items, place.criterion) for place in places}


def _every_place(
    rows: Sequence[VerdictRow], rule: Rule, wanted: Wanted, min_valid: int | None, shares: AnnotatorShares
) -> list[_Place]:
    return [
        place
        for name, group in by_criterion(rows).items()
        for place in _places(name, group, rule, wanted, min_valid=min_valid, shares=shares)
    ]


def _places(
    criterion: str,
    rows: Sequence[VerdictRow],
    rule: Rule,
    wanted: Wanted,
    *,
    min_valid: int | None,
    shares: AnnotatorShares,
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
    labelled = _labelled(rows, wanted, shares)
    by, fitted = (None, frozenset[str]()) if labelled is None else _map(labelled)
    items = _items(cases, criterion, wanted, samples=samples, numeric=numeric, by=by)
    items = [item._replace(fitted=item.case.case_id in fitted) for item in items]
    alone = bool(labelled_alone(criterion, cases))
    for stratum, mine in _strata(items, wanted.stratum):
        here = {item.case.case_id for item in mine}
        found = _vote_shares(mine) if labelled is None and wanted.skill else None
        found = found if labelled is None else labelled.of(here)
        yield _Place(
            criterion=criterion, stratum=stratum, items=mine, samples=samples, map=by, forecasts=found, alone=alone
        )


def _labelled(rows: Sequence[VerdictRow], wanted: Wanted, shares: AnnotatorShares) -> LabelledRows | None:
    """Return the labelled answers of a criterion, where probabilities are the score and these cases hold some."""
    if wanted.score != PROBABILITY:
        return None
    from ..probability.forecasts import labelled_rows, shares_about  # noqa: PLC0415 - for few

    labels = shares_about(rows[0].criterion, shares)
    return labelled_rows(rows, labels=labels, clusters=wanted.cluster or CLUSTER)


def _map(labelled: LabelledRows) -> tuple[ProbabilityMap, frozenset[str]]:
    """Return the map of one half of the labels of a criterion, in whole clusters, and the cases these are of."""
    from ..probability.report import half_fitted  # noqa: PLC0415 - for few

    by, first = half_fitted(labelled.forecasts)
    return by, frozenset(case for (_, case), fitted in zip(labelled.places, first, strict=True) if fitted)


def _testable(place: _Place, wanted: Wanted) -> bool:
    """Whether enough decisions have a label for a test that could pass: what labels say does not come into it."""
    labelled = {item.cluster for item in place.items if item.score is not None and item.tested}
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
    cases: Sequence[CaseDecision],
    criterion: str,
    wanted: Wanted,
    *,
    samples: int,
    numeric: bool,
    by: ProbabilityMap | None,
) -> list[_Item]:
    wrong = _wrong(cases, criterion, wanted.tolerance)
    known = {name for case in cases for row in case.rows for name in row.attributes}
    check_columns(wanted.cluster, known)
    check_columns(wanted.stratum, known)
    clusters = Clusters.of_cases(cases, wanted.cluster or CLUSTER)
    return [
        _Item(
            score=sureness(case, wanted.score, numeric=numeric, tolerance=wanted.tolerance, by=by)
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


def _selected(place: _Place, wanted: Wanted, level: float, apart: Refusal | None) -> Selection:
    criterion, name, items, samples, by, forecasts, alone = place
    apart = apart or _chosen(items, criterion)  # by all of them, whatever is certified of some
    if alone:
        items = [item for item in items if item.wrong is not None]
    scores = [item.score for item in items if item.score is not None]
    labelled = [
        (item.score, bool(item.wrong), item.cluster) for item in items if item.score is not None and item.tested
    ]
    steps, last = step_tests(labelled, scores, agreement=wanted.agreement, delta=level)
    chosen = apart or (None if last is None else _without_skill(items, criterion, forecasts, wanted))
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
        map=by,
    )


def _chosen(items: Sequence[_Item], criterion: str) -> Refusal | None:
    """Return the refusal where labels speak for no other cases: these are decided otherwise, or unlike the labelled."""
    what = "no certificate stands on them"
    cases = [item.case for item in items]
    labelled = items_of_decisions(criterion, cases)
    by_verdict = selection_of_items(labelled, criterion, {item.case.case_id: item.cluster for item in items})
    sure = [(item.score, item.case.gold is not None, item.cluster) for item in items if item.score is not None]
    by_score = selection_by_sureness(*zip(*sure, strict=True)) if sure else None
    found = next((one for one in (by_verdict, by_score) if one is not None and one.found), None)
    reason = unlike_labelled(criterion, cases, what) if found is None else found.told(what)
    return Refusal(reason=reason, labels=None, votes=None) if reason else None


def _without_skill(items: Sequence[_Item], criterion: str, found: Forecasts | None, wanted: Wanted) -> Refusal | None:
    """Return the refusal where skill is asked for and labels do not show it; of scores, where they never tell."""
    if found is not None:
        return _unskilled(found, wanted)
    reason = _untold(items, criterion) if wanted.skill else ""
    return Refusal(reason=reason, labels=None, votes=None) if reason else None


def _vote_shares(items: Sequence[_Item]) -> Forecasts | None:
    """Return the shares of votes about labelled cases as probabilities of their labels; None of scores, and of none."""
    from ..probability.forecasts import labelled_answers  # noqa: PLC0415 - for few

    voted = [(item, Counter(verdict_text(row.verdict) for row in item.case.rows if row.ok)) for item in items]
    voted = [(item, votes) for item, votes in voted if item.wrong is not None and votes]
    read = read_labels([_judged(item.case, item.case.gold) for item, _ in voted if item.case.gold is not None])
    golds = [verdict_text(one.gold) for one in read]
    options = tuple(dict.fromkeys([*(name for _, votes in voted for name in votes), *golds]))
    if len(options) < _TWO or any(is_number(one.gold) for one in read):
        return None
    return labelled_answers(
        [{name: votes[name] / votes.total() for name in options} for _, votes in voted],
        golds,
        options=options,
        clusters=[item.cluster for item, _ in voted],
    )


def _unskilled(found: Forecasts, wanted: Wanted) -> Refusal | None:
    """Return the refusal where probabilities tell no more than the base rate, however often the commonest label is."""
    from ..probability.report import unskilled  # noqa: PLC0415 - for few

    reason, needed = unskilled(found, confidence=simultaneous_level(wanted.candidates))
    return Refusal(reason=reason, labels=needed, votes=None) if reason else None


def _untold(items: Sequence[_Item], criterion: str) -> str:
    """Return why the labels cannot tell the decisions from always the same one; empty where they can."""
    judged = [_judged(one.case, one.case.gold, one.cluster) for one in items if one.case.gold is not None]
    measured = measure_calibration(judged, criterion=criterion)
    if measured.controls is None or not measured.untold:
        return ""
    return (
        "the certificate says how often decisions agree with labels, not that the judge tells good from bad: decisions "
        f"are {measured.controls.sentence}; {measured.untold}"
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
    labelled = [item for item in items if item.tested]
    if len({item.cluster for item in labelled}) < len(labelled):  # prices are of labels that are independent
        return Refusal(reason=shortfall(steps, agreement=wanted.agreement, level=level), labels=None, votes=None)
    limits = {"agreement": wanted.agreement, "delta": level}
    hoped = (1 - wanted.agreement) / 2  # where no decision was wrong; half an error may be too much already
    curve: Curve = [
        (step.labelled / len(labelled), (step.wrong or min(0.5, hoped * step.labelled)) / step.labelled)
        for step in steps
        if step.labelled
    ]
    by_votes = wanted.score in VOTES and not any(item.case.curtailed for item in items)
    votes = votes_needed(agreed_votes(item.case.rows for item in labelled), labels=len(labelled), **limits)
    asked = max(len(item.case.rows) for item in items)
    needed = labels_needed(curve, **limits)
    parts = HALVES if any(item.fitted for item in items) else 1
    return Refusal(
        reason=shortfall(steps, agreement=wanted.agreement, level=level),
        labels=None if needed is None else parts * needed,
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
