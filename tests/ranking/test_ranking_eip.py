"""EIP: fixed points, what they mean, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn_credits import credits_from, rasch_credits, rateable_credits

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.rating import EipOptions, eip

COMPLETE = rateable_credits(cells=(0.0, 1.0, 0.5))


@given(COMPLETE, st.sampled_from([0.0, 0.5, 0.85, 0.99]))
def test_masses_follow_from_each_other(matrix: Credits, alpha: float) -> None:
    found = eip(matrix, EipOptions(alpha=alpha))
    pairs, judges = matrix.values.shape
    to_pairs, to_judges = np.zeros(pairs), np.zeros(judges)
    for pair in range(pairs):
        for judge in range(judges):
            right = matrix.values[pair, judge]
            failed = max(float((1 - matrix.values[:, judge]).sum()), 1)
            known = max(float(matrix.values[pair].sum()), 1)
            to_pairs[pair] += found.judges_mass[judge] * (1 - right) / failed
            to_judges[judge] += found.pairs_mass[pair] * right / known
    for mass, flow in ((found.pairs_mass, to_pairs), (found.judges_mass, to_judges)):
        damped = alpha * flow + (1 - alpha) / len(flow)
        assert mass == pytest.approx(damped / damped.sum(), abs=1e-8)
        assert mass.sum() == pytest.approx(1)
        assert (mass > 0).all() or alpha == 1


@pytest.mark.slow
@given(COMPLETE)
def test_scores_fill_the_declared_range(matrix: Credits) -> None:
    found = eip(matrix, EipOptions(low=1.0, high=10.0, all_equal=-1.0))
    for scores, mass in ((found.judges, found.judges_mass), (found.pairs, found.pairs_mass)):
        if np.ptp(mass) <= found.options.tolerance:
            assert set(scores) == {-1.0}
        else:
            assert (scores.min(), scores.max()) == pytest.approx((1, 10))
            assert np.argsort(scores, kind="stable").tolist() == np.argsort(mass, kind="stable").tolist()


def test_permuting_judges_and_pairs_permutes_the_scores() -> None:
    matrix = rasch_credits(np.random.default_rng(1), [-0.5, 0.0, 0.2, 0.6], 40)
    matrix = matrix.of_pairs(~matrix.unanimous)
    judges, pairs = [3, 1, 0, 2], np.random.default_rng(2).permutation(len(matrix.pairs))
    found, other = eip(matrix), eip(credits_from(matrix.values[pairs][:, judges]))
    assert other.judges == pytest.approx(found.judges[judges], abs=1e-8)
    assert other.pairs == pytest.approx(found.pairs[pairs], abs=1e-8)


def test_a_pair_that_defeats_strong_judges_is_the_hardest_and_who_is_right_there_gains() -> None:
    found = eip(credits_from([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]]))
    assert found.pairs.argmax() == 3
    assert found.judges[2] > found.judges[1]


def test_judges_that_answer_alike_as_often_score_the_same_and_all_equal_is_declared() -> None:
    found = eip(credits_from([[1, 0], [0, 1]]))
    assert (found.judges.tolist(), found.pairs.tolist()) == ([0.5, 0.5], [0.5, 0.5])
    assert eip(credits_from([[1, 0], [0, 1]]), EipOptions(all_equal=7.0)).judges.tolist() == [7.0, 7.0]


def test_without_damping_towards_the_data_everybody_is_the_same() -> None:
    found = eip(credits_from([[1, 0], [1, 0], [0, 1]]), EipOptions(alpha=0.0))
    assert found.judges_mass.tolist() == [0.5, 0.5]
    assert found.pairs_mass == pytest.approx([1 / 3] * 3)
    assert found.rounds == 1


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[1, None], [0, 1]], "EIP needs every judge on every pair: ask the missing ones, or rank by bradley-terry"),
        ([[1, 1], [0, 1]], "EIP needs pairs that are not unanimous: leave the others out"),
        (np.empty((0, 2)), "EIP needs pairs that are not unanimous"),
    ],
)
def test_what_eip_cannot_use_is_refused(values: Any, sentence: str) -> None:
    matrix = credits_from(values) if len(values) else Credits(judges=("j0", "j1"), pairs=(), values=values)
    with pytest.raises(UsageError, match=sentence):
        eip(matrix)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"alpha": 1.0}, "EIP's alpha must be at least 0 and below 1, not 1.0"),
        ({"alpha": -0.1}, "EIP's alpha must be at least 0 and below 1"),
        ({"tolerance": 0.0}, "EIP's tolerance must be above 0"),
        ({"low": 1.0}, "EIP's range must rise, not go from 1.0 to 1.0"),
        ({"low": float("-inf")}, "EIP's range and the score of equals must be finite numbers"),
        ({"high": float("nan")}, "EIP's range and the score of equals must be finite numbers"),
        ({"all_equal": float("nan")}, "EIP's range and the score of equals must be finite numbers"),
    ],
)
def test_options_under_which_nothing_converges_are_refused(options: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        EipOptions(**options)


def test_a_tolerance_below_rounding_is_reported_instead_of_running_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judgeharness_integrations.analysis.ranking.rating._MOST_ROUNDS", 2)
    matrix = rasch_credits(np.random.default_rng(1), [-0.5, 0.0, 0.6], 40)
    with pytest.raises(UsageError, match=r"EIP did not settle to 1e-10 in 2 rounds: raise its tolerance"):
        eip(matrix.of_pairs(~matrix.unanimous))
