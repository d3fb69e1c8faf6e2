"""What a judge takes: tokens and money, as means over pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from judgeharness_integrations.ranking.judges.facts import JudgeFacts
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Spending", "spending_of"]


@dataclass(frozen=True, kw_only=True)
class Spending:
    """Means over the pairs whose rows report them, all samples of a pair summed; None where none does.

    `tokens` are read and written, over pairs that report both. `cost` is of those, in the currency of the prices.
    """

    tokens: float | None
    input_tokens: float | None
    output_tokens: float | None
    cost: float | None


def spending_of(pairs: Iterable[Sequence[VerdictRow]], facts: JudgeFacts) -> Spending:
    """Return what a judge takes.

    Args:
        pairs: all rows of the judge, pair by pair.
        facts: its prices.

    """
    read: list[int] = []
    written: list[int] = []
    both: list[tuple[int, int]] = []
    for rows in pairs:
        into = [row.input_tokens for row in rows if row.input_tokens is not None]
        out = [row.output_tokens for row in rows if row.output_tokens is not None]
        if into:
            read.append(sum(into))
        if out:
            written.append(sum(out))
        if into and out:
            both.append((sum(into), sum(out)))
    return Spending(
        tokens=_mean([sum(tokens) for tokens in both]),
        input_tokens=_mean(read),
        output_tokens=_mean(written),
        cost=facts.cost(fmean(one for one, _ in both), fmean(other for _, other in both)) if both else None,
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
