"""What a judge takes: tokens and money, as means over pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from judgeharness_integrations.prices import Billed, Price, Spent, summed
from judgeharness_integrations.ranking.judges.facts import JudgeFacts
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Spending", "spending_of"]


@dataclass(frozen=True, kw_only=True)
class Spending:
    """Means over the pairs whose rows report them, all samples of a pair summed; None where none does.

    `tokens` are read and written, over pairs that report both. `cost` is of those, in the currency of the prices; None
    where a price is missing for what was read, written or served (see `Price`), which `cost_remarks` say.
    """

    tokens: float | None
    input_tokens: float | None
    output_tokens: float | None
    cost: float | None
    cost_remarks: tuple[str, ...] = ()


def spending_of(pairs: Iterable[Sequence[VerdictRow]], facts: JudgeFacts) -> Spending:
    """Return what a judge takes.

    Args:
        pairs: all rows of the judge, pair by pair.
        facts: its prices.

    """
    read: list[int] = []
    written: list[int] = []
    both: list[int] = []
    bills: list[Billed] = []
    for rows in pairs:
        into = [row.input_tokens for row in rows if row.input_tokens is not None]
        out = [row.output_tokens for row in rows if row.output_tokens is not None]
        if into:
            read.append(sum(into))
        if out:
            written.append(sum(out))
        if into and out:
            both.append(sum(into) + sum(out))
            bills.append(_bill(rows, facts.price))
    bill = summed(bills)
    return Spending(
        tokens=_mean(both),
        input_tokens=_mean(read),
        output_tokens=_mean(written),
        cost=bill.cost / len(bills) if bills and bill.cost is not None else None,
        cost_remarks=bill.remarks,
    )


def _bill(rows: Iterable[VerdictRow], price: Price | None) -> Billed:
    """Return what the rows of a pair cost; a row that reports one count of tokens alone took nothing of the other."""
    if price is None:
        return Billed(None)
    spent = (Spent.of(row) for row in rows if row.input_tokens is not None or row.output_tokens is not None)
    whole = (one._replace(input_tokens=one.input_tokens or 0, output_tokens=one.output_tokens or 0) for one in spent)
    return summed(map(price.billed, whole))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
