"""The leaderboard of a study, what it rests on, and the same judges on pairs of another generator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import listed
from judgeharness_integrations.verdictlog.row import VerdictRow, finite_number, verdict_text

from ..aggregation.cases import case_decisions
from ..aggregation.grouping import by_criterion, by_judge
from ..aggregation.rules import rule as named_rule
from ..aggregation.rules import samples_planned
from ..calibration.transport import labels_apart
from ..statistics.means import normal_interval
from .comparing import Against, Fit, against, changes_of, own_sets
from .contrasts import ConditionalFit, Contrast, OrderEffect, contrasts_of, order_effect, rank_ranges
from .correctness import NOT_ASKED, Ints, by_better_first
from .judgetable import JudgeMeasures, judge_controls, judge_measures
from .panels import panels
from .rating import Diagnostics, JudgeRank, Method, RankReport, Rating, ranks_of
from .studying import RankRequest, RankStudy, clusters_of, study

if TYPE_CHECKING:
    from .jointfit import JointFit

_NO_SPREAD = 1e-6  # Elo


def diagnosed(found: RankStudy) -> Diagnostics:
    """Return what a study's ranking rests on."""
    rating = found.rating
    joint, conditional = rating.joint, rating.conditional
    judges = 0 if joint is None else len(joint.judges)
    clusters = clusters_of(rating.matrix, found.cluster)
    return Diagnostics(
        connections=rating.connections,
        cells=int(rating.matrix.seen.sum()),
        cells_total=rating.matrix.seen.size,
        clusters=_clusters(rating, clusters),
        cluster=found.cluster,
        inflation=_inflation(joint, conditional),
        inflation_expected=None if joint is None else judges / (judges - 1),
        order_effect=_order_effect(found),
        log_likelihood=None if joint is None else joint.log_likelihood,
        steps=None if joint is None else joint.steps,
        eip=asdict(found.request.eip),
        one_order=_one_order(found),
        same_number=_same_number(found),
        reasons=rating.reasons,
        unread=sum(found.decisions.criterion(name).unread for name in found.criteria),
    )


def _one_order(found: RankStudy) -> int:
    """Return how many cells of labelled pairs the rule leaves out, since they were asked about in one order alone."""
    decisions = found.decisions
    if not decisions.policy.both_orders:
        return 0
    known = set(found.matrix.pairs)
    labelled = np.array([pair in known for pair in decisions.pairs])
    asked = [decisions.criterion(name).orders != NOT_ASKED for name in found.criteria]
    alone = np.any([orders[0] != orders[1] for orders in asked], axis=0)
    return int((np.asarray(alone, np.bool_)[labelled] & ~found.matrix.seen).sum())


def _same_number(found: RankStudy) -> tuple[str, ...]:
    """Return labels of one criterion that write one number in several ways."""
    for name in found.criteria:
        written: dict[float, list[str]] = {}
        for label in found.decisions.criterion(name).labels:
            if (number := finite_number(label)) is not None:
                written.setdefault(number, []).append(label)
        several = next((labels for labels in written.values() if len(labels) > 1), None)
        if several:
            return tuple(several)
    return ()


def _inflation(joint: JointFit | None, conditional: ConditionalFit | None) -> float | None:
    """Return how many times as wide joint Elo is spread; None where judges are equal, which tells nothing."""
    if joint is None or conditional is None or np.std(conditional.elo) < _NO_SPREAD:
        return None
    return float(np.std(joint.elo) / np.std(conditional.elo))


def _clusters(rating: Rating, clusters: Ints | None) -> int:
    """Return how many clusters of pairs the errors rest on; pairs that tell rated judges nothing are in none."""
    told = rating.matrix.pairs if rating.joint is None else rating.joint.pairs
    if clusters is None:
        return len(told)
    place = {pair: place for place, pair in enumerate(rating.matrix.pairs)}
    return len({int(clusters[place[pair]]) for pair in told})


def _orders_alike(rows: Iterable[VerdictRow]) -> bool:
    """Whether each judge that saw a case in both orders saw it as often in one as in the other, by a fixed plan."""
    seen: dict[tuple[str, str, str, str], list[int]] = {}
    for row in rows:
        if samples_planned((row,)):
            return False
        counts = seen.setdefault((row.judge, row.run, row.case_id, row.criterion), [0, 0])
        counts[row.swapped] += 1
    return all(first == second for first, second in seen.values() if first and second)


