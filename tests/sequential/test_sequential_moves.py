"""Evidence that answers with probabilities left their band, kept over a year of daily looks."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from support.planted_probabilities import sigmoid

from judgeharness_integrations.analysis.sequential import move_evidence

YEAR = 365


def asked(
    days: int, seed: int, *, states: int = 20, noise: float = 0.05, repeats: float = 0.0, digits: int = 2
) -> np.ndarray:
    """Return the log odds of frozen states, asked daily; a part of the answers repeats the first one."""
    random = np.random.default_rng(seed)
    fresh = random.random((days, states)) >= repeats
    z: np.ndarray = random.normal(0, 1.5, states) + random.normal(0, noise, (days, states)) * fresh
    return answered(z, digits)


def answered(z: np.ndarray, digits: int = 2) -> np.ndarray:
    p = sigmoid(z).round(digits)
    return np.stack([p, 1 - p], axis=-1)


NOISY = [
    {"noise": 0.05},
    {"noise": 0.05, "repeats": 0.33},  # as of one provider, 94 of 300
    {"noise": 0.01},  # rounding hides most of it
    {"noise": 0.02, "repeats": 0.95},
    {"noise": 0.3, "digits": 12},
    {"noise": 0.05, "states": 3},
]


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("model", NOISY, ids=str)
def test_an_unchanged_noisy_model_alarms_in_5_of_100_years_at_most(model: dict[str, float]) -> None:
    years = (asked(YEAR, seed, **model)[..., :1] for seed in range(400))  # type: ignore[arg-type]  # p says it all
    assert np.mean([(move_evidence(days) >= 20).any() for days in years]) <= 0.05


@pytest.mark.slow
def test_an_unchanged_noisy_model_seldom_alarms() -> None:
    alarms = [(move_evidence(asked(60, seed)) >= 20).any() for seed in range(60)]
    assert np.mean(alarms) <= 0.1


def test_whatever_the_answers_were_the_evidence_is_1_in_the_mean_over_their_orders() -> None:
    for values in ([0.1, 0.2, 0.35, 0.7, 0.9], [0.5, 0.5, 0.5, 0.8, 0.8], [0.1, 0.1, 0.1, 0.1, 0.3]):
        found = [move_evidence(np.array(days)[:, None, None])[-1] for days in permutations(values)]
        assert np.mean(found) == pytest.approx(1)


def test_a_model_that_repeats_itself_adds_no_evidence() -> None:
    same = np.tile(asked(1, 1), (30, 1, 1))
    np.testing.assert_allclose(move_evidence(same), 1.0)


def test_two_days_cannot_tell_a_change_from_noise_and_a_third_can() -> None:
    z = np.random.default_rng(2).normal(0, 1.5, 20)
    same, moved = answered(z), answered(z + 0.5)
    np.testing.assert_allclose(move_evidence(np.stack([same, moved])), 1.0)
    assert move_evidence(np.stack([same, same, moved]))[-1] >= 20


@pytest.mark.sampled(3)
@pytest.mark.parametrize("begins", [3, 10, 60])
@pytest.mark.parametrize(("noise", "shift"), [(0.05, 0.5), (0.0, 0.5), (0.05, 0.25)])
def test_a_model_that_moved_is_named_within_two_days(begins: int, noise: float, shift: float) -> None:
    named = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        z = random.normal(0, 1.5, 20) + random.normal(0, noise, (begins + 2, 20))
        z[begins:] += shift * random.choice([-1, 1], 20)
        evidence = move_evidence(answered(z))
        assert (evidence[: begins - 1] < 20).all()
        named += bool((evidence >= 20).any())
    assert named >= 19


def test_one_state_of_a_model_that_repeats_itself_is_enough_in_days() -> None:
    z = np.tile(np.random.default_rng(3).normal(0, 1.5, 20), (18, 1))
    z[10:, 4] += 0.5
    evidence = move_evidence(answered(z))
    np.testing.assert_allclose(evidence[:9], 1.0)
    assert (evidence >= 20).argmax() <= 15


def test_states_may_be_missing_on_a_day_and_have_several_options() -> None:
    random = np.random.default_rng(4)
    days = random.dirichlet(np.full(3, 5.0), 8)[None] + random.normal(0, 0.01, (20, 8, 3))
    days[3, 2] = np.nan
    days[0, 5] = np.nan
    days[:, 7] = np.nan
    evidence = move_evidence(days)
    assert np.isfinite(evidence).all()
    np.testing.assert_allclose(evidence, move_evidence(days[:, :7]))
    days[12:, :7, 0] += 0.2
    assert move_evidence(days).max() >= 20
