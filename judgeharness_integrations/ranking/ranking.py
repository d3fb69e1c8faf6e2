"""The leaderboard of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from judgeharness_integrations.ranking.bradleyterry.contrasts import Contrast, contrasts_of, rank_ranges
from judgeharness_integrations.ranking.diagnosing import diagnosed
from judgeharness_integrations.ranking.judges.controls import judge_controls
from judgeharness_integrations.ranking.judges.measures import JudgeMeasures, judge_measures
from judgeharness_integrations.ranking.judges.panels import panels
from judgeharness_integrations.ranking.places import ranks_of
from judgeharness_integrations.ranking.rating import Rating
from judgeharness_integrations.ranking.report import JudgeRank, RankReport
from judgeharness_integrations.ranking.request import RankRequest
from judgeharness_integrations.ranking.studying import RankStudy, clusters_of, study
from judgeharness_integrations.statistics.means import Z95
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
    clusters = clusters_of(found.matrix, found.cluster)
    controls = judge_controls(found.decisions, found.criteria, found.matrix, clusters=clusters)
    ranks = ranks_of(found.rating, request.method, found.matrix)
    entry = partial(_entry, found=found, measures=measures, ranks=ranks, contrasts=contrasts)
    judges = sorted(
        (replace(entry(judge), controls=controls[judge]) for judge in found.matrix.judges),
        key=lambda one: (one.rank is None, one.rank or 0, -(one.accuracy or 0.0)),
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
