"""The budget of a run, or of several."""

from __future__ import annotations

import asyncio
import sys
import threading
from functools import partial
from typing import Any

import pytest

from judgeharness_integrations import JudgeHarness, JudgeIdentity, Judgment
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.usage import Price, Spent, spent_by
from judgeharness_integrations.judging.answer import EmptyAnswerError, ModelAnswer, Tokens
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.retrying import Budget, BudgetExhausted
from judgeharness_integrations.judging.judge import Answer, Probe


def test_calls_are_counted_up_to_the_limit() -> None:
    budget = Budget(max_calls=2)
    budget.take()
    budget.take()
    assert (budget.spent, budget.exhausted) == (2, False)
    for _ in range(2):
        with pytest.raises(BudgetExhausted):
            budget.take()
    assert (budget.spent, budget.exhausted) == (2, True)


def test_without_a_limit_calls_are_counted_all_the_same() -> None:
    budget = Budget()
    for _ in range(5):
        budget.take()
    assert (budget.spent, budget.exhausted) == (5, False)


def test_threads_share_a_budget_to_the_last_call() -> None:
    budget, together = Budget(max_calls=2_000), threading.Barrier(7)
    taken: list[int] = []

    def work() -> None:
        together.wait()
        for number in range(1_000):
            try:
                budget.take()
            except BudgetExhausted:
                return
            taken.append(number)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()  # before threads take turns so often: coverage may not install two tracers at once
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        together.wait()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert (len(taken), budget.spent, budget.exhausted) == (2_000, 2_000, True)


def test_the_reason_names_the_limit() -> None:
    budget = Budget(max_calls=1)
    budget.take()
    assert budget.reason is None
    with pytest.raises(BudgetExhausted, match="max_calls=1 reached"):
        budget.take()
    assert budget.reason == "max_calls=1 reached"
    assert not budget.is_metered


def test_an_attempt_that_was_not_made_is_given_back() -> None:
    budget = Budget(max_calls=1)
    budget.take()
    budget.give_back()
    budget.take()
    assert (budget.spent, budget.exhausted) == (1, False)


# Tokens and money

PRICES = {"m": Price(input=10, output=20)}


def spent_of(answer: object) -> Spent:
    return answer if isinstance(answer, Spent) else spent_by(answer)


def asked(budget: Budget, *sizes: Spent | Exception, workers: int = 4) -> tuple[int, int]:
    """Make calls that take so much, several at a time; return how many were made and the most in flight."""
    left, made, in_flight, most = list(sizes), 0, 0, 0

    async def call(spent: Spent | Exception) -> Spent:
        nonlocal made, in_flight, most
        made, in_flight, most = made + 1, in_flight + 1, max(most, in_flight + 1)
        await asyncio.sleep(0.001)
        in_flight -= 1
        if isinstance(spent, Exception):
            raise spent
        return spent

    async def worker() -> None:
        while left:
            call_once = partial(call, left.pop(0))
            try:
                await CallPolicy(max_attempts=1).attempt(call_once, budget, spent=spent_of)
            except BudgetExhausted:
                return

    async def every() -> None:
        await asyncio.gather(*(worker() for _ in range(workers)))

    asyncio.run(every())
    return made, most


def test_a_budget_of_tokens_is_used_up_and_not_exceeded() -> None:
    budget = Budget(max_tokens=1_000)
    made, most = asked(budget, *[Spent(80, 20)] * 30)
    assert (made, most, budget.tokens, budget.spent) == (10, 4, 1_000, 10)
    assert budget.exhausted
    assert budget.reason == "max_tokens=1000 reached: 1000 spent, and a call took up to 100"


def test_a_reply_without_an_answer_counts_as_what_it_was_billed_for() -> None:
    empty = EmptyAnswerError(ModelAnswer(model="m", tokens=Tokens(900, 0)))
    budget = Budget(max_tokens=1_000, max_cost=1, prices=PRICES)
    made, _ = asked(budget, Spent(80, 20, "m"), empty, workers=1)
    assert (made, budget.tokens, budget.cost) == (2, 1_000, pytest.approx((980 * 10 + 20 * 20) / 1e6))
    assert asked(budget, Spent(80, 20, "m"), workers=1) == (0, 0)


def test_nothing_is_begun_that_may_not_fit() -> None:
    budget = Budget(max_tokens=1_000)
    sizes = [Spent(300), *[Spent(40)] * 40]
    made, _ = asked(budget, *sizes)
    assert budget.tokens is not None
    assert 700 < budget.tokens <= 1_000  # one as large as the largest would not have fitted
    assert made == 1 + (budget.tokens - 300) / 40


