"""What a call costs by the user's prices."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from judgeharness_integrations import Judgment
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.usage import Billed, Price, Spent, billed, price_of, spent_by, summed, tier_name

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


CACHED = Spent(2000, 100, "gpt-4o", 1200, None)  # the kind of call: most of the prompt came from the cache
FULL = Price(input=2.5, output=10)


def test_cached_input_has_a_price_of_its_own() -> None:
    full = Price(input=2.5, output=10, cached_input=0.25)
    assert FULL.of(CACHED) == pytest.approx(0.0060)
    assert full.of(CACHED) == pytest.approx(0.0033)
    assert full.billed(CACHED).remarks == ()


def test_without_a_price_for_it_cached_input_costs_the_full_price_and_that_is_said() -> None:
    found = billed(CACHED, {"gpt-4o": FULL})
    assert found.cost == pytest.approx(0.0060)
    [said] = found.remarks
    assert said == "gpt-4o: cached input is billed at the full price, the most it can cost: add cached_input"


def test_cache_writes_cost_their_own_price_and_without_it_nobody_knows() -> None:
    spent = Spent(2000, 100, "claude", 1000, 500)
    price = Price(input=3, output=15, cached_input=0.3, cache_write=3.75)
    assert price.of(spent) == pytest.approx((500 * 3 + 1000 * 0.3 + 500 * 3.75 + 100 * 15) / 1e6)
    unknown = billed(spent, {"claude": Price(input=3, output=15, cached_input=0.3)})
    assert unknown.cost is None
    assert unknown.remarks == ("claude: tokens written to the provider's cache have no price: add cache_write",)


@pytest.mark.parametrize("tier", [None, "", "default", "standard", "auto", "ON_DEMAND", "on-demand", "STANDARD"])
def test_the_standard_tier_has_many_names(tier: str | None) -> None:
    assert tier_name(tier) is None
    price = Price(input=2, output=4, tiers={"flex": {"input": 1, "output": 2}})
    assert price.of(Spent(1000, 1000, service_tier=tier)) == pytest.approx(0.006)


@pytest.mark.parametrize("tier", ["flex", "FLEX", "on_demand_flex", "service_tier_flex"])
def test_a_tier_is_billed_at_its_price(tier: str) -> None:
    price = Price(input=2, output=4, tiers={"flex": Price(input=1, output=2, cached_input=0.1)})
    assert price.of(Spent(1000, 1000, service_tier=tier)) == pytest.approx(0.003)
    assert price.of(Spent(1000, 0, None, 1000, None, tier)) == pytest.approx(0.0001)


def test_a_cheaper_tier_without_a_price_costs_at_most_the_standard_one_and_a_dearer_one_is_not_known() -> None:
    flex = FULL.billed(Spent(1000, 1000, service_tier="flex"))
    assert flex.cost == pytest.approx(0.0125)
    assert flex.remarks == ("tier 'flex' is billed at the standard price, the most it can cost: add it to tiers",)
    assert FULL.billed(Spent(1000, 1000, service_tier="batches")).cost == pytest.approx(0.0125)
    for tier in ("priority", "scale"):
        assert FULL.billed(Spent(1000, 1000, service_tier=tier)) == Billed(
            None, (f"tier {tier!r} has no price: add it to tiers",)
        )


def test_more_cached_tokens_than_were_read_make_no_negative_bill() -> None:
    assert Price(input=2, output=0, cached_input=1).of(Spent(10, 0, None, 1000, None)) == pytest.approx(0.001)


def test_a_price_is_what_its_record_says_and_an_older_log_keeps_pairs() -> None:
    price = Price(input=1, output=2, cached_input=0.1, tiers={"flex": Price(input=0.5, output=1)}, source="a table")
    assert Price.from_dict(price.to_dict()) == price
    assert price.to_dict()["tiers"] == {"flex": {"input": 0.5, "output": 1}}
    assert Price.from_dict([2.5, 10]) == FULL
    assert FULL.to_dict() == {"input": 2.5, "output": 10}
    assert hash(price) == hash(Price.from_dict(price.to_dict()))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"input": 1, "outputs": 2}, "unknown key of price 'outputs': did you mean 'output'?"),
        ({"input": 1}, "price has no output: write input and output, per million tokens."),
        ({}, "price has no input and no output: write"),
        (2.5, "price is 2.5: write input and output"),
        ({"input": 1, "output": 2, "tiers": {"flex": {"input": 1}}}, "tier 'flex' has no output"),
        ({"input": 1, "output": 2, "tiers": "flex"}, "tiers are prices by the name of a tier, not 'flex'"),
        (
            {"input": 1, "output": 2, "tiers": {"flex": {"input": 1, "output": 1, "tiers": {"x": [1, 1]}}}},
            "a tier has one price",
        ),
        ({"input": 1, "output": 2, "cached_input": -1}, "a price is a number of at least 0"),
        ({"input": 1, "output": 2, "cache_write": "free"}, "a price is a number of at least 0"),
    ],
)
def test_a_wrong_price_is_a_sentence(given: object, problem: str) -> None:
    with pytest.raises(UsageError, match="^" + re.escape(problem)):
        Price.from_dict(given)


def test_bills_add_up_and_one_that_is_not_known_leaves_the_reasons_alone() -> None:
    one, other = Billed(1.0, ("a",)), Billed(2.0, ("a", "b"))
    assert summed([one, other]) == Billed(3.0, ("a", "b"))
    assert summed([one, Billed(None, ("why",))]) == Billed(None, ("why",))
    assert summed([]) == Billed(0.0)


def test_the_source_of_a_price_stands_beside_the_cost() -> None:
    price = Price(input=1, output=1, source="LiteLLM 1.96, file of 2026-11-22")
    assert billed(Spent(1, 1, "m"), {"m": price}).remarks == ("m: prices of LiteLLM 1.96, file of 2026-11-22",)


def test_a_judge_that_names_no_model_is_told_so() -> None:
    [said] = billed(Spent(1, 1), {"m": FULL}).remarks
    assert said == "there is no price for a judge that names no model: name it (`model:`), or add a price for '*'"
    assert billed(CACHED._replace(model=None), {"*": FULL}).remarks[0].startswith("cached input")


def test_cached_tokens_and_the_tier_are_read_from_the_judgment() -> None:
    judgment = Judgment(
        answers=(), input_tokens=9, output_tokens=1, cached_input_tokens=5, cache_write_tokens=2, service_tier="flex"
    )
    assert spent_by(judgment, default_model="m") == Spent(9, 1, "m", 5, 2, "flex")
