"""Which thresholds may be certified, tested in a fixed sequence, and how many labels that takes.

Which thresholds may be certified: exact tests in a fixed sequence, from the surest decisions down. Fixed-sequence
testing (Bauer 1991) in the form of Learn then Test (Angelopoulos et al. 2021) and of selective evaluation (Jung et
al., ICLR 2025, arXiv 2407.18370): each threshold of a grid that no label has touched is tested for "the decisions it
accepts are wrong more often than allowed" at level delta, and the first test that fails ends it. That any threshold
certified is a wrong one happens with probability delta at most, whatever the number of thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, xlogy
from scipy.stats import binom

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number

from ..calibration.items import read_golds
from ..statistics import POWER
from ..statistics.paired import beta_binomial, fewest_for_good

_SHARES: Final = (*(step / 10 for step in range(1, 5)), *(step / 50 for step in range(25, 51)))


def fewest_accepted(*, agreement: float, delta: float) -> int:
    """Return how many decisions must be accepted before even a sample without an error certifies them.

    log(delta) / log(agreement): 22 at .9 and .1, 45 at .95 and .1.

    Raises:
        UsageError: one of them does not lie between 0 and 1.

    """
    for name, value in (("agreement", agreement), ("delta", delta)):
        if not 0 < value < 1:
            raise UsageError(f"{name} must lie between 0 and 1, not {value:g}.")
    return math.ceil(math.log(delta) / math.log(agreement) - 1e-9)


def threshold_grid(scores: Sequence[float]) -> tuple[float, ...]:
    """Return the thresholds that accept the surest .1, .2, .3, .4, .5, .52, .54, ... 1 of scores: distinct values.

    The first steps are wide, so that the first test stands on more decisions than the fewest: with a threshold for each
    value it would fail where one of 22 is wrong, and that is the end. The others are small, for coverage.
    """
    if not scores:
        return ()
    ordered = sorted(scores, reverse=True)
    places = (math.ceil(len(ordered) * share - 1e-9) - 1 for share in _SHARES)
    return tuple(dict.fromkeys(ordered[place] for place in places))


def p_values(
    wrong: npt.ArrayLike, accepted: npt.ArrayLike, clusters: npt.ArrayLike, largest: npt.ArrayLike, *, risk: float
) -> npt.NDArray[np.float64]:
    """Return the p-values of "a decision is wrong with probability `risk` or more", for arrays of counts.

    Where no cluster holds more than one decision: exact, the chance that a binomial variable with rate `risk` is as
    small. Decisions of one cluster are not independent, and the exact bound does not hold. There each cluster g of m_g
    decisions, e_g of them wrong, counts with (e_g + risk (M - m_g)) / M, M being the `largest` m_g: that lies between
    0 and 1 and has mean `risk` or more exactly where decisions are wrong that often. The bound is that of Hoeffding
    and Bentkus (Bates et al. 2021, JACM 68(6), eq. 7 and 8): min(exp(-G kl(mean, risk)), e P(Bin(G, risk) <= sum)).

    Args:
        wrong: wrong decisions among those accepted.
        accepted: accepted decisions with a label.
        clusters: the clusters they are in, G.
        largest: decisions of the largest of them.
        risk: 1 - the agreement that is asked for.

    """
    wrong, accepted, clusters, largest = (np.asarray(one, dtype=int) for one in (wrong, accepted, clusters, largest))
    exact = bdtr(wrong, np.maximum(accepted, 1), risk)
    most, groups = np.maximum(largest, 1), np.maximum(clusters, 1)
    total = (wrong + risk * (groups * most - accepted)) / most
    mean = np.minimum(total / groups, risk)
    divergence = xlogy(mean, mean / risk) + xlogy(1 - mean, (1 - mean) / (1 - risk))
    bentkus = math.e * bdtr(np.minimum(np.ceil(total - 1e-9), groups), groups, risk)
    bounded = np.minimum(np.exp(-groups * divergence), bentkus)
    return np.where(accepted > 0, np.minimum(np.where(most > 1, bounded, exact), 1.0), 1.0)


def certified_steps(
    p: npt.NDArray[np.float64], clusters: npt.ArrayLike, *, delta: float, fewest: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which thresholds are certified, and which were tested: the first with enough decisions, and so on down.

    Args:
        p: of each threshold, surest first, along the last axis.
        clusters: accepted ones at each.
        delta: how often a wrong threshold may be certified.
        fewest: `fewest_accepted`; thresholds that accept less are not tested.

    """
    enough = np.asarray(clusters) >= fewest
    unbroken = np.logical_and.accumulate((p <= delta) | ~enough, axis=-1)
    before = np.concatenate([np.ones_like(unbroken[..., :1]), unbroken[..., :-1]], axis=-1)
    return unbroken & enough, before & enough


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
    return stratified_prices([list(agreed)], agreement=agreement, delta=delta, labels=labels, share=share)


def stratified_prices(
    strata: Sequence[Sequence[tuple[int, int]]],
    *,
    agreement: float,
    delta: float,
    labels: int | None = None,
    share: float = POWER,
    cases: int | None = None,
) -> tuple[CertificatePrice, ...]:
    """Return what certificates of strata take together, each of which has its part of the labels; see above.

    Delta is shared equally, and a stratum's part of labels drawn at random varies around the pilot's. Each stratum is
    granted in the wanted share of studies by itself, and `chance` is that of the one with the lowest. Empty without
    strata, and where the votes of any stratum do not tell.

    Args:
        strata: of each, the votes of its labelled cases.
        agreement: asked for.
        delta: 1 - confidence, of all strata together.
        labels: as many as there are, in all strata.
        share: of studies in which each is to be given.
        cases: the pilot's labelled cases, where some are in no stratum.

    """
    fitted = [fit for fit in map(_beta, strata) if fit is not None]
    if not fitted or len(fitted) < len(strata):
        return ()
    asked = {"agreement": agreement, "delta": delta / len(strata)}
    parts = [len(stratum) / (cases or sum(map(len, strata))) for stratum in strata]

    def curves(votes: int) -> list[Curve]:
        return [
            [(part * covered, risk) for covered, risk in _curve(*fit, votes)]
            for fit, part in zip(fitted, parts, strict=True)
        ]

    return tuple(_price(curves(votes), votes, asked, labels=labels, share=share) for votes in _VOTES)


def votes_needed(agreed: Iterable[tuple[int, int]], *, agreement: float, delta: float, labels: int) -> int | None:
    """Return the fewest votes a case that give a certificate in 80 % of studies with so many labels; None beyond 60."""
    prices = certificate_prices(agreed, agreement=agreement, delta=delta, labels=labels)
    return next((one.votes for one in prices if one.chance is not None and one.chance >= POWER), None)


def _price(
    curves: Sequence[Curve], votes: int, asked: Mapping[str, float], *, labels: int | None, share: float
) -> CertificatePrice:
    needs = [need for curve in curves if (need := labels_needed(curve, share=share, **asked)) is not None]
    needed = max(needs) if len(needs) == len(curves) else None
    return CertificatePrice(
        votes=votes,
        labels=needed,
        coverage=None if needed is None else math.fsum(_coverage(curve, needed, **asked) for curve in curves),
        calls=None if needed is None else needed * votes,
        chance=None if labels is None else min(chance(curve, labels, **asked) for curve in curves),
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