@pytest.mark.slow
def test_until_an_answer_says_how_much_it_took_there_is_one_call_at_a_time() -> None:
    budget = Budget(max_tokens=10**6)
    assert asked(budget, *[RuntimeError()] * 10)[1] == 1
    assert (budget.spent, budget.tokens, budget.exhausted) == (10, None, False)
    assert asked(budget, *[Spent(1)] * 10)[1] == 4


@pytest.mark.slow
def test_answers_from_a_cache_say_nothing_of_what_a_call_takes() -> None:
    budget = Budget(max_tokens=1_000)
    assert asked(budget, *[Spent(0, 0)] * 20) == (20, 1)
    assert not budget.exhausted
    made, _ = asked(budget, *[Spent(300, 0)] * 20)
    assert (made, budget.tokens) == (3, 900)


def test_a_resumed_run_knows_how_much_one_call_may_take() -> None:
    known = (Spent(80, 20, "m"), Spent(None, None, "m"), Spent(40, 10, "unknown"))
    budget = Budget(max_tokens=1_000, spent=10, tokens=950, largest=known)
    assert asked(budget, Spent(80, 20, "m")) == (0, 0)
    assert budget.reason == "max_tokens=1000 reached: 950 spent, and a call took up to 100"
    money = Budget(max_cost=1.0, prices=PRICES, spent=1, cost=0.9995, largest=known)
    assert asked(money, Spent(80, 20, "m")) == (0, 0)
    assert "a call took up to 0.0012" in str(money.reason)
    assert asked(Budget(max_tokens=1_000, spent=10, tokens=100, largest=known), *[Spent(80, 20)] * 9) == (9, 4)


def test_what_was_spent_in_unknown_amount_is_refused() -> None:
    with pytest.raises(
        UsageError, match="max_cost cannot be kept: the cost of the 9 attempts so far is not known; giv"
    ):
        Budget(max_cost=5, prices=PRICES, spent=9)
    with pytest.raises(UsageError, match="max_tokens cannot be kept: the tokens of the 9 attempts"):
        Budget(max_tokens=5, spent=9)
    assert Budget(prices=PRICES, spent=9).cost is None


def test_limits_are_named_as_they_were_given() -> None:
    named = {"max_calls": "budget.calls", "max_tokens": "--budget-tokens"}
    calls, tokens = Budget(max_calls=0, named=named), Budget(max_tokens=0, named=named)
    for budget in (calls, tokens):
        assert asked(budget, Spent(1)) == (0, 0)
    assert (calls.reason, str(tokens.reason)[:27]) == ("budget.calls=0 reached", "--budget-tokens=0 reached: ")


def test_a_budget_in_money_counts_by_the_prices() -> None:
    budget = Budget(max_cost=1.0, prices=PRICES)
    made, _ = asked(budget, *[Spent(5_000, 2_500, "m")] * 30)  # 0.10 each
    assert made in (9, 10)  # ten times 0.1 is a rounding error more than 1
    assert budget.cost == pytest.approx(0.1 * made)
    assert str(budget.reason).startswith("max_cost=1 reached")


def test_without_a_limit_tokens_and_cost_are_counted_all_the_same() -> None:
    budget = Budget(prices=PRICES)
    assert (budget.tokens, budget.cost) == (None, 0.0)
    asked(budget, *[Spent(1_000_000, 500_000, "m")] * 3)
    assert (budget.tokens, budget.cost, budget.exhausted) == (4_500_000, pytest.approx(60.0), False)
    asked(budget, Spent(1, 1, "unknown"))
    assert (budget.tokens, budget.cost) == (4_500_002, None)
    assert Budget().cost is None


def test_a_provider_that_reports_no_tokens_ends_a_budget_in_tokens() -> None:
    for budget in (Budget(max_tokens=1_000), Budget(max_cost=5, prices=PRICES)):
        assert asked(budget, *[Spent(model="m")] * 10)[0] == 1
        assert budget.exhausted
        assert "did not report its tokens" in str(budget.reason)


def test_the_first_reason_stays() -> None:
    budget = Budget(max_cost=5, prices=PRICES)
    for model in ("one", "other"):
        budget.settle(Spent(1, 1, model))
    assert "model 'one'" in str(budget.reason)


def test_a_model_without_a_price_ends_a_budget_in_money_by_name() -> None:
    budget = Budget(max_cost=5, prices=PRICES)
    assert asked(budget, *[Spent(1, 1, "other")] * 10)[0] == 1
    assert "there is no price for model 'other'" in str(budget.reason)
    nameless = Budget(max_cost=5, prices=PRICES)
    asked(nameless, Spent(1, 1))
    assert "a judge that names no model" in str(nameless.reason)


