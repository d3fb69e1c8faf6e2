from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.usage import Price, Spent
from judgeharness_integrations.benchmark.asker import AskError, Unfinished
from judgeharness_integrations.benchmark.folder import StepUsage
from judgeharness_integrations.cli._command import Terminated
from judgeharness_integrations.cli.benchmark.asking import (
    Outcome,
    ask_all,
    cost_blocks,
    cost_document,
    cost_rows,
    ended,
)
from judgeharness_integrations.judging.chatmodels import FunctionModel
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.reporting.sections import Bullets, Table

MODEL = FunctionModel(function=str, name="going-model")


def gone(
    items: list[int], make: Callable[[int], Awaitable[Any]], *, budget: Budget | None = None, concurrency: int = 4
) -> Outcome[int, Any]:
    return ask_all(items, make, models=[MODEL], budget=budget or Budget(), concurrency=concurrency, title="numbers")


def outcome(*reasons: str, made: int = 0, stopped: Any = None) -> Outcome[int, int]:
    left = [Unfinished(item=number, reason=reason) for number, reason in enumerate(reasons)]
    return Outcome(results=(*range(made), *left), stopped=stopped, calls=0)


def test_what_is_made_comes_in_the_order_of_the_items_even_if_it_is_nothing() -> None:
    async def make(item: int) -> int | None:
        await asyncio.sleep(0.01 / (item + 1))
        return item or None

    result = gone([3, 0, 2, 1], make)
    assert result.results == (3, None, 2, 1)
    assert result.made == [3, None, 2, 1]
    assert (result.unfinished, result.stopped, result.calls) == ([], None, 0)


def test_items_a_model_could_not_be_asked_about_are_unfinished() -> None:
    budget = Budget(max_calls=2, named={"max_calls": "--max-calls"})

    async def make(item: int) -> int:
        budget.take()
        if item == 0:
            raise AskError("grounding of pair-1: ValueError: bad")
        return item

    result = gone([0, 1, 2, 3], make, budget=budget, concurrency=1)
    assert result.made == [1]
    assert [(left.item, left.reason) for left in result.unfinished] == [
        (0, "grounding of pair-1: ValueError: bad"),
        (2, "--max-calls=2 reached"),
        (3, "--max-calls=2 reached"),
    ]
    assert result.calls == 2


def test_other_errors_pass_through() -> None:
    async def make(_: int) -> int:
        raise UsageError("make room.")

    with pytest.raises(UsageError, match="make room"):
        gone([1, 2], make)


def test_nothing_at_a_time_and_a_model_without_a_price_are_refused() -> None:
    async def make(_: int) -> int:
        raise AssertionError

    with pytest.raises(UsageError, match="--max-concurrency must be at least 1, not 0"):
        gone([1], make, concurrency=0)
    paid = Budget(max_cost=1.0, prices={"another": Price(input=1, output=1)})
    with pytest.raises(UsageError, match="there is no price for model 'going-model'"):
        gone([1], make, budget=paid)


def test_the_first_interrupt_begins_nothing_more_and_keeps_what_is_in_flight(
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = Budget()

    async def make(item: int) -> int:
        budget.take()
        if item == 0:
            os.kill(os.getpid(), signal.SIGINT)
            while not budget.ended:  # noqa: ASYNC110 - the signal's handler runs in the main thread
                await asyncio.sleep(0.005)
        return item

    result = gone([0, 1, 2], make, budget=budget, concurrency=1)
    assert result.made == [0]
    assert isinstance(result.stopped, KeyboardInterrupt)
    assert ended(result, what="pairs") == 130
    assert "interrupted: 2 of 3 pairs are unfinished; what was answered is kept" in capsys.readouterr().err


def test_a_termination_drops_what_is_in_flight_and_keeps_what_was_made(capsys: pytest.CaptureFixture[str]) -> None:
    async def make(item: int) -> int:
        if item == 0:
            await asyncio.sleep(0.05)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(30)
        return item

    result = gone([0, 1, 2], make)
    assert isinstance(result.stopped, Terminated)
    assert result.made == [1, 2]
    assert result.unfinished == [Unfinished(item=0, reason="not asked")]
    assert ended(result, what="pairs") == 143
    assert capsys.readouterr().err.startswith("terminated: 1 of 3 pairs are unfinished")


def test_all_is_well_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(outcome(made=2), what="pairs") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (["--max-calls=2 reached"] * 2, "2 of 5 pairs are unfinished: --max-calls=2 reached; what was answered"),
        (
            [
                "claims of pair-00001: Timeout: no answer within 30 s",
                "claims of pair-00002: Timeout: no answer within 9 s",
            ],
            "2 of 5 pairs are unfinished: claims of pair-00001: Timeout: no answer within 30 s; what",
        ),
        (
            ["a of p-1: Busy", "b of p-2: Gone", "c of p-3: Gone."],
            "3 of 6 pairs are unfinished: b of p-2: Gone (2 of them; 1 for other reasons); what",
        ),
        (
            ["a of p: wrong key sk-very-secret\x1b[2J"],
            "1 of 4 pairs are unfinished: a of p: wrong key [redacted] [2J; what",
        ),
    ],
)
def test_unfinished_items_say_the_most_frequent_reason_without_secrets(
    reasons: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(outcome(*reasons, made=3), what="pairs", options={"m": {"api_key": "sk-very-secret"}}) == 3
    told = capsys.readouterr().err
    assert said in told
    assert "sk-very-secret" not in told


USAGE = [
    StepUsage(step="claims", model="m", answers=2, tries=3, input_tokens=1_000_000, output_tokens=500_000),
    StepUsage(step="coherence", model="m", answers=1, tries=1, input_tokens=None, output_tokens=7),
    StepUsage(step="coherence", model="n", answers=1, tries=1, input_tokens=5, output_tokens=7),
]


def test_costs_are_known_where_tokens_and_price_are() -> None:
    rows = cost_rows(USAGE, {"m": Price(input=2, output=4)})
    assert [row.cost for row in rows] == [4.0, None, None]
    document = cost_document(rows)
    assert (document["answers"], document["tries"], document["cost"]) == (4, 5, None)
    assert document["steps"][0] == {
        "step": "claims",
        "model": "m",
        "answers": 2,
        "tries": 3,
        "input_tokens": 1_000_000,
        "output_tokens": 500_000,
        "cost": 4.0,
        "cost_remarks": [],
    }
    assert cost_document(cost_rows(USAGE, {"m": Price(input=2, output=4)}, steps=["claims"]))["cost"] == 4.0
    assert cost_document([]) == {"steps": [], "answers": 0, "tries": 0, "cost": None}


def test_the_table_of_costs_shows_a_dash_for_what_is_not_known() -> None:
    shown, _ = cost_blocks(cost_rows(USAGE, {"m": Price(input=2, output=4)}))
    assert isinstance(shown, Table)
    assert [row[6] for row in shown.rows] == ["4.0000", "-", "-"]
    assert [row[4] for row in shown.rows] == ["1000000", "-", "5"]


def test_below_the_table_of_costs_stands_what_is_to_be_said_of_them() -> None:
    one = replace(USAGE[0], spent=(Spent(1_000_000, 500_000, "m", 400_000, None, None),))
    full, cached = ({"m": Price(input=2, output=4, cached_input=price)} for price in (None, 0.2))
    _, told = cost_blocks(cost_rows([one], full))
    assert "cached input is billed at the full price" in str(told)
    _, told = cost_blocks(cost_rows([one], cached))
    assert told == Bullets(())
    assert cost_rows([one], cached)[0].cost == pytest.approx(0.6 * 2 + 0.4 * 0.2 + 2)
