"""The leaderboard of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.ranking.bradleyterry.contrasts import Z95, Contrast, contrasts_of, rank_ranges
from judgeharness_integrations.ranking.bradleyterry.ordereffect import OrderEffect, order_effect
from judgeharness_integrations.ranking.correctness.crediting import by_better_first
from judgeharness_integrations.ranking.diagnostics import Diagnostics
from judgeharness_integrations.ranking.judges.measures import JudgeMeasures, judge_measures
from judgeharness_integrations.ranking.places import ranks_of
from judgeharness_integrations.ranking.rating import Rating
from judgeharness_integrations.ranking.report import JudgeRank, RankReport
from judgeharness_integrations.ranking.request import RankRequest
from judgeharness_integrations.ranking.studying import RankStudy, clusters_of, study
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.ranking.bradleyterry.conditionalfit import ConditionalFit
    from judgeharness_integrations.ranking.bradleyterry.jointfit import JointFit

__all__ = ["leaderboard", "rank"]


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
    ranks = ranks_of(found.rating, request.method, found.matrix)
    entry = partial(_entry, found=found, measures=measures, ranks=ranks, contrasts=contrasts)
    judges = sorted(
        map(entry, found.matrix.judges), key=lambda one: (one.rank is None, one.rank or 0, -(one.accuracy or 0.0))
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
        n_cut=int(curation.hardest.sum()),
        n_pairs=len(found.rating.matrix.pairs),
        judges=tuple(judges),
        contrasts=contrasts,
        diagnostics=_diagnostics(found),
    )


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
    ranges = {} if main is None else rank_ranges(main.judges, contrasts)
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
        accuracy=mine.accuracy,
        measures=mine,
        groups={name: group.scores(request.method).get(judge) for name, group in found.groups.items()},
    )


def _of(fit: JointFit | ConditionalFit | None, judge: str) -> tuple[float | None, float | None]:
    if fit is None or judge not in fit.judges:
        return None, None
    place = fit.judges.index(judge)
    return float(fit.elo[place]), float(fit.se[place])


def _interval(elo: float | None, se: float | None) -> tuple[float, float] | None:
    return None if elo is None or se is None else (elo - Z95 * se, elo + Z95 * se)


def _diagnostics(found: RankStudy) -> Diagnostics:
    rating = found.rating
    joint, conditional = rating.joint, rating.conditional
    judges = 0 if joint is None else len(joint.judges)
    clusters = clusters_of(rating.matrix, found.request.cluster)
    both = joint is not None and conditional is not None
    return Diagnostics(
        connections=rating.connections,
        cells=int(rating.matrix.seen.sum()),
        cells_total=rating.matrix.seen.size,
        clusters=len(rating.matrix.pairs) if clusters is None else len(np.unique(clusters)),
        cluster=found.request.cluster,
        inflation=float(np.std(joint.elo) / np.std(conditional.elo))
        if joint is not None and conditional is not None
        else None,
        inflation_expected=judges / (judges - 1) if both else None,
        order_effect=_order_effect(found),
        log_likelihood=None if joint is None else joint.log_likelihood,
        steps=None if joint is None else joint.steps,
        eip=asdict(found.request.eip),
        reasons=rating.reasons,
    )


def _order_effect(found: RankStudy) -> OrderEffect | None:
    """Return the effect for the only criterion that is a choice between A and B, on the pairs that are ranked."""
    sided = [both for both in (by_better_first(found.decisions, name) for name in found.criteria) if both is not None]
    if len(sided) != 1:
        return None
    first, second = sided[0]
    known = set(found.curation.kept.pairs)
    marks = np.array([pair in known for pair in first.pairs])
    return order_effect(first.of_pairs(marks), second.of_pairs(marks))
