"""What a rule decides: the share decided positive is what a simulation of cases and samples finds."""

from __future__ import annotations

import numpy as np
import pytest

from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.planning.study import Judging, LabelModel, chances_of_cases

CASES = 60_000


def drawn(rate: float, between: float, within: float, perturbations: int, repetitions: int) -> np.ndarray:
    """Positive samples of simulated cases, of shape (cases, perturbations)."""
    rng = np.random.default_rng(4)
    size = 1 / between - 1
    chances = np.repeat(rng.beta(rate * size, (1 - rate) * size, CASES)[:, None], perturbations, axis=1)
    if within:
        inner = 1 / within - 1
        chances = rng.beta(np.maximum(chances * inner, 1e-9), np.maximum((1 - chances) * inner, 1e-9))
    return rng.binomial(repetitions, chances)


def model(name: str, rate: float, between: float, within: float, **judging: object) -> LabelModel:
    asked = Judging(rule=rule(name), **judging)  # type: ignore[arg-type]
    return LabelModel(judging=asked, rates=np.array([rate]), between=np.array([between]), within=within)


@pytest.mark.parametrize(("rate", "between", "within"), [(0.7, 0.5, 0.3), (0.1, 0.3, 0.0), (0.95, 0.8, 0.5)])
@pytest.mark.parametrize(("perturbations", "repetitions"), [(1, 1), (1, 3), (2, 2), (2, 5)])
def test_majorities(rate: float, between: float, within: float, perturbations: int, repetitions: int) -> None:
    counts = drawn(rate, between, within, perturbations, repetitions).sum(axis=1)
    found = model("majority", rate, between, within).decided(perturbations, repetitions)
    expected = float((2 * counts > perturbations * repetitions).mean())  # a tie abstains, which is not positive
    assert found.rates[0] == pytest.approx(expected, abs=0.008)
    if perturbations * repetitions == 1:
        assert found.rates[0] == pytest.approx(rate)
        assert found.spreads[0] == pytest.approx(between * rate * (1 - rate), abs=0.004)


def test_repetition_hardly_lowers_the_variance_of_decisions() -> None:
    one, many = (model("majority", 0.3, 0.5, 0.2).decided(1, r) for r in (1, 9))
    variance = [float(d.rates[0] * (1 - d.rates[0])) for d in (one, many)]
    assert variance[1] > 0.85 * variance[0]
    assert many.spreads[0] > 1.15 * one.spreads[0]


def test_a_supermajority_abstains_more() -> None:
    counts = drawn(0.7, 0.4, 0.0, 1, 6).sum(axis=1)
    found = model("supermajority(2/3)", 0.7, 0.4, 0.0).decided(1, 6)
    assert found.rates[0] == pytest.approx(float((counts >= 4).mean()), abs=0.008)


def test_both_orders_must_agree() -> None:
    counts = drawn(0.6, 0.4, 0.5, 2, 3)
    found = model("swap_consensus", 0.6, 0.4, 0.5, labels=("A", "B")).decided(2, 3)
    assert found.rates[0] == pytest.approx(float((counts >= 2).all(axis=1).mean()), abs=0.008)


def test_failed_samples_count_as_asked_and_may_leave_no_quorum() -> None:
    rng = np.random.default_rng(2)
    positive = drawn(0.8, 0.5, 0.0, 1, 3)[:, 0]
    left, others = rng.binomial(positive, 0.7), rng.binomial(3 - positive, 0.7)
    found = model("majority", 0.8, 0.5, 0.0, failed=0.3).decided(1, 3)
    expected = float(((left > others) & (left + others >= 2)).mean())
    assert found.rates[0] == pytest.approx(expected, abs=0.03)
    assert model("majority", 0.8, 0.5, 0.0, failed=0.3, min_valid=3).decided(1, 3).rates[0] < found.rates[0] - 0.1


def test_other_labels_divide_what_is_not_positive() -> None:
    three = model("majority", 0.4, 0.2, 0.0, labels=("A", "B", "TIE"), others=(0.5, 0.5)).decided(1, 7)
    two = model("majority", 0.4, 0.2, 0.0).decided(1, 7)
    assert three.rates[0] > two.rates[0] + 0.02


def test_cases_that_always_say_the_same_are_decided_so() -> None:
    found = model("majority", 0.37, 1.0, 0.0).decided(2, 5)
    assert found.rates[0] == pytest.approx(0.37, abs=0.002)
    assert model("majority", 0.0, 0.5, 0.3).decided(2, 2).rates[0] == pytest.approx(0.0, abs=1e-6)


def test_most_cases_are_needed_where_half_of_them_are_decided_positive() -> None:
    assert model("majority", 0.3, 0.5, 0.2).neediest(0.3, 1, 1) == pytest.approx(0.5)
    even = model("majority", 0.3, 0.5, 0.2).neediest(0.3, 1, 2)  # both samples have to be positive
    assert even > 0.55
    assert model("majority", even, 0.5, 0.2).decided(1, 2).rates[0] == pytest.approx(0.5, abs=0.002)
    assert model("majority", 0.3, 0.5, 0.0, failed=0.6).neediest(0.3, 1, 1) == 1.0


def test_two_systems_need_most_cases_to_either_side_of_one_half() -> None:
    found = [model("majority", mean, 0.5, 0.2).neediest(mean, 1, 1, apart=0.2) for mean in (0.1, 0.45, 0.55, 0.9)]
    assert found == pytest.approx([0.4, 0.4, 0.6, 0.6])


@pytest.mark.sampled(11)
@pytest.mark.parametrize("apart", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("rate", [0.0992, 0.1838, 0.4, 0.5, 0.77])
@pytest.mark.parametrize("between", [0.5, 0.9, 1.0])
def test_two_systems_go_together_as_their_cases_do(rate: float, between: float, apart: float) -> None:
    other = rate + (apart if rate < 0.5 else -apart)
    first, second = (chances_of_cases(np.array([one]), np.array([between]), 20_000)[0] for one in (rate, other))
    known = float(np.mean(first * second) - first.mean() * second.mean())
    if between == 1.0:  # whichever has fewer positive cases, the other has them, too
        known = min(rate, other) * (1 - max(rate, other))
    found = model("majority", rate, between, 0.0).decided(1, 1, apart=apart).shared_with(np.array([other]))
    assert found[0] == pytest.approx(known, rel=0.003)