def _order_effect(found: RankStudy) -> OrderEffect | None:
    """Return the effect for the only criterion that is a choice between A and B, on the pairs that are ranked.

    None where an order has more samples than the other, or sampling stopped early: how often a majority comes about
    then depends on the order, whatever the judges prefer.
    """
    if not _orders_alike(found.rows):
        return None
    sided = [both for both in (by_better_first(found.decisions, name) for name in found.criteria) if both is not None]
    if len(sided) != 1:
        return None
    first, second = sided[0]
    known = set(found.curation.kept.pairs)
    marks = np.array([pair in known for pair in first.pairs])
    return order_effect(first.of_pairs(marks), second.of_pairs(marks))


def rank(rows: Iterable[VerdictRow], request: RankRequest | None = None) -> RankReport:
    """Rank the judges of a log with gold labels. Nothing is asked.

    Args:
        rows: a verdict log.
        request: what to rank by; see `RankRequest` for the defaults.

    Raises:
        UnknownNameError: a judge, criterion, column or rule is not known; the nearest is offered.
        UsageError: nothing has a gold label, the rule does not fit, or the method cannot be used on these credits.

    """
    return leaderboard(study(rows, request or RankRequest()))


def leaderboard(found: RankStudy) -> RankReport:
    """Return the report of a study."""
    request, curation, policy = found.request, found.curation, found.decisions.policy
    contrasts = _contrasts(found.rating, request)
    measures = judge_measures(found.rows, found.decisions, found.matrix, facts=request.facts)
    clusters = clusters_of(found.matrix, found.cluster)
    controls = judge_controls(found.decisions, found.criteria, found.matrix, clusters=clusters)
    ranks = ranks_of(found.rating, request.method, found.matrix)
    entry = partial(_entry, found=found, measures=measures, ranks=ranks, contrasts=contrasts)
    judges = sorted(
        (replace(entry(judge), controls=controls[judge]) for judge in found.matrix.judges),
        key=lambda one: (one.rank is None, one.rank or 0, -(one.right_of_labelled or 0.0)),
    )
    return RankReport(
        method=request.method,
        rule=policy.rule,
        failures=policy.failures,
        ties=policy.ties,
        criteria=found.criteria,
        by=request.by,
        n_pairs_total=len(found.matrix.pairs),
        n_unlabelled=len(found.decisions.pairs) - len(found.matrix.pairs),
        n_flagged=int(curation.flagged.sum()),
        n_unanimous=int(curation.unanimous.sum()),
        n_unanswered=int(curation.unanswered.sum()),
        n_cut=int(curation.hardest.sum()),
        n_pairs=len(found.rating.matrix.pairs),
        cut=request.cut,
        cut_ties=request.cut_ties,
        judges=tuple(judges),
        contrasts=contrasts,
        diagnostics=diagnosed(found),
        panels=panels(found.matrix, clusters=clusters),
        apart=tuple(_apart(found)),
    )


def _apart(found: RankStudy) -> Iterator[str]:
    """Yield of which judges the labelled pairs are no sample of all they were asked about, and in what."""
    what = "what is right of them is not what is right of all pairs"
    judges: dict[str, list[str]] = {}
    for judge, rows in by_judge(row for row in found.rows if row.criterion in found.criteria).items():
        if len({row.gold is None for row in rows}) > 1:
            told = [replace(row, verdict=None if row.verdict is None else verdict_text(row.verdict)) for row in rows]
            for name, group in by_criterion(told).items():
                if sentence := labels_apart(name, list(case_decisions(group, named_rule("majority"))), what):
                    judges.setdefault(sentence, []).append(judge)
    yield from (f"{listed(names)}: {sentence}" for sentence, names in judges.items())


def _main_fit(rating: Rating, request: RankRequest) -> JointFit | ConditionalFit | None:
    """Return the fit that is printed: EIP has no errors, and Bradley-Terry stands beside it."""
    return rating.conditional if request.method == "conditional" else rating.joint


def _contrasts(rating: Rating, request: RankRequest) -> tuple[Contrast, ...]:
    fit = _main_fit(rating, request)
    return () if fit is None else contrasts_of(fit.judges, fit.elo, fit.covariance)


