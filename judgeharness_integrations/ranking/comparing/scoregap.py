"""How far apart a judge's scores put the better and the worse answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from judgeharness_integrations.ranking.comparing.scoredsides import (
    Preference,
    ScoredGroup,
    preferences_of,
    scored_groups,
    scored_pairs,
)
from judgeharness_integrations.statistics.means import Estimate, estimate
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["ScoreGap", "score_gaps"]

_SAME = 1e-9  # of a gap: means of the same scores differ by rounding alone


@dataclass(frozen=True, kw_only=True)
class ScoreGap:
    """Score of the better answer minus score of the worse one, in points of the judge's scale.

    `pairs` with a better side by gold and a score of both sides; `unscored` ones lack a score and are in none of the
    numbers. `mean`, `sd` and `se` (sd / sqrt(pairs)) of the gap over pairs, `ci95` by Student's t; None where too few
    pairs or no variation tell nothing. `right`: pairs with the better side scored higher; `ties`: with equal scores;
    `accuracy`: (right + ties / 2) / pairs.
    """

    judge: str
    criterion: str
    pairs: int
    unscored: int
    mean: float | None
    sd: float | None
    se: float | None
    ci95: tuple[float, float] | None
    ties: int
    right: int
    accuracy: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the gap as JSON keeps it."""
        return asdict(self) | {"ci95": None if self.ci95 is None else list(self.ci95)}


def score_gaps(rows: Iterable[VerdictRow]) -> tuple[ScoreGap, ...]:
    """Return the gap of each judge and criterion of scores, over the pairs of which gold prefers a side.

    A pair that was scored several times (repetitions, perturbations) counts once, with the mean of its gaps.

    Args:
        rows: as `pairs_of_scores` takes them.

    Raises:
        UsageError: as `pairs_of_scores`.

    """
    groups = scored_groups(rows)
    better = preferences_of(groups)
    return tuple(_gap(group, _gaps(group.rows, better[group.criterion])) for group in groups)


def _gaps(rows: Sequence[VerdictRow], better: Mapping[str, Preference]) -> list[list[float]]:
    """Return the gaps of each pair of which gold prefers a side; an empty list where a score is missing."""
    gaps: dict[str, list[float]] = {}
    for pair in scored_pairs(rows):
        side = better.get(pair.pair, "TIE")
        if side == "TIE":
            continue
        mine = gaps.setdefault(pair.pair, [])
        if pair.scores is not None:
            first, second = pair.scores
            mine.append(first - second if side == "A" else second - first)
    return list(gaps.values())


def _gap(group: ScoredGroup, samples: Sequence[Sequence[float]]) -> ScoreGap:
    gaps = [_mean(values) for values in samples if values]
    n = len(gaps)
    mean = math.fsum(gaps) / n if n else None
    deviations = [] if mean is None else [gap - mean for gap in gaps]
    sd = math.sqrt(math.fsum(value * value for value in deviations) / (n - 1)) if n > 1 else None
    interval = None if mean is None else estimate(mean, deviations, range(n))
    ties, right = sum(gap == 0 for gap in gaps), sum(gap > 0 for gap in gaps)
    return ScoreGap(
        judge=group.judge,
        criterion=group.criterion,
        pairs=n,
        unscored=len(samples) - n,
        mean=mean,
        sd=sd,
        se=None if sd is None else sd / math.sqrt(n),
        ci95=_bounds(interval),
        ties=ties,
        right=right,
        accuracy=(right + ties / 2) / n if n else None,
    )


def _bounds(interval: Estimate | None) -> tuple[float, float] | None:
    if interval is None or interval.low is None or interval.high is None:
        return None
    return interval.low, interval.high


def _mean(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return 0.0 if abs(mean) < _SAME else mean
