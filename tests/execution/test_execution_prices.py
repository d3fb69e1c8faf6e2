"""What a call costs by the user's prices."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from judgeharness_integrations import Judgment
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.execution.prices import Price, Spent, price_of, spent_by

BIG, SMALL, OTHER = Price(input=2.5, output=10), Price(input=0.15, output=0.6), Price(input=1, output=1)
PRICES = {"gpt-4o": BIG, "gpt-4o-mini": SMALL, "claude-3": OTHER}


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o", BIG),
        ("gpt-4o-2024-08-06", BIG),
        ("gpt-4o-mini", SMALL),
        ("gpt-4o-mini-2024-07-18", SMALL),
        ("openai:gpt-4o", BIG),
        ("openai/gpt-4o-mini-2024-07-18", SMALL),
        ("claude-3@20240229", OTHER),
        ("claude-3-5-sonnet", None),
        ("gpt-4o-audio", None),
        ("gpt-4", None),
        (None, None),
    ],
)
def test_a_model_is_known_by_its_name_without_provider_and_snapshot(model: str | None, price: Price | None) -> None:
    assert price_of(model, PRICES) == price
    assert price_of(model, {**PRICES, "*": OTHER}) == (price or OTHER)


def test_a_name_given_in_full_wins() -> None:
    assert price_of("gpt-4o-2024-08-06", {**PRICES, "gpt-4o-2024-08-06": OTHER}) == OTHER
    assert price_of("azure/gpt-4o", {**PRICES, "azure/gpt-4o": OTHER}) == OTHER


def test_prices_are_of_a_million_tokens() -> None:
    assert BIG.of(Spent(1_000_000, 100_000)) == pytest.approx(3.5)
    assert BIG.of(Spent(1_000_000, None)) is None
    assert BIG.of(Spent()) is None


@pytest.mark.parametrize("price", [-1, float("nan"), float("inf"), "free", True])
def test_a_price_is_a_number(price: object) -> None:
    with pytest.raises(UsageError, match="a price is a number"):
        Price(input=price, output=0)  # type: ignore[arg-type]


def test_what_an_answer_took_is_read_from_the_judgment() -> None:
    judgment = Judgment(answers=(), input_tokens=3, output_tokens=None)
    assert spent_by(judgment, default_model="m") == Spent(3, None, "m")
    assert spent_by(judgment).tokens == 3
    named = Judgment(answers=(), model="n", output_tokens=4)
    assert (spent_by(named, default_model="m"), spent_by(named).tokens) == (Spent(None, 4, "n"), 4)
    cached = Judgment(answers=(), input_tokens=3, output_tokens=4, facts={"cached": "namespaced"})
    assert spent_by(cached, default_model="m") == Spent(0, 0, "m")
    assert spent_by("PASS", default_model="m") == Spent(None, None, "m")
    assert spent_by(SimpleNamespace(input_tokens=1)).tokens is None