def _entry(
    judge: str,
    *,
    found: RankStudy,
    measures: Mapping[str, JudgeMeasures],
    ranks: Mapping[str, int],
    contrasts: tuple[Contrast, ...],
) -> JudgeRank:
    rating, request = found.rating, found.request
    main, joint, conditional = _main_fit(rating, request), rating.joint, rating.conditional
    elo, se = _of(main, judge)
    other, other_se = _of(conditional, judge)
    published = (
        {}
        if joint is None
        else dict(
            zip(joint.judges, zip(joint.elo_published.tolist(), joint.se_published.tolist(), strict=True), strict=True)
        )
    )
    above = len(rating.connections.judges("above"))
    ranges = {} if main is None else rank_ranges(main.judges, contrasts, above=above)
    mine = measures[judge]
    return JudgeRank(
        judge=judge,
        rank=ranks.get(judge),
        rank_range=ranges.get(judge),
        place=dict(rating.connections.places)[judge],
        elo=elo,
        se=se,
        ci95=_interval(elo, se),
        elo_published=published.get(judge, (None, None))[0],
        se_published=published.get(judge, (None, None))[1],
        elo_conditional=other,
        se_conditional=other_se,
        ci95_conditional=_interval(other, other_se),
        eip=rating.scores("eip").get(judge),
        correct=mine.credit,
        n=mine.pairs,
        right_of_labelled=mine.right_of_labelled,
        measures=mine,
        groups={name: group.scores(request.method).get(judge) for name, group in found.groups.items()},
    )


def _of(fit: JointFit | ConditionalFit | None, judge: str) -> tuple[float | None, float | None]:
    if fit is None or judge not in fit.judges:
        return None, None
    place = fit.judges.index(judge)
    return float(fit.elo[place]), float(fit.se[place])


def _interval(elo: float | None, se: float | None) -> tuple[float, float] | None:
    return None if elo is None or se is None else normal_interval(elo, se)


_AUTHORS = ("author", "author_b")


def versus(found: RankStudy, rows: Iterable[VerdictRow], *, labels: tuple[str, str]) -> Against:
    """Rate the judges of a study that another log holds too, on the pairs of each log, and compare.

    Curation and rating are done anew for these judges alone, both times as the study was asked to, without groups.

    Args:
        found: the study.
        rows: the other log.
        labels: what the two are called.

    Raises:
        UsageError: the logs have fewer than two judges in common, or those cannot be rated on one of them.

    """
    rows = list(rows)
    theirs = {row.judge for row in rows}
    shared = tuple(judge for judge in found.matrix.judges if judge in theirs)
    if len(shared) < 2:  # noqa: PLR2004 - two are compared
        raise UsageError(
            f"{labels[0]} and {labels[1]} have {len(shared)} judges in common, and two are needed: name them alike."
        )
    policy = found.decisions.policy
    request = replace(found.request, judges=shared, by=None, rule=found.request.rule or policy.rule, ties=policy.ties)
    mine = found if shared == found.matrix.judges else _rated(found.scored or found.rows, request, labels[0])
    other = _rated(rows, request, labels[1])
    authors = _authors(mine), _authors(other)
    fits = _fits(mine, other, request.method)
    return against(
        mine.rating.scores(request.method),
        other.rating.scores(request.method),
        labels=labels,
        generators=authors,
        judges=shared,
        changes=() if fits is None else changes_of(*fits),
        own_sets=() if fits is None else own_sets(*fits, labels=labels, generators=authors, judges=shared),
    )


def _fits(mine: RankStudy, other: RankStudy, method: Method) -> tuple[Fit, Fit] | None:
    """Return what both were rated by; None for a method without errors."""
    if method == "eip":
        return None
    one, two = (
        study.rating.joint if method == "bradley-terry" else study.rating.conditional for study in (mine, other)
    )
    return None if one is None or two is None else (one, two)


def _rated(rows: Iterable[VerdictRow], request: RankRequest, label: str) -> RankStudy:
    try:
        found = study(rows, request)
    except UsageError as error:
        raise UsageError(f"{label}: {error}") from error
    if not found.rating.scores(request.method):
        raise UsageError(f"{label}: {found.rating.reasons[request.method]}.")
    return found


def _authors(found: RankStudy) -> set[str]:
    """Return who wrote the answers, as far as the log says."""
    return {str(value) for column in _AUTHORS for value in found.decisions.columns.get(column, ()) if value is not None}
