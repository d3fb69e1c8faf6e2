"""Many items at a time: what is made of them comes in their order, and one that fails stops no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.benchmark_scripted import Scripted, conditions_of, material_of

from judgeharness_integrations.benchmark.asker import Asker, AskError, Unfinished, limited, worked
from judgeharness_integrations.benchmark.folder import Journal
from judgeharness_integrations.benchmark.generation import generated
from judgeharness_integrations.benchmark.pair import Conditions, Pair
from judgeharness_integrations.judging.execution.limiter import limiter_for
from judgeharness_integrations.judging.execution.rates import Rates
from judgeharness_integrations.judging.execution.retrying import Budget, BudgetExhausted


def all_of(items: Any, make: Callable[[Any], Awaitable[Any]], *, max_concurrency: int) -> list[Any]:
    async def collect() -> list[Any]:
        return [made async for made in worked(items, make, max_concurrency=max_concurrency)]

    return asyncio.run(collect())


@given(naps=st.lists(st.integers(0, 3), max_size=8), most=st.integers(1, 9))
def test_what_is_made_comes_in_the_order_of_the_items_and_no_more_at_a_time(naps: list[int], most: int) -> None:
    under_way, highest = 0, 0

    async def make(place: int) -> int:
        nonlocal under_way, highest
        under_way += 1
        highest = max(highest, under_way)
        for _ in range(naps[place]):
            await asyncio.sleep(0)
        under_way -= 1
        return place

    assert all_of(range(len(naps)), make, max_concurrency=most) == list(range(len(naps)))
    assert highest <= most


@pytest.mark.parametrize("error", [AskError("nobody home"), BudgetExhausted("max_calls=3 reached")])
def test_an_item_that_nobody_could_be_asked_about_is_unfinished(error: Exception) -> None:
    async def make(item: str) -> str:
        if item == "b":
            raise error
        return item.upper()

    assert all_of("abc", make, max_concurrency=2) == ["A", Unfinished(item="b", reason=str(error)), "C"]


def test_any_other_error_is_raised_and_ends_what_is_under_way() -> None:
    cancelled = []

    async def make(item: str) -> str:
        if item == "a":
            raise RuntimeError("a defect")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(item)
            raise
        return item

    with pytest.raises(RuntimeError, match="a defect"):
        all_of("abc", make, max_concurrency=2)
    assert "b" in cancelled


def test_closing_ends_what_is_under_way() -> None:
    begun, ended = [], []

    async def make(item: int) -> int:
        begun.append(item)
        try:
            await asyncio.sleep(0 if item == 0 else 60)
        finally:
            ended.append(item)
        return item

    async def first() -> int:
        async with aclosing(worked(range(5), make, max_concurrency=3)) as made:
            said = await anext(made)
            assert isinstance(said, int)
            return said

    assert asyncio.run(first()) == 0
    assert begun == ended


def test_limits_hold_while_they_are_declared() -> None:
    model = Scripted("limited-model")
    with limited([model, model], max_concurrency=5, rates=Rates(requests_per_minute=600)):
        assert limiter_for("limited-model").capacity == 5
    assert limiter_for("limited-model").capacity == 1


def made_at(
    path: Path, *, concurrency: int, generator: Scripted, verifier: Scripted, max_calls: int | None = None
) -> list[Pair | Unfinished[Conditions]]:
    with Journal(path) as journal, limited([generator, verifier], max_concurrency=concurrency):
        asker = Asker(journal=journal, budget=Budget(max_calls=max_calls))

        async def make(conditions: Conditions) -> Pair:
            return await generated(
                conditions,
                material_of(conditions),
                generator=generator,
                verifier=verifier,
                min_grounded=1.0,
                asker=asker,
            )

        return all_of(map(conditions_of, range(12)), make, max_concurrency=concurrency)


@pytest.mark.slow
def test_the_same_answers_give_the_same_pairs_at_any_concurrency(tmp_path: Path) -> None:
    lines = {}
    for concurrency in (1, 16):
        models = Scripted("writer", delays=True), Scripted("checker", delays=True)
        path = tmp_path / f"{concurrency}.sqlite"
        pairs = made_at(path, concurrency=concurrency, generator=models[0], verifier=models[1])
        lines[concurrency] = [pair.to_line() for pair in pairs if isinstance(pair, Pair)]
        assert max(model.in_flight_max for model in models) <= concurrency
        assert concurrency == 1 or models[0].in_flight_max > 1
    assert len(lines[1]) == 12
    assert lines[1] == lines[16]


@pytest.mark.slow
def test_what_a_budget_cut_off_is_gone_on_with_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    generator, verifier = Scripted("writer", delays=True), Scripted("checker", delays=True)
    path = tmp_path / "answers.sqlite"
    goes = 0
    while True:
        pairs = made_at(path, concurrency=4, generator=generator, verifier=verifier, max_calls=17)
        goes += 1
        if all(isinstance(pair, Pair) for pair in pairs):
            break
    assert goes == 7  # of 12 pairs of 9 calls
    assert len(generator.prompts) + len(verifier.prompts) == 12 * 9
    whole = Scripted("writer"), Scripted("checker")
    uncut = made_at(tmp_path / "uncut.sqlite", concurrency=4, generator=whole[0], verifier=whole[1])
    assert pairs == uncut
