from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.analysis.ranking.comparing import changes_of, own_sets, wrote
from judgeharness_integrations.analysis.ranking.contrasts import ConditionalFit


def rated(elo: dict[str, float], variance: float = 100.0) -> ConditionalFit:
    """Return a fit of judges with errors of their own, about their mean."""
    centre = np.eye(len(elo)) - 1 / len(elo)
    values = np.array(list(elo.values()))
    return ConditionalFit(
        judges=tuple(elo), theta=values, elo=values, covariance=variance * centre, log_likelihood=0.0, steps=1
    )


HERE = {"a": 1600.0, "b": 1500.0, "c": 1500.0, "d": 1400.0}
THERE = {"d": 1400.0, "a": 1500.0, "b": 1550.0, "c": 1550.0}


def test_a_change_has_the_error_of_both_sets() -> None:
    found = changes_of(rated(HERE), rated(THERE))
    assert [one.judge for one in found] == list(HERE)
    assert [one.change for one in found] == pytest.approx([-100, 50, 50, 0])
    assert [one.se for one in found] == pytest.approx([math.sqrt(150)] * 4)  # 100 (1 - 1 / 4), twice
    low, high = found[0].ci95
    assert (low, high) == pytest.approx((-100 - 1.959964 * math.sqrt(150), -100 + 1.959964 * math.sqrt(150)))
    assert [one.significant for one in found] == [True, True, True, False]
    assert found[3].p == pytest.approx(1.0)
    assert found[0].to_dict()["ci95"] == [low, high]


def test_judges_of_one_set_alone_move_no_scale() -> None:
    wider = {**THERE, "e": 2500.0}
    found = changes_of(rated(HERE), rated(wider))
    assert [one.change for one in found] == pytest.approx([-100, 50, 50, 0])


def test_without_spread_nothing_is_tested() -> None:
    [one, _] = changes_of(rated({"a": 1500.0, "b": 1500.0}, 0.0), rated({"a": 1510.0, "b": 1490.0}, 0.0))
    assert (one.change, one.se, one.p, one.p_adjusted, one.significant) == (10.0, 0.0, None, None, False)


@given(st.lists(st.floats(-500, 500), min_size=2, max_size=6), st.floats(-300, 300))
def test_changes_sum_to_nothing_and_do_not_depend_on_the_scale(values: list[float], shift: float) -> None:
    here = {f"j{place}": 1500.0 + value for place, value in enumerate(values)}
    there = {f"j{place}": 1500.0 - value + shift for place, value in enumerate(values)}
    found = [one.change for one in changes_of(rated(here), rated(there))]
    assert sum(found) == pytest.approx(0, abs=1e-6)
    back = [one.change for one in changes_of(rated(there), rated(here))]
    assert found == pytest.approx([-change for change in back], abs=1e-6)


def test_a_judge_that_wrote_a_set_is_held_against_those_that_wrote_neither() -> None:
    [first, second] = own_sets(
        rated(HERE), rated(THERE), labels=("mine", "theirs"), generators=({"a"}, {"d"}), judges=tuple(HERE)
    )
    assert (first.judge, first.own, first.others, first.reason) == ("a", "mine", 2, None)
    assert first.gain == pytest.approx(150)  # it loses 100 away from its own set, where b and c gain 50
    assert first.se == pytest.approx(math.sqrt(2 * 100 * 1.5))
    assert first.ci95 == pytest.approx((150 - 1.959964 * math.sqrt(300), 150 + 1.959964 * math.sqrt(300)))
    assert (second.judge, second.own) == ("d", "theirs")
    assert second.gain == pytest.approx(-50)
    assert second.to_dict()["ci95"] == list(second.ci95 or ())


@pytest.mark.parametrize(
    ("generators", "reason"),
    [
        (({"a"}, {"a"}), "wrote pairs of both"),
        (({"a", "b"}, {"c", "d"}), "every judge in both wrote one"),
        (({"z"}, set()), "no Elo in one"),
    ],
)
def test_what_cannot_be_said_has_a_reason(generators: tuple[set[str], set[str]], reason: str) -> None:
    found = own_sets(rated(HERE), rated(THERE), labels=("m", "t"), generators=generators, judges=(*HERE, "z"))
    assert found
    assert all(one.gain is None and reason in (one.reason or "") for one in found)
    assert found[0].to_dict()["ci95"] is None


def test_without_spread_a_gain_has_no_interval() -> None:
    two = ({"a": 1500.0, "b": 1500.0}, {"a": 1510.0, "b": 1490.0})
    here, there = (rated(elo, 0.0) for elo in two)
    [one] = own_sets(here, there, labels=("m", "t"), generators=((), {"a"}), judges=("a", "b"))
    assert (one.gain, one.se, one.ci95) == (20.0, 0.0, None)


def test_a_model_stands_for_its_variants() -> None:
    assert wrote("gpt@short", {"gpt"})
    assert not wrote("gpt-4", {"gpt"})
