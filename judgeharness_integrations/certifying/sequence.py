"""Which thresholds may be certified: exact tests in a fixed sequence, from the surest decisions down.

Fixed-sequence testing (Bauer 1991) in the form of Learn then Test (Angelopoulos et al. 2021) and of selective
evaluation (Jung et al., ICLR 2025, arXiv 2407.18370): each threshold of a grid that no label has touched is tested for
"the decisions it accepts are wrong more often than allowed" at level delta, and the first test that fails ends it. That
any threshold certified is a wrong one happens with probability delta at most, whatever the number of thresholds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, xlogy

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.certifying.step import Step

__all__ = ["borne_out", "certified_steps", "fewest_accepted", "p_values", "step_tests", "threshold_grid"]

_SHARES: Final = (*(step / 10 for step in range(1, 5)), *(step / 50 for step in range(25, 51)))
_ROUNDING: Final = 1e-6  # of p-values, by another SciPy


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


def borne_out(steps: Sequence[Step], *, agreement: float, delta: float) -> Step | None:
    """Return the last step of a saved certificate that is certified, by its own p-values; None where none is.

    Raises:
        ValueError: a p-value is not that of its counts. How large clusters are is not saved: theirs is only known to be
            no smaller than the exact one.

    """
    tested = [(step, step.p) for step in steps if step.p is not None]
    for step, p in tested:
        exact = float(p_values(step.wrong, step.labelled, step.clusters, 1, risk=1 - agreement))
        if not (math.isclose(p, exact, rel_tol=_ROUNDING) or (p > exact and step.clusters < step.labelled)):
            raise ValueError(f"p {p} is not that of {step.wrong} wrong of {step.labelled}")
    passed = list(takewhile(lambda pair: pair[1] <= delta, tested))
    return passed[-1][0] if passed else None
