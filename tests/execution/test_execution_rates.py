"""Requests and tokens a minute: no window of 60 seconds holds more, and little less is used."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.execution.rates import RateGate, Rates


def passed(
    gate: RateGate, until_s: float, *, start_s: float = 0.0, tokens: Sequence[int] = (), latency_s: float = 1.0
) -> list[float]:
    """The moments at which an endless queue gets through; each answer tells its tokens a latency later.

    With tokens, a moment is repeated for every 100 of them.
    """
    now, moments, chance = start_s, [], random.Random(1)  # noqa: S311 - a seeded simulation
    answers: list[tuple[float, float, int]] = []
    while now < until_s:
        while answers and answers[0][0] <= now:
            gate.settle(*answers.pop(0)[1:])
        reserved = gate.reserved
        if wait := gate.take(now):
            now += min(wait, answers[0][0] - now) if answers else wait
            continue
        size = chance.choice(tokens) if tokens else 100
        moments += [now] * (size // 100)
        if tokens:
            answers.append((now + latency_s, reserved, size))
    return moments


def most_in_a_minute(moments: Sequence[float]) -> int:
    most = first = 0
    for place, moment in enumerate(moments):
        while moments[first] <= moment - 60:
            first += 1
        most = max(most, place - first + 1)
    return most


@given(st.integers(1, 1_000), st.integers(0, 1_000))
def test_no_minute_as_the_server_counts_it_holds_more_requests(per_minute: int, seed: int) -> None:
    gate, chance = RateGate(), random.Random(seed)  # noqa: S311 - a seeded simulation
    gate.declare(Rates(requests_per_minute=per_minute))
    sent = passed(gate, 130)
    arrived = sorted(moment + chance.random() for moment in sent)  # up to a second on their way
    assert most_in_a_minute(arrived) <= per_minute
    assert len(sent) >= 0.95 * 130 / 60 * per_minute - 1


def test_a_burst_is_a_second_s_worth() -> None:
    gate = RateGate()
    gate.declare(Rates(requests_per_minute=600))
    assert [gate.take(0.0) for _ in range(10)] == [0.0] * 10
    assert 0 < gate.take(0.0) < 0.2


def test_a_rate_below_one_a_minute_is_kept() -> None:
    gate = RateGate()
    gate.declare(Rates(requests_per_minute=0.5))
    assert passed(gate, 300) == pytest.approx([0, 122, 244])


@pytest.mark.parametrize("tokens", [[1_000], [100, 3_000], [200, 400, 12_000]])
def test_tokens_a_minute_are_kept_though_they_are_known_only_afterwards(tokens: list[int]) -> None:
    gate, limit = RateGate(), 120_000
    gate.declare(Rates(tokens_per_minute=limit))
    most = 100 * most_in_a_minute(passed(gate, 600, tokens=tokens))
    assert 0.85 * limit <= most <= (limit if len(tokens) == 1 else 1.1 * limit)


@pytest.mark.parametrize("latency_s", [0.5, 30.0])
def test_the_first_minute_is_kept_though_nobody_knows_yet_what_a_call_takes(latency_s: float) -> None:
    gate, limit = RateGate(), 100_000
    gate.declare(Rates(tokens_per_minute=limit))
    moments = passed(gate, 600, tokens=[20_000], latency_s=latency_s)
    assert 100 * most_in_a_minute(moments) <= limit
    assert 100 * len(moments) > 0.7 * 10 * limit


def test_answers_that_tell_no_tokens_hold_nobody_up() -> None:
    gate = RateGate()
    gate.declare(Rates(tokens_per_minute=60_000))
    assert gate.take(0.0) == 0
    assert 0 < gate.take(0.1) < 0.1  # the first one is out
    gate.tried()  # it failed
    assert gate.take(1.2) == 0
    gate.untold()
    assert gate.take(2.4) == 0
    assert gate.take(3.6) == 0


def test_a_call_larger_than_a_minute_s_tokens_gets_through_alone() -> None:
    gate = RateGate()
    gate.declare(Rates(tokens_per_minute=100))
    moments = passed(gate, 10_000, tokens=[500])[::5]
    assert len(moments) >= 10
    assert min(b - a for a, b in pairwise(moments[1:])) > 300


def test_what_was_asked_is_not_forgotten_between_runs() -> None:
    gate = RateGate()
    gate.declare(Rates(requests_per_minute=60))
    assert gate.take(0.0) == 0
    gate.declare(Rates())
    assert gate.is_open
    gate.declare(Rates(requests_per_minute=60))
    assert gate.take(0.1) > 0.8


def test_a_pause_holds_everybody_and_is_never_shortened() -> None:
    gate = RateGate()
    gate.pause(0.0, 0.0)
    assert gate.is_open
    gate.pause(30.0, 0.0)
    gate.pause(5.0, 1.0)
    assert not gate.is_open
    assert gate.take(10.0) == 20.0
    assert gate.take(30.0) == 0.0
    assert gate.is_open


def test_a_pause_has_an_end() -> None:
    gate = RateGate()
    gate.pause(86_400.0, 0.0)
    assert gate.take(0.0) == 300.0


def test_the_strictest_rates_hold() -> None:
    every = [Rates(requests_per_minute=10), Rates(requests_per_minute=20, tokens_per_minute=5), Rates()]
    assert Rates.strictest(every) == Rates(requests_per_minute=10, tokens_per_minute=5)
    assert Rates.strictest([]) == Rates()


@pytest.mark.parametrize("rate", [0, -1, float("inf"), float("nan"), "many", True])
def test_rates_are_above_zero(rate: object) -> None:
    with pytest.raises(UsageError, match="tokens_per_minute must be a number above 0"):
        Rates(tokens_per_minute=rate)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="requests_per_minute must be a number above 0"):
        JudgeHarness.standard("labels", requests_per_minute=rate)
