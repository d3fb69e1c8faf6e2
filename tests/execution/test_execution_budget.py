"""The budget of a run, or of several."""

from __future__ import annotations

import sys
import threading

import pytest

from judgeharness_integrations.execution.budget import Budget, BudgetExhausted


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
    budget = Budget(max_calls=2_000)
    taken: list[int] = []

    def work() -> None:
        for number in range(1_000):
            try:
                budget.take()
            except BudgetExhausted:
                return
            taken.append(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert (len(taken), budget.spent, budget.exhausted) == (2_000, 2_000, True)
