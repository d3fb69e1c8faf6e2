"""What a rule decides about a case and criterion, and the rules: over labels, scores, orders, probabilities."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from judgeharness_integrations.verdictlog.row import (
    ABSTAIN,
    Verdict,
    VerdictRow,
    expected_level,
    most_probable,
    verdict_text,
)

Status: TypeAlias = Literal["decided", "abstained", "not_graded"]


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`verdict` is `"ABSTAIN"` when abstained and None when not graded; `reason` is for people.

    `center` is the number behind a decision about scores, also when `pass_at` turned it into PASS or FAIL.
    """

    verdict: Verdict | None
    status: Status
    reason: str = ""
    center: float | None = None


def decided(verdict: Verdict, reason: str = "", *, center: float | None = None) -> Decision:
    """Return a decision for a verdict."""
    return Decision(verdict=verdict, status="decided", reason=reason, center=center)


def abstained(reason: str) -> Decision:
    """Return the decision not to decide."""
    return Decision(verdict=ABSTAIN, status="abstained", reason=reason)


def not_graded(reason: str) -> Decision:
    """Return the absence of a decision: too few valid samples."""
    return Decision(verdict=None, status="not_graded", reason=reason)


def leading(rows: Sequence[VerdictRow]) -> tuple[list[Verdict], int]:
    """Return the most frequent verdicts (several when tied, none without valid samples) and their count."""
    counts: dict[Verdict, int] = {}  # a case has few samples: a Counter would take longer
    for row in rows:
        if row.verdict is not None:
            counts[row.verdict] = counts.get(row.verdict, 0) + 1
    top = max(counts.values(), default=0)
    return [verdict for verdict, count in counts.items() if count == top], top


def tied(verdicts: Sequence[Verdict], count: int) -> Decision:
    """Return the abstention of samples of which several verdicts lead, or that were answered without any."""
    if not verdicts:
        return abstained("no sample holds a verdict")
    names = ", ".join(sorted(verdict_text(verdict) for verdict in verdicts))
    return abstained(f"tie between {names} at {count} each")


def majority(rows: Sequence[VerdictRow]) -> Decision:
    """Decide for the most frequent verdict; a tie for first abstains."""
    verdicts, count = leading(rows)
    if len(verdicts) != 1:
        return tied(verdicts, count)
    return decided(verdicts[0], f"{count} of {len(rows)} samples")


def strict_majority(rows: Sequence[VerdictRow]) -> Decision:
    """Decide for the label that more than half of all samples asked gave, else abstain."""
    verdicts, count = leading(rows)
    if 2 * count > len(rows):
        return decided(verdicts[0], f"{count} of {len(rows)} samples")
    return abstained(f"no label has more than half of {len(rows)} samples (highest count {count})")


def supermajority(rows: Sequence[VerdictRow], threshold: Fraction) -> Decision:
    """Decide for the most frequent label if its share of all samples asked reaches the threshold, else abstain."""
    verdicts, count = leading(rows)
    if count * threshold.denominator < threshold.numerator * len(rows):
        return abstained(f"highest count {count} of {len(rows)} samples is below {threshold}")
    return decided(verdicts[0], f"{count} of {len(rows)} samples") if len(verdicts) == 1 else tied(verdicts, count)


def abstain_on_disagreement(rows: Sequence[VerdictRow]) -> Decision:
    """Decide for the common label if every sample gave it; a failed sample is a disagreement."""
    verdicts, count = leading(rows)
    if count == len(rows) and len(verdicts) == 1:
        return decided(verdicts[0], f"all {count} samples agree")
    return abstained(f"{count} of {len(rows)} samples agree")


PassAt = Fraction | None


def _scores(rows: Sequence[VerdictRow]) -> list[float]:
    return sorted(row.verdict for row in rows if isinstance(row.verdict, (int, float)))


