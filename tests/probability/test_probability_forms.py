"""Without labels: the retest band, what lies beyond it, and the bound that two forms of one question set."""

from __future__ import annotations

import numpy as np
import pytest
from support.planted_probabilities import sigmoid

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.probability.forecasts import (
    AnswerChange,
    RetestBand,
    answer_change,
    retest_band,
)


def answers(p: np.ndarray) -> list[dict[str, float]]:
    return [{"yes": float(value), "no": 1 - float(value)} for value in p]


def repeated(*rounds: np.ndarray) -> RetestBand:
    return retest_band([list(case) for case in zip(*map(answers, rounds), strict=True)])


def study(seed: int, *, shift: float, retested: int, noise: float = 0.06) -> AnswerChange:
    random = np.random.default_rng(seed)
    z = random.normal(0, 1.5, 50)

    def ask(odds: np.ndarray) -> np.ndarray:
        asked: np.ndarray = sigmoid(odds + random.normal(0, noise, len(odds))).round(2)
        return asked

    first, second = ask(z), ask(z + shift * random.choice([-1, 1], 50))
    return answer_change(answers(first), answers(second), band=repeated(first[:retested], ask(z[:retested])))


def test_the_band_by_hand() -> None:
    band = retest_band([[{"a": 0.5, "b": 0.5}, {"a": 0.6, "b": 0.4}], [{"a": 1, "b": 0}] * 3, [{"a": 1, "b": 0}]])
    assert band.n == 2
    assert band.change.value == pytest.approx(0.05)
    assert band.identical.value == 0.5
    assert band.largest == pytest.approx(0.1)


def test_repeats_to_the_digit_are_no_proof_that_none_ever_differs() -> None:
    p = np.linspace(0, 1, 50)
    band = repeated(p, p)
    assert (band.change.value, band.change.low) == (0, 0)
    assert band.change.high == pytest.approx(1 - 0.025 ** (1 / 50))
    assert band.identical.value == band.identical.high == 1


def test_repeats_of_one_cluster_have_no_interval_and_neither_has_what_lies_beyond() -> None:
    band = retest_band([[{"a": 0.5, "b": 0.5}, {"a": 0.6, "b": 0.4}]], clusters=["x"])
    assert band.change.high is None
    change = answer_change(answers(np.array([0.1, 0.2])), answers(np.array([0.3, 0.5])), band=band)
    assert change.excess.value == pytest.approx(0.15)
    assert change.excess.low is None
    assert change.bound.low is None
    assert change.bound.value == pytest.approx(0.075)


def test_what_was_never_asked_twice_has_no_band() -> None:
    with pytest.raises(UsageError, match="no case was asked the very same twice"):
        retest_band([[{"a": 1, "b": 0}]])


def test_two_forms_are_of_the_same_cases() -> None:
    band = repeated(np.array([0.1]), np.array([0.2]))
    for first, second in (([], []), (answers(np.array([0.1])), [])):
        with pytest.raises(UsageError, match="two forms need answers to the same cases"):
            answer_change(first, second, band=band)


def test_forms_that_contradict_each_other_bound_the_error_of_the_worse_one() -> None:
    random = np.random.default_rng(1)
    z = random.normal(0, 1, 50)
    band = repeated(sigmoid(z), sigmoid(z))
    for one, other in ((0.8, 0.0), (0.4, -0.4), (1.0, 0.2)):
        first, second = sigmoid(z + one), sigmoid(z + other)
        change = answer_change(answers(first), answers(second), band=band)
        worst = max(np.abs(first - sigmoid(z)).mean(), np.abs(second - sigmoid(z)).mean())
        assert change.bound.value <= worst + 1e-12
        assert change.bound.low is not None
        assert 0 < change.bound.low < change.bound.value
        assert change.share_changed.value == 1


def test_a_perturbation_that_changes_nothing_lies_within_the_band() -> None:
    p = np.linspace(0.1, 0.9, 30)
    change = answer_change(answers(p), answers(p), band=repeated(p, p + 0.02))
    assert change.change.value == 0
    assert change.excess.value == pytest.approx(-0.02)
    assert change.bound.value == change.bound.low == 0


def test_cases_of_a_cluster_count_as_one() -> None:
    random = np.random.default_rng(2)
    p, q = random.random(40), random.random(40)
    alone = answer_change(answers(p), answers(q), band=repeated(p, p))
    keys = list(range(40)) * 5
    many = answer_change(answers(np.tile(p, 5)), answers(np.tile(q, 5)), band=repeated(p, p), clusters=keys)
    assert alone.change.low is not None
    assert many.change.low == pytest.approx(alone.change.low)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("retested", [50, 10, 3])
def test_forms_that_differ_by_noise_alone_bound_nothing(retested: int) -> None:
    lows = [study(seed, shift=0, retested=retested).excess.low for seed in range(300)]
    assert np.mean([low is not None and low > 0 for low in lows]) <= 0.035


@pytest.mark.parametrize("retested", [50, 10])
def test_the_bound_stays_below_the_truth_and_is_found(retested: int) -> None:
    z = np.random.default_rng(0).normal(0, 1.5, 100_000)
    half = float(np.abs(sigmoid(z) - sigmoid(z + 0.6)).mean()) / 2
    lows = [study(seed, shift=0.6, retested=retested).bound.low for seed in range(200)]
    assert np.mean([low is not None and low > half for low in lows]) <= 0.025
    assert np.mean([low is not None and low > 0.02 for low in lows]) > 0.9
