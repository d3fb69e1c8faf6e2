"""Capacity that adapts: simulated servers that have room for so many attempts, or refuse some whatever is in flight."""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, field
from itertools import count

import pytest

from judgeharness_integrations.judging.execution.rates import Aimd


@dataclass
class Simulation:
    """`workers` ask as fast as they are let; the server has room for `room` and refuses a share of all at random."""

    room: int
    noise: float = 0.0
    workers: int = 64
    latency_s: float = 0.1
    lag_s: float = 0.0  # the server is done that much before the client knows
    grows_at_s: float = math.inf  # from then on it has room for everything
    seed: int = 0
    now: float = 0.0
    at_server: int = 0
    over_budget: list[float] = field(default_factory=list)
    capacities: list[tuple[float, int]] = field(default_factory=list)

    def run(self, until_s: float) -> Aimd:
        aimd, chance = Aimd(self.workers), random.Random(self.seed)  # noqa: S311 - a seeded simulation
        order, events = count(), []
        waiting = [0] * self.workers  # refusals in a row of each worker that wants to ask

        def ask() -> None:
            while waiting and aimd.in_flight < aimd.capacity:
                refusals = waiting.pop(0)
                admission = aimd.begin()
                over = self.at_server >= self.room and self.now < self.grows_at_s
                if over:
                    self.over_budget.append(self.now)
                if over or chance.random() < self.noise:
                    heapq.heappush(events, (self.now + 0.002, next(order), "refused", admission, refusals))
                    continue
                self.at_server += 1
                took = chance.uniform(0.5, 1.5) * self.latency_s
                heapq.heappush(events, (self.now + took, next(order), "done", admission, 0))
                heapq.heappush(events, (self.now + took + self.lag_s, next(order), "answered", admission, 0))

        ask()
        while self.now < until_s and events:
            self.now, _, what, admission, refusals = heapq.heappop(events)
            if what == "done":
                self.at_server -= 1
            elif what == "answered":
                aimd.answered(admission, self.now)
                waiting.append(0)
            elif what == "refused":
                aimd.refused(admission, self.now)
                back = self.now + chance.uniform(0, min(30.0, 0.5 * 2**refusals))
                heapq.heappush(events, (back, next(order), "back", admission, min(refusals + 1, 4)))
            else:
                waiting.append(refusals)
            self.capacities.append((self.now, aimd.capacity))
            ask()
        return aimd

    def over_budget_between(self, start_s: float, end_s: float) -> int:
        return sum(start_s <= moment < end_s for moment in self.over_budget)

    def mean_capacity(self, start_s: float) -> float:
        late = [capacity for moment, capacity in self.capacities if moment >= start_s]
        return sum(late) / len(late)


@pytest.mark.sampled(5)
@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [0.0, 0.04])
@pytest.mark.parametrize(("room", "workers"), [(16, 64), (60, 64), (16, 17), (5, 200), (1, 8)])
def test_a_servers_room_is_not_exceeded_once_it_is_known(room: int, workers: int, noise: float, seed: int) -> None:
    server = Simulation(room, noise, workers, lag_s=0.004, seed=seed)
    server.run(40)
    assert server.over_budget_between(0, 20) > 0
    assert server.over_budget_between(20, 40) == 0
    assert server.mean_capacity(20) >= 0.7 * room


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [0.02, 0.04])
def test_a_server_that_refuses_a_few_of_a_hundred_is_not_slowed_down(noise: float, seed: int) -> None:
    server = Simulation(10**9, noise, 32, seed=seed)
    server.run(60)
    assert server.mean_capacity(0) >= 30


@pytest.mark.slow
def test_the_ceiling_is_tried_again_after_a_minute_and_later_each_time_it_proves_true() -> None:
    server = Simulation(10, workers=12)
    server.run(600)
    tries = [moment for moment in server.over_budget if moment > 30]
    begun = [moment for before, moment in zip([0.0, *tries], tries, strict=False) if moment - before > 20]
    assert [round(moment / 10) for moment in begun] == [12, 36]
    assert len(tries) <= 4 * len(begun)


@pytest.mark.slow
@pytest.mark.untraced
def test_a_server_that_gets_more_room_is_used_after_a_few_minutes() -> None:
    server = Simulation(3, workers=32, grows_at_s=30)
    aimd = server.run(30 + 6 * 60)
    assert max(capacity for moment, capacity in server.capacities if 20 < moment < 60) <= 3
    assert aimd.capacity == 32


def test_a_refusal_counts_once_a_round_trip() -> None:
    aimd = Aimd(8)
    begun = [aimd.begin() for _ in range(8)]
    for admission in begun:
        aimd.refused(admission, 0.0)
    assert (aimd.capacity, aimd.in_flight) == (4, 0)


def test_attempts_that_fail_otherwise_change_nothing() -> None:
    aimd = Aimd(8)
    for _ in range(100):
        aimd.failed(aimd.begin())
    assert (aimd.capacity, aimd.in_flight, aimd.is_adapting) == (8, 0, False)


def test_a_capacity_of_one_stays_one() -> None:
    aimd = Aimd(1)
    for _ in range(50):
        aimd.refused(aimd.begin(), 0.0)
    assert aimd.capacity == 1
    aimd.answered(aimd.begin(), 0.0)
    assert aimd.capacity == 1
