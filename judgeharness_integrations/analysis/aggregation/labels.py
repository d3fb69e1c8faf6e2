"""Rules over labels. Shares are taken over all samples asked, failures included."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from judgeharness_integrations.analysis.aggregation.decision import Decision, abstained, decided
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text


def leading(rows: Sequence[VerdictRow]) -> tuple[list[Verdict], int]:
    """Return the most frequent verdicts (several when tied, none without valid samples) and their count."""
    counts: dict[Verdict, int] = {}  # a case has few samples: a Counter would take longer
    for row in rows:
        if row.verdict is not None:
            counts[row.verdict] = counts.get(row.verdict, 0) + 1
    top = max(counts.values(), default=0)
    return [verdict for verdict, count in counts.items() if count == top], top


def _tied(verdicts: Sequence[Verdict], count: int) -> Decision:
    if not verdicts:
        return abstained("no sample has a most probable label")
    names = ", ".join(sorted(verdict_text(verdict) for verdict in verdicts))
    return abstained(f"tie between {names} at {count} each")


def majority(rows: Sequence[VerdictRow]) -> Decision:
    """Decide for the most frequent verdict; a tie for first abstains."""
    verdicts, count = leading(rows)
    if len(verdicts) != 1:
        return _tied(verdicts, count)
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
    return decided(verdicts[0], f"{count} of {len(rows)} samples") if len(verdicts) == 1 else _tied(verdicts, count)


def abstain_on_disagreement(rows: Sequence[VerdictRow]) -> Decision:
    """Decide for the common label if every sample gave it; a failed sample is a disagreement."""
    verdicts, count = leading(rows)
    if count == len(rows) and len(verdicts) == 1:
        return decided(verdicts[0], f"all {count} samples agree")
    return abstained(f"{count} of {len(rows)} samples agree")
