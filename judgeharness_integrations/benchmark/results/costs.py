"""What a benchmark took: answers, attempts, tokens and money of every step and model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from judgeharness_integrations.benchmark.asking.journal import StepUsage
from judgeharness_integrations.benchmark.records import Record
from judgeharness_integrations.execution.prices import Price, Spent, price_of
from judgeharness_integrations.verdictlog.sql.usage import ModelUsage

__all__ = ["Cost", "costs_of_judges", "costs_of_steps", "total_cost"]


class Cost(Record):
    """What one step took of one model: answers, attempts at them, tokens, money.

    Tokens are None where an answer did not report them; money also where no price is known.
    """

    step: str
    model: str
    answers: int = Field(ge=0)
    attempts: int = Field(ge=0)
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


def costs_of_steps(usages: Iterable[StepUsage], prices: Mapping[str, Price]) -> list[Cost]:
    """Return what the models that wrote and verified took."""
    return [
        Cost(
            step=one.step,
            model=one.model,
            answers=one.answers,
            attempts=one.tries,
            input_tokens=one.input_tokens,
            output_tokens=one.output_tokens,
            cost=_money(one.model, one.input_tokens, one.output_tokens, prices),
        )
        for one in usages
    ]


def costs_of_judges(usages: Iterable[ModelUsage], prices: Mapping[str, Price], *, mode: str) -> list[Cost]:
    """Return what judges took in a mode; the price is that of the model an answer names, else that of its judge."""
    return [
        Cost(
            step=f"judge, {mode}",
            model=one.judge,
            answers=one.made_calls,
            attempts=one.made_calls if one.attempts is None else one.attempts,
            input_tokens=None if one.unpriced_calls else one.input_tokens,
            output_tokens=None if one.unpriced_calls else one.output_tokens,
            cost=None if one.unpriced_calls else _paid(one, prices),
        )
        for one in usages
    ]


def _paid(one: ModelUsage, prices: Mapping[str, Price]) -> float | None:
    """Return what answers cost; nothing where each of them failed, was re-used or came from a cache."""
    model = one.judge if one.judge in prices else one.model
    return _money(model, one.input_tokens or 0, one.output_tokens or 0, prices)


def _money(model: str | None, read: int | None, written: int | None, prices: Mapping[str, Price]) -> float | None:
    price = price_of(model, prices)
    return None if price is None else price.of(Spent(read, written))


def total_cost(costs: Sequence[Cost]) -> float | None:
    """Return what everything cost; None where the cost of a step is not known, or nothing was asked."""
    known = [one.cost for one in costs if one.cost is not None]
    return sum(known) if costs and len(known) == len(costs) else None
