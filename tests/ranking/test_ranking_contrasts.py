"""Differences between judges: free of the gauge, adjusted for how many there are."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from support.drawn_credits import credits_from, rasch_credits

from judgeharness_integrations.analysis.ranking.contrasts import Contrast, contrasts_of, rank_ranges
from judgeharness_integrations.analysis.ranking.jointfit import fit_joint


@pytest.fixture
def fit() -> Any:
    matrix = rasch_credits(np.random.default_rng(1), [-0.9, -0.3, -0.25, 0.3, 0.9], 150, missing=0.1)
    return fit_joint(matrix.of_pairs(~matrix.unanimous))


def contrast(judge: str, other: str, p: float | None) -> Contrast:
    return Contrast(judge=judge, other=other, difference=1.0, se=1.0, ci95=(0, 2), p=p, p_adjusted=p)


def test_every_two_judges_once_the_higher_first_in_order_of_rank(fit: Any) -> None:
    found = contrasts_of(fit.judges, fit.elo, fit.covariance)
    ranked = [fit.judges[place] for place in np.argsort(-fit.elo)]
    assert [(one.judge, one.other) for one in found] == [
        (judge, other) for place, judge in enumerate(ranked) for other in ranked[place + 1 :]
    ]
    elo = dict(zip(fit.judges, fit.elo, strict=True))
    for one in found:
        assert one.difference == pytest.approx(elo[one.judge] - elo[one.other])
        assert one.difference >= 0
        assert one.ci95 == pytest.approx((one.difference - 1.959964 * one.se, one.difference + 1.959964 * one.se))
        assert one.p is not None
        assert (one.p < 0.05) == (one.ci95[0] > 0)


def test_no_gauge_changes_a_difference_or_its_error(fit: Any) -> None:
    """Any constant direction may be taken out of the ratings: here the first judge is held at 0."""
    held = np.eye(len(fit.judges))
    held[:, 0] -= 1
    found = contrasts_of(fit.judges, fit.elo, fit.covariance)
    other = contrasts_of(fit.judges, held @ fit.elo, held @ fit.covariance @ held.T)
    for one, same in zip(found, other, strict=True):
        assert (one.judge, one.other) == (same.judge, same.other)
        assert (one.difference, one.se, one.p) == pytest.approx((same.difference, same.se, same.p))


def test_judges_that_answered_alike_are_not_tested_and_do_not_count_among_the_tests() -> None:
    matrix = rasch_credits(np.random.default_rng(2), [-0.5, 0.0, 0.5], 80)
    twin = credits_from(np.column_stack([matrix.values, matrix.values[:, 0]]))
    fit = fit_joint(twin.of_pairs(~twin.unanimous))
    found = contrasts_of(fit.judges, fit.elo, fit.covariance)
    [same] = [one for one in found if {one.judge, one.other} == {"j0", "j3"}]
    assert (same.p, same.p_adjusted, same.significant) == (None, None, False)
    assert same.difference == pytest.approx(0, abs=1e-6)
    assert same.se == pytest.approx(0, abs=1e-5)
    others = [one for one in found if one is not same]
    p = [one.p for one in others]
    assert [one.p_adjusted for one in others] == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert json.loads(json.dumps(same.to_dict()))["p"] is None


def test_ranks_that_no_significant_difference_speaks_against() -> None:
    contrasts = [contrast("a", "b", 0.2), contrast("a", "c", 0.01), contrast("b", "c", 0.3), contrast("b", "d", None)]
    assert rank_ranges("abcd", contrasts) == {"a": (1, 3), "b": (1, 4), "c": (2, 4), "d": (1, 4)}


def test_ranges_hold_the_rank_itself_and_are_single_ranks_where_all_differ(fit: Any) -> None:
    found = contrasts_of(fit.judges, fit.elo, fit.covariance)
    ranges = rank_ranges(fit.judges, found)
    for rank, place in enumerate(np.argsort(-fit.elo), start=1):
        low, high = ranges[fit.judges[place]]
        assert low <= rank <= high
    sure = contrasts_of(fit.judges, fit.elo, fit.covariance / 1e6)
    assert sorted(rank_ranges(fit.judges, sure).values()) == [(rank, rank) for rank in range(1, 6)]


def test_a_contrast_is_json(fit: Any) -> None:
    found = contrasts_of(fit.judges, fit.elo, fit.covariance)[0].to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert list(found) == ["judge", "other", "difference", "se", "ci95", "p", "p_adjusted"]


def test_one_judge_has_no_contrast() -> None:
    assert contrasts_of(["a"], np.array([1500.0]), np.zeros((1, 1))) == ()
