"""Rules over probabilities: averaged over orders and wordings, then decided from how probable the best option is."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from fractions import Fraction

from judgeharness_integrations.analysis.aggregation.decision import Decision, abstained, decided, not_graded
from judgeharness_integrations.verdictlog.row import VerdictRow, expected_level, most_probable, verdict_text


def averaged(rows: Iterable[VerdictRow], *, failures: bool = False) -> dict[str, float] | None:
    """Return option -> mean probability over the rows that answered; None where one of them gave no probabilities.

    Each order of a pair weighs the same, however often it was asked: p(A) = (p_none(A) + p_swap(A mapped back)) / 2.
    Probabilities that a provider rounded are brought to the sum of 1 first.

    Args:
        rows: of one case and criterion.
        failures: count samples that failed as well, with a probability of 0 for every option.

    """
    orders: dict[bool, list[dict[str, float]]] = {}
    for row in rows:
        if row.answered and row.probabilities is None:
            return None
        if row.probabilities is not None:
            total = sum(row.probabilities.values())
            shares = {name: share / total for name, share in row.probabilities.items()}
            orders.setdefault(row.swapped, []).append(shares)
        elif failures:
            orders.setdefault(row.swapped, []).append({})
    return _mean([_mean(some) for some in orders.values()]) or None


def _mean(some: Sequence[dict[str, float]]) -> dict[str, float]:
    options = dict.fromkeys(name for one in some for name in one)
    return {name: statistics.fmean(one.get(name, 0.0) for one in some) for name in options}


def mean_probability(rows: Sequence[VerdictRow], threshold: Fraction) -> Decision:
    """Decide for the label of the highest mean probability if that reaches the threshold, else abstain.

    The mean is over all samples asked: one that failed gives every label 0.
    """
    shares = averaged(rows, failures=True)
    if shares is None:
        return not_graded("mean_probability reads probabilities, which some answers do not hold")
    highest = max(shares.values())
    label = most_probable(shares)
    if label is None:
        return abstained(f"several labels have a mean probability of {highest:.3f}")
    shown = f"mean probability {shares[label]:.3f} of {label}"
    return abstained(f"{shown} is below {threshold}") if shares[label] < threshold else decided(label, shown)


def expected_score(rows: Sequence[VerdictRow], pass_at: Fraction | None = None) -> Decision:
    """Decide for the mean of the expected levels of a score, over the samples that answered."""
    answered = [row.probabilities for row in rows if row.answered]
    if not answered or None in answered:
        return not_graded("expected_score reads probabilities, which some answers do not hold")
    center = statistics.fmean(expected_level(shares) for shares in answered if shares is not None)
    reason = f"expected level {verdict_text(center)} over {len(answered)} of {len(rows)} samples"
    if pass_at is None:
        return decided(center, reason, center=center)
    return decided("PASS" if Fraction(center) >= pass_at else "FAIL", reason, center=center)