def _decide(rows: Sequence[VerdictRow], fold: Callable[[list[float]], float], pass_at: PassAt) -> Decision:
    scores = _scores(rows)
    if not scores:
        return tied([], 0)
    center = fold(scores)
    if isinstance(center, float) and center.is_integer() and all(isinstance(score, int) for score in scores):
        center = int(center)  # whole scores keep their type: 7, not 7.0
    reason = f"{len(scores)} of {len(rows)} samples, from {verdict_text(scores[0])} to {verdict_text(scores[-1])}"
    if pass_at is None:
        return decided(center, reason, center=center)
    passed = Fraction(center) >= pass_at
    return decided("PASS" if passed else "FAIL", f"{verdict_text(center)}; {reason}", center=center)


def _average(scores: list[float]) -> float:
    return min(max(statistics.fmean(scores), scores[0]), scores[-1])  # rounding may leave the range by one ulp


def median(rows: Sequence[VerdictRow], pass_at: PassAt = None) -> Decision:
    """Decide for the middle score (mean of the two middle ones for an even count)."""
    return _decide(rows, statistics.median, pass_at)


def mean(rows: Sequence[VerdictRow], pass_at: PassAt = None) -> Decision:
    """Decide for the arithmetic mean."""
    return _decide(rows, _average, pass_at)


def trimmed_mean(rows: Sequence[VerdictRow], share: Fraction, pass_at: PassAt = None) -> Decision:
    """Decide for the mean after dropping floor(share x n) scores at each end (scipy.stats.trim_mean)."""

    def fold(scores: list[float]) -> float:
        cut = len(scores) * share.numerator // share.denominator
        return _average(scores[cut : len(scores) - cut])

    return _decide(rows, fold, pass_at)


def mode(rows: Sequence[VerdictRow], pass_at: PassAt = None) -> Decision:
    """Decide for the most frequent score; a tie for first abstains."""
    verdicts, count = leading(rows)
    if len(verdicts) != 1:
        return tied(verdicts, count)
    return _decide(rows, statistics.mode, pass_at)


TIE = "TIE"
PREFERENCE: Mapping[Verdict, int] = {"A": 1, "B": -1, TIE: 0}


def _orders(rows: Sequence[VerdictRow]) -> tuple[list[VerdictRow], list[VerdictRow]]:
    return [row for row in rows if not row.swapped], [row for row in rows if row.swapped]


def _unequal(shown: Sequence[VerdictRow], swapped: Sequence[VerdictRow]) -> Decision | None:
    if len(shown) == len(swapped):
        return None
    return not_graded(f"the two orders have unequal probes ({len(shown)} shown, {len(swapped)} swapped)")


def swap_consensus(rows: Sequence[VerdictRow]) -> Decision:
    """Take the majority inside each order; decide for the label both orders give, else abstain."""
    shown, swapped = _orders(rows)
    if refusal := _unequal(shown, swapped):
        return refusal
    first, second = leading(shown)[0], leading(swapped)[0]
    if len(first) != 1 or len(second) != 1:
        which = "the original order" if len(first) != 1 else "the swapped order"
        return abstained(f"no majority in {which}")
    if first[0] != second[0]:
        return abstained(f"the orders disagree: {verdict_text(first[0])}, swapped {verdict_text(second[0])}")
    return decided(first[0], "both orders agree")


def net_preference(rows: Sequence[VerdictRow]) -> Decision:
    """Sum +1 for A, -1 for B and 0 for TIE over both orders; the sign decides, zero is a TIE.

    This is the published JudgeBench rule. A decision that rests on one order says so.
    """
    shown, swapped = _orders(rows)
    if refusal := _unequal(shown, swapped):
        return refusal
    foreign = {verdict_text(row.verdict) for row in rows if row.ok and row.verdict not in PREFERENCE}
    if foreign:
        return not_graded(f"net_preference reads A, B and TIE, not {', '.join(sorted(foreign))}")
    net = sum(PREFERENCE[row.verdict] for row in rows if isinstance(row.verdict, str))
    one_order = not any(row.ok for row in shown) or not any(row.ok for row in swapped)
    reason = f"net preference {net:+d}" + (", resting on one order" if one_order else "")
    return decided(TIE if net == 0 else "A" if net > 0 else "B", reason)


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


PROBABILITY_RULES: Final = (mean_probability, expected_score)
