"""Evidence of drift: today against all days so far, kept over a year of daily checks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from judgeharness_integrations.analysis.sequential import drift_evidence, log_e_signs, wrong_evidence
from judgeharness_integrations.testing.selftest.looking import YEAR, daily_errors

STUDIES = 4000


def noise(chances: np.ndarray, *, studies: int = 500, days: int = YEAR, seed: int = 0) -> np.ndarray:
    return daily_errors(chances, studies=studies, days=days, generator=np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.parametrize(
    "chances",
    [
        np.array([0.1] * 8 + [0.3] * 4 + [0.5] * 3),  # the other anchors are always the same and say nothing
        np.full(15, 0.002),
        np.array([0.01]),
    ],
)
def test_an_unchanged_noisy_judge_checked_daily_for_a_year_alarms_in_5_of_100_years_at_most(
    chances: np.ndarray,
) -> None:
    chunks = range(STUDIES // 500)
    alarms = [(wrong_evidence(noise(chances, seed=seed)) >= 20).any(axis=-1).mean() for seed in chunks]
    assert np.mean(alarms) <= 0.045


def test_on_a_day_fixed_beforehand_the_evidence_is_1_in_the_mean_exactly() -> None:
    for chance in (0.1, 0.5, 0.8):
        total = 0.0
        for days in product([0, 1], repeat=6):
            likelihood = chance ** sum(days) * (1 - chance) ** (6 - sum(days))
            total += likelihood * wrong_evidence(np.array(days)[:, None])[-1]
        assert total == pytest.approx(1.0)


def test_bets_against_the_stored_baseline_alone_count_its_luck_every_day() -> None:
    found = noise(np.full(8, 0.3), studies=2000, days=30)
    change = found[:, 1:].astype(int) - found[:, :1]
    rose, fell = (np.cumsum((change == side).sum(axis=-1), axis=-1) for side in (1, -1))
    assert (log_e_signs(rose, fell) >= np.log(20)).any(axis=-1).mean() > 0.25
    assert (wrong_evidence(found) >= 20).any(axis=-1).mean() < 0.05


def test_a_change_is_found_whenever_it_comes() -> None:
    for begins in (10, 100):
        found = noise(np.array([0.0] * 35 + [0.1] * 10 + [0.3] * 5), studies=300, days=begins + 9, seed=7)
        found[:, begins:, :8] = True  # eight anchors are lost for good
        evidence = wrong_evidence(found)
        assert (evidence[:, : begins - 1] >= 40).any(axis=-1).mean() <= 0.05
        assert (evidence[:, begins - 1 : begins + 2] >= 40).any(axis=-1).mean() > 0.9


def test_a_deterministic_judge_adds_no_evidence() -> None:
    same = np.tile([0, 1, 0, 0, 1], (30, 1))
    np.testing.assert_allclose(wrong_evidence(same), 1.0)
    np.testing.assert_allclose(drift_evidence(same), 1.0)


def test_both_directions_are_bet_on() -> None:
    days = np.zeros((4, 12))
    days[1:] = 1
    assert wrong_evidence(days)[0] == pytest.approx(wrong_evidence(1 - days)[0])
    assert wrong_evidence(days)[0] >= 40


def test_labels_are_bet_on_alike_and_cases_may_be_missing_on_a_day() -> None:
    days = np.random.default_rng(3).random((20, 6)) < 0.3
    np.testing.assert_allclose(drift_evidence(days), wrong_evidence(days))
    missing = days.astype(float)
    missing[5] = np.nan
    missing[0, 2] = np.nan
    evidence = drift_evidence(missing)
    assert evidence[4] == pytest.approx(evidence[3] * 1.0, rel=0.2)  # nobody was asked: only new stakes
    shorter = drift_evidence(np.delete(missing, 5, axis=0))
    assert np.isfinite(evidence).all()
    assert np.isfinite(shorter).all()


def test_scores_are_bet_on_around_their_median_day() -> None:
    random = np.random.default_rng(4)
    steady = np.abs(random.normal(1, 0.3, (60, 20)))
    assert drift_evidence(steady).max() < 20
    worse = steady.copy()
    worse[20:] += 1
    worse[25, 0] = np.inf
    assert drift_evidence(worse)[19:25].max() >= 40
