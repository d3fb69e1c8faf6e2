"""A canary names a model that moved behind its name, and keeps quiet about one that did not."""

from __future__ import annotations

import numpy as np
import pytest
from support.planted_probabilities import sigmoid

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.probability.canary import Day, watch


def rounds(days: int, *, noise: float = 0.0, moves: int | None = None, states: int = 20) -> list[Day]:
    random = np.random.default_rng(1)
    base = random.normal(0, 1.5, states)
    found: list[Day] = []
    for day in range(days):
        shift = 0.6 if moves is not None and day >= moves else 0.0
        p = sigmoid(base + shift + random.normal(0, noise, states)).round(2)
        found.append({f"state {place}": {"yes": value, "no": 1 - value} for place, value in enumerate(p.tolist())})
    return found


def test_an_unchanged_model_raises_no_alarm() -> None:
    found = watch(rounds(40, noise=0.05))
    assert found.alarm is None
    assert (found.days, found.states, found.needed, found.alpha) == (40, 20, 20, 0.05)
    assert len(found.evidence) == 39
    assert found.varied


def test_a_model_that_repeats_itself_never_varied() -> None:
    found = watch(rounds(10))
    assert not found.varied
    assert found.moved == ()
    assert found.evidence == pytest.approx([1.0] * 9)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_model_that_moved_is_named_with_the_round_and_the_states(noise: float) -> None:
    found = watch(rounds(9, noise=noise, moves=8), alpha=0.01)
    assert found.alarm == 8
    assert found.needed == 100
    assert len(found.moved) >= 18


def test_after_one_answer_nothing_tells_a_move_from_noise() -> None:
    assert watch(rounds(2, noise=0.05)).moved == ()


def test_a_state_that_moved_is_named_before_there_is_evidence() -> None:
    days = rounds(4)
    days[-1] = {**days[-1], "state 3": {"yes": 0.5, "no": 0.5}}
    found = watch(days)
    assert found.moved == ("state 3",)
    assert found.alarm is None


def test_states_may_have_other_options_and_be_left_out() -> None:
    days: list[Day] = [
        {"a": {"x": 0.2, "y": 0.8}, "b": {"1": 0.2, "2": 0.3, "3": 0.5}},
        {"a": {"x": 0.2, "y": 0.8}, "b": None},
        {"a": {"x": 0.2, "y": 0.8}, "c": {"x": 1.0}},
    ]
    found = watch(days)
    assert found.states == 3
    assert found.moved == ()


def test_a_canary_takes_two_rounds_and_a_level() -> None:
    with pytest.raises(UsageError, match="takes two rounds of answers or more"):
        watch(rounds(1))
    with pytest.raises(UsageError, match="takes two rounds of answers or more"):
        watch([{}, {"a": None}])
    with pytest.raises(UsageError, match="alpha must lie between 0 and 1, not 1"):
        watch(rounds(2), alpha=1)
