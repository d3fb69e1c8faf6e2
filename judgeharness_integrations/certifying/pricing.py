"""What a certificate takes: the labels, and the votes a case, with which it is not refused most of the time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from scipy.special import bdtr
from scipy.stats import binom

from judgeharness_integrations.calibration.words import read_golds
from judgeharness_integrations.certifying.certificate import POWER
from judgeharness_integrations.certifying.sequence import fewest_accepted, threshold_grid
from judgeharness_integrations.statistics.counts import beta_binomial
from judgeharness_integrations.statistics.search import fewest_for_good
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number

__all__ = ["CertificatePrice", "Curve", "agreed_votes", "certificate_prices", "chance", "labels_needed", "votes_needed"]

_MOST_LABELS: Final = 20_000
_VOTES: Final = (2, 3, 6, 12, 20, 30, 40, 60)
_GROWTH: Final = 1.02  # of the grid on which the last number that is too small is looked for

Curve: TypeAlias = "Sequence[tuple[float, float]]"  # (share of cases accepted, share of them wrong), surest first


@dataclass(frozen=True, kw_only=True)
class CertificatePrice:
    """What a certificate takes with so many votes a case.

    With `labels` labels it is given in a share of studies, .8 unless another is asked for, and leaves about `coverage`;
    both are None where no number of labels up to 20,000 does. `calls` are the votes about the labelled cases. `chance`
    is how often it is given with as many labels as there are, None where that was not asked.
    """

    votes: int
    labels: int | None
    coverage: float | None
    calls: int | None
    chance: float | None


def chance(curve: Curve, labels: int, *, agreement: float, delta: float) -> float:
    """Return how often a certificate is given: the first threshold with enough decisions passes its exact test.

    Args:
        curve: of the thresholds of the grid.
        labels: labelled cases, each in a cluster of its own.
        agreement: asked for.
        delta: 1 - confidence.

    """
    fewest = fewest_accepted(agreement=agreement, delta=delta)
    first = next((point for point in curve if point[0] * labels >= fewest), None)
    return 0.0 if first is None else _passes(first, labels, agreement=agreement, delta=delta)


def _passes(point: tuple[float, float], labels: int, *, agreement: float, delta: float) -> float:
    """Return how often one threshold passes, over how many of the labelled cases it accepts."""
    share, risk = point
    center, reach = labels * share, 6 * math.sqrt(labels * share * (1 - share)) + 1  # beyond it lies less than 1e-8
    accepted = np.arange(max(1, math.floor(center - reach)), min(labels, math.ceil(center + reach)) + 1)
    critical = binom.ppf(delta, accepted, 1 - agreement)
    critical -= bdtr(critical, accepted, 1 - agreement) > delta
    passes = np.where(critical >= 0, bdtr(np.maximum(critical, 0), accepted, risk), 0.0)
    return float(binom.pmf(accepted, labels, share) @ passes)


def labels_needed(curve: Curve, *, agreement: float, delta: float, share: float = POWER) -> int | None:
    """Return how many labels, and any more, give a certificate in a share of studies; None where 20,000 do not.

    The chance is a sawtooth: with one label more, no more decisions may be wrong, until they may.
    """
    fewest = fewest_accepted(agreement=agreement, delta=delta)
    if fewest > _MOST_LABELS or not any(risk < 1 - agreement for _, risk in curve):
        return None
    steps = math.ceil(math.log(_MOST_LABELS / fewest, _GROWTH))
    grid = sorted({min(_MOST_LABELS, round(fewest * _GROWTH**step)) for step in range(steps + 1)})
    return fewest_for_good(lambda labels: chance(curve, labels, agreement=agreement, delta=delta) >= share, grid)


def agreed_votes(cases: Iterable[Sequence[VerdictRow]]) -> list[tuple[int, int]]:
    """Return of each case with a label how many of its votes agree with it, and of how many; none of scores."""
    voted: list[tuple[Verdict, list[Verdict]]] = []
    for rows in cases:
        gold = next((row.gold for row in rows if row.gold is not None), None)
        if gold is not None:
            voted.append((gold, [row.verdict for row in rows if row.verdict is not None]))
    given = {vote for _, votes in voted for vote in votes}
    if any(map(is_number, given)):
        return []
    read = read_golds((gold for gold, _ in voted), given)
    return [
        (sum(vote == label for vote in votes), len(votes)) for gold, votes in voted if (label := read[gold]) is not None
    ]


def certificate_prices(
    agreed: Iterable[tuple[int, int]],
    *,
    agreement: float,
    delta: float,
    labels: int | None = None,
    share: float = POWER,
) -> tuple[CertificatePrice, ...]:
    """Return what a certificate takes with 2, 3, 6, ... votes a case that are decided by majority.

    Cases have a rate of votes that agree with the label, which is Beta distributed with the mean and the variance
    between cases of the pilot, and votes about a case are independent given its rate; all votes that disagree count
    for one other label. GPT-4 on LLMBar: at 2 to 30 votes the share and the risk of unanimous cases lie within .05 and
    .02 of those recorded.

    Args:
        agreed: of each labelled case, how many votes agree with the label, and of how many.
        agreement: asked for.
        delta: 1 - confidence.
        labels: as many as there are.
        share: of studies in which it is to be given.

    """
    fitted = _beta(agreed)
    if fitted is None:
        return ()
    asked = {"agreement": agreement, "delta": delta}
    return tuple(_price(_curve(*fitted, votes), votes, asked, labels=labels, share=share) for votes in _VOTES)


def votes_needed(agreed: Iterable[tuple[int, int]], *, agreement: float, delta: float, labels: int) -> int | None:
    """Return the fewest votes a case that give a certificate in 80 % of studies with so many labels; None beyond 60."""
    prices = certificate_prices(agreed, agreement=agreement, delta=delta, labels=labels)
    return next((one.votes for one in prices if one.chance is not None and one.chance >= POWER), None)


def _price(
    curve: Curve, votes: int, asked: Mapping[str, float], *, labels: int | None, share: float
) -> CertificatePrice:
    needed = labels_needed(curve, share=share, **asked)
    return CertificatePrice(
        votes=votes,
        labels=needed,
        coverage=None if needed is None else _coverage(curve, needed, **asked),
        calls=None if needed is None else needed * votes,
        chance=None if labels is None else chance(curve, labels, **asked),
    )


def _coverage(curve: Curve, labels: int, *, agreement: float, delta: float) -> float:
    """Return the coverage down to the last threshold that passes at least every other time."""
    fewest = fewest_accepted(agreement=agreement, delta=delta)
    covered = 0.0
    for point in (one for one in curve if one[0] * labels >= fewest):
        if _passes(point, labels, agreement=agreement, delta=delta) < 1 / 2:
            break
        covered = point[0]
    return covered


def _beta(agreed: Iterable[tuple[int, int]]) -> tuple[float, float] | None:
    """Return the Beta distribution of a case's rate of right votes, by moments; None where it has none.

    E[p (1 - p)] is estimated without bias by k (n - k) / (n (n - 1)), for cases of two votes or more.
    """
    counts = np.array([pair for pair in agreed if pair[1] > 1], dtype=float).reshape(-1, 2)
    right, votes = counts.T
    mean = float((right / votes).mean()) if len(counts) else 0.0
    within = float((right * (votes - right) / (votes * (votes - 1))).mean()) if len(counts) else 0.0
    spread = mean * (1 - mean)
    if not 0 < within < spread:
        return None
    size = within / (spread - within)
    return mean * size, (1 - mean) * size


def _curve(a: float, b: float, votes: int) -> Curve:
    """Return the curve of a majority of so many votes on the grid of its consistencies; a tie decides nothing."""
    right = np.arange(votes + 1)
    share = beta_binomial(right, votes, a, b)
    most = np.maximum(right, votes - right)
    decided = 2 * most > votes
    spread = np.repeat(most[decided], np.round(1000 * share[decided] / share[decided].sum()).astype(int))
    points = []
    for threshold in threshold_grid(spread.tolist()):
        accepted = decided & (most >= threshold)
        covered = min(1.0, float(share[accepted].sum()))
        points.append((covered, float(share[accepted & (2 * right < votes)].sum() / covered)))
    return points