def test_a_missing_price_is_known_beforehand_when_the_model_is() -> None:
    budget = Budget(max_cost=5, prices=PRICES)
    budget.check_price("m-2024-01-01")
    with pytest.raises(UsageError, match="no price for model 'other'"):
        budget.check_price("other")
    Budget(max_tokens=5).check_price("other")


def test_a_resumed_run_goes_on_from_what_was_spent() -> None:
    budget = Budget(max_tokens=1_000, max_cost=100, prices=PRICES, spent=9, tokens=900, cost=3.0)
    made, _ = asked(budget, *[Spent(50, 0, "m")] * 10)
    assert (made, budget.spent, budget.tokens) == (2, 11, 1_000)
    assert budget.cost == pytest.approx(3.001)
    spent = Budget(max_tokens=1_000, spent=10, tokens=1_000)
    assert asked(spent, Spent(50))[0] == 0
    assert spent.exhausted


@pytest.mark.parametrize(
    "limits",
    [
        {"max_tokens": -1},
        {"max_tokens": "5"},
        {"max_cost": float("nan"), "prices": PRICES},
        {"max_cost": 5},
        {"max_calls": -5},
        {"max_calls": 2.5},
        {"max_calls": "3"},
        {"max_calls": True},
    ],
    ids=str,
)
def test_limits_that_mean_nothing_are_refused(limits: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="max_"):
        Budget(**limits)  # type: ignore[arg-type]


def test_prices_are_prices() -> None:
    with pytest.raises(UsageError, match=r"the price of 'x' must be a Price\(input=..., output=...\), not 3"):
        Budget(prices={"x": 3})  # type: ignore[dict-item]


def test_calls_are_limited_beside_tokens() -> None:
    budget = Budget(max_calls=3, max_tokens=10**6)
    assert asked(budget, *[Spent(1)] * 10)[0] == 3
    assert budget.reason == "max_calls=3 reached"


class Metered:
    """A judge whose every answer takes 100 tokens, or does not say."""

    name, criteria = "metered", None
    identity = JudgeIdentity(name="metered", model="m")

    def __init__(self, tokens: int | None = 80) -> None:
        self.tokens, self.calls = tokens, 0

    async def judge(self, probe: Probe) -> Judgment:
        self.calls += 1
        await asyncio.sleep(0)
        return Judgment(answers=(Answer(verdict="PASS"),), input_tokens=self.tokens, output_tokens=self.tokens and 20)


@pytest.mark.parametrize(("tokens", "calls"), [(80, 10), (None, 1)])
def test_a_run_out_of_tokens_leaves_cases_not_graded(tokens: int | None, calls: int) -> None:
    judge, budget = Metered(tokens), Budget(max_tokens=1_000)
    design: dict[str, Any] = {"perturbations": ["none"], "repetitions": 4, "aggregation_rule": "majority"}
    harness = JudgeHarness(**design, budget=budget, prime_cache=False)  # case after case
    results = list(harness.evaluate_many(judge, [f"case {number}" for number in range(5)]))
    assert (judge.calls, budget.exhausted) == (calls, True)
    assert sum(len(result.rows) for result in results) == calls
    graded = [result for result in results if result.state == "complete"]
    assert len(graded) == (2 if tokens else 0)
    assert {result.state for result in results} - {"complete"} == {"budget_exhausted"}
    assert all(result.status == "not_graded" for result in results if result not in graded)


def test_cached_input_lets_a_budget_last_longer() -> None:
    spent = Spent(2000, 100, "m", 1200)
    full, cached = Price(input=2.5, output=10), Price(input=2.5, output=10, cached_input=0.25)
    short, long = (Budget(max_cost=0.0331, prices={"m": price}) for price in (full, cached))
    assert asked(short, *[spent] * 20)[0] == 5  # at 0.0060 a call
    assert asked(long, *[spent] * 20)[0] == 10  # at 0.0033
    assert short.cost_remarks == (
        "m: cached input is billed at the full price, the most it can cost: add cached_input",
    )
    assert long.cost_remarks == ()


def test_a_tier_that_may_cost_more_ends_a_budget_by_name_and_a_cheaper_one_does_not() -> None:
    dear, cheap = Budget(max_cost=9, prices=PRICES), Budget(max_cost=99, prices=PRICES)
    assert asked(dear, *[Spent(1, 1, "m", service_tier="priority")] * 3)[0] == 1
    assert dear.reason == "max_cost cannot be kept: m: tier 'priority' has no price: add it to tiers"
    assert asked(cheap, *[Spent(1, 1, "m", service_tier="flex")] * 3)[0] == 3
    assert "at the standard price, the most it can cost" in cheap.cost_remarks[0]
