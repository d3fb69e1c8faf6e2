"""What a benchmark took: answers, attempts, tokens and money of every step and model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from judgeharness_integrations.benchmark.asking.journal import StepUsage
from judgeharness_integrations.benchmark.records import Record
from judgeharness_integrations.prices import Billed, Price, Spent, billed, price_of, summed
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
    cost_remarks: tuple[str, ...] = Field(
        default=(), description="Why the cost is not known, where it is the most it can be, whose prices it is by."
    )


def costs_of_steps(usages: Iterable[StepUsage], prices: Mapping[str, Price]) -> list[Cost]:
    """Return what the models that wrote and verified took."""
    return [_step(one, summed(_billed(spent, prices) for spent in _by_tier(one))) for one in usages]


def _by_tier(one: StepUsage) -> tuple[Spent, ...]:
    return one.spent or (Spent(one.input_tokens, one.output_tokens, one.model),)


def _step(one: StepUsage, bill: Billed) -> Cost:
    return Cost(
        step=one.step,
        model=one.model,
        answers=one.answers,
        attempts=one.tries,
        input_tokens=one.input_tokens,
        output_tokens=one.output_tokens,
        cost=bill.cost,
        cost_remarks=bill.remarks,
    )


def costs_of_judges(usages: Iterable[ModelUsage], prices: Mapping[str, Price], *, mode: str) -> list[Cost]:
    """Return what judges took in a mode; the price is that of the model an answer names, else that of its judge."""
    return [_judged(one, _paid(one, prices), mode) for one in usages]


def _judged(one: ModelUsage, bill: Billed, mode: str) -> Cost:
    return Cost(
        step=f"judge, {mode}",
        model=one.judge,
        answers=one.made_calls,
        attempts=one.made_calls if one.attempts is None else one.attempts,
        input_tokens=None if one.unpriced_calls else one.input_tokens,
        output_tokens=None if one.unpriced_calls else one.output_tokens,
        cost=bill.cost,
        cost_remarks=bill.remarks,
    )


def _paid(one: ModelUsage, prices: Mapping[str, Price]) -> Billed:
    """Return what answers cost; nothing where each of them failed, was re-used or came from a cache."""
    if one.unpriced_calls:
        return Billed(None)
    model = one.judge if one.judge in prices else one.model
    spent = Spent.of(one)._replace(model=model)
    return _billed(spent if one.input_tokens is not None else spent._replace(input_tokens=0, output_tokens=0), prices)


def _billed(spent: Spent, prices: Mapping[str, Price]) -> Billed:
    """Return what tokens cost; that a model has no price is told once, where the costs are summed."""
    return Billed(None) if price_of(spent.model, prices) is None else billed(spent, prices)


def total_cost(costs: Sequence[Cost]) -> float | None:
    """Return what everything cost; None where the cost of a step is not known, or nothing was asked."""
    known = [one.cost for one in costs if one.cost is not None]
    return sum(known) if costs and len(known) == len(costs) else None
