"""Rules over scores. Each stays within the range of the valid samples."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction

from judgeharness_integrations.analysis.aggregation.decision import Decision, abstained, decided
from judgeharness_integrations.analysis.aggregation.labels import leading
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

PassAt = Fraction | None


def _scores(rows: Sequence[VerdictRow]) -> list[float]:
    return sorted(row.verdict for row in rows if isinstance(row.verdict, (int, float)))


def _decide(rows: Sequence[VerdictRow], fold: Callable[[list[float]], float], pass_at: PassAt) -> Decision:
    scores = _scores(rows)
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
        return abstained(f"tie between {', '.join(sorted(map(verdict_text, verdicts)))} at {count} each")
    return _decide(rows, statistics.mode, pass_at)
