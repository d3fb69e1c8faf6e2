"""Joint maximum likelihood: it is the maximum, its errors are those of the full matrix, and names mean nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dense_likelihood import POINTS, matches_of
from support.drawn_credits import credits_from, rasch_credits, rateable_credits

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.jointfit import JointFit, fit_joint, published_elo
from judgeharness_integrations.analysis.ranking.rating import rate

ANY_CELLS = (0.0, 1.0, 0.5, 0.25, None)


def joint(matrix: Credits, **options: Any) -> JointFit:
    found = rate(matrix, methods=("bradley-terry",), **options).joint
    assert found is not None
    return found


@pytest.fixture
def drawn() -> Credits:
    matrix = rasch_credits(np.random.default_rng(3), [-0.8, -0.2, 0.1, 0.9], 60, missing=0.2, ties=0.1)
    return matrix.of_pairs(~matrix.unanimous)


# The maximum


@given(rateable_credits(cells=ANY_CELLS))
def test_nothing_near_the_fit_is_more_likely_and_its_gradient_is_zero(matrix: Credits) -> None:
    fit, matches = fit_joint(matrix), matches_of(matrix)
    assert np.abs(matches.score(fit.log_strengths)).max() < 1e-6
    assert fit.log_likelihood == pytest.approx(matches.log_likelihood(fit.log_strengths), abs=1e-8)
    generator = np.random.default_rng(0)
    for _ in range(5):
        near = fit.log_strengths + 0.1 * generator.standard_normal(len(fit.log_strengths))
        assert matches.log_likelihood(near) <= fit.log_likelihood + 1e-9


def test_the_gradient_is_the_slope_of_the_likelihood(drawn: Credits) -> None:
    matches = matches_of(drawn)
    at = np.random.default_rng(1).standard_normal(matches.design.shape[1])
    step = 1e-6
    slopes = [
        (matches.log_likelihood(at + step * one) - matches.log_likelihood(at - step * one)) / (2 * step)
        for one in np.eye(len(at))
    ]
    assert matches.score(at) == pytest.approx(slopes, abs=1e-6)


def test_the_gauges_differ_by_a_constant_and_are_what_they_are_called(drawn: Credits) -> None:
    fit = fit_joint(drawn)
    judges = len(drawn.judges)
    assert fit.elo.mean() == pytest.approx(1500)
    assert fit.log_strengths.sum() == pytest.approx(0, abs=1e-9)
    published = np.concatenate([fit.elo_published, fit.difficulty_published])
    assert np.mean(10 ** ((published - 1500) / 400)) == pytest.approx(1)
    printed = np.concatenate([fit.elo, fit.difficulty])
    for other in (published, POINTS * fit.log_strengths):
        assert np.ptp(printed - other) < 1e-6
    assert fit.elo[0] - fit.difficulty[0] == pytest.approx(POINTS * (fit.log_strengths[0] - fit.log_strengths[judges]))


def test_strengths_beyond_what_a_float_holds_still_have_elo() -> None:
    assert published_elo(np.array([2000.0, 0.0])) == pytest.approx([1500 + 400 * np.log10(2), -345_815], abs=1)


# Errors


@given(rateable_credits(cells=ANY_CELLS))
def test_errors_are_those_of_the_whole_matrix_of_judges_and_pairs(matrix: Credits) -> None:
    fit = fit_joint(matrix)
    covariance = POINTS**2 * matches_of(matrix).covariance(fit.log_strengths, np.arange(len(matrix.pairs)))
    published = np.sqrt(np.maximum(np.diag(covariance), 0))
    judges = len(matrix.judges)
    scale = 1 + published.max()
    assert np.abs(fit.se_published - published[:judges]).max() < 1e-5 * scale
    assert np.abs(fit.difficulty_se_published - published[judges:]).max() < 1e-5 * scale
    centre = np.eye(judges) - 1 / judges
    assert np.abs(fit.covariance - centre @ covariance[:judges, :judges] @ centre).max() < 1e-5 * scale**2


def test_errors_of_clustered_pairs_are_those_of_scores_summed_by_cluster(drawn: Credits) -> None:
    clusters = np.arange(len(drawn.pairs)) // 3
    fit = fit_joint(drawn, clusters=clusters)
    judges = len(drawn.judges)
    covariance = POINTS**2 * matches_of(drawn).covariance(fit.log_strengths, clusters)
    assert fit.se_published == pytest.approx(np.sqrt(np.diag(covariance))[:judges], rel=1e-7)
    difference = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert fit.covariance[0, 0] + fit.covariance[1, 1] - 2 * fit.covariance[0, 1] == pytest.approx(difference, rel=1e-7)
    assert fit.elo == pytest.approx(fit_joint(drawn).elo)
    assert not np.allclose(fit.se, fit_joint(drawn).se)


# What must not matter


def test_permuting_judges_and_pairs_permutes_the_ratings(drawn: Credits) -> None:
    fit = fit_joint(drawn)
    generator = np.random.default_rng(2)
    judges, pairs = generator.permutation(len(drawn.judges)), generator.permutation(len(drawn.pairs))
    other = fit_joint(
        Credits(
            judges=tuple(drawn.judges[place] for place in judges),
            pairs=tuple(drawn.pairs[place] for place in pairs),
            values=drawn.values[pairs][:, judges],
        )
    )
    assert other.elo == pytest.approx(fit.elo[judges], abs=1e-6)
    assert other.covariance == pytest.approx(fit.covariance[judges][:, judges], abs=1e-6)
    assert other.difficulty == pytest.approx(fit.difficulty[pairs], abs=1e-6)
    assert other.difficulty_se_published == pytest.approx(fit.difficulty_se_published[pairs], abs=1e-6)


def test_every_pair_twice_gives_the_same_elo_and_half_the_variance_unless_twins_are_one_cluster(drawn: Credits) -> None:
    fit = fit_joint(drawn)
    names = (*drawn.pairs, *(f"{pair} again" for pair in drawn.pairs))
    twice = Credits(judges=drawn.judges, pairs=names, values=np.concatenate([drawn.values, drawn.values]))
    alone, together = fit_joint(twice), fit_joint(twice, clusters=np.tile(np.arange(len(drawn.pairs)), 2))
    assert alone.elo == pytest.approx(fit.elo, abs=1e-6)
    assert alone.covariance == pytest.approx(fit.covariance / 2, rel=1e-6)
    assert together.covariance == pytest.approx(fit.covariance, rel=1e-6)


def test_right_and_wrong_exchanged_turn_the_ranking_around(drawn: Credits) -> None:
    fit, turned = fit_joint(drawn), fit_joint(replace(drawn, values=1 - drawn.values))
    assert turned.elo == pytest.approx(3000 - fit.elo, abs=1e-6)
    assert turned.se == pytest.approx(fit.se, rel=1e-6)


def test_unanimous_pairs_change_nothing(drawn: Credits) -> None:
    more = np.concatenate([drawn.values, np.ones((5, 4)), np.zeros((5, 4))])
    assert joint(credits_from(more)).elo == pytest.approx(joint(drawn).elo, abs=1e-6)


def test_without_missing_cells_a_pair_is_as_hard_as_its_total_says() -> None:
    matrix = rasch_credits(np.random.default_rng(4), [-0.5, 0.0, 0.2, 0.3], 50)
    fit = joint(matrix)
    total = matrix.of_pairs(~matrix.unanimous).values.sum(axis=1)
    by_total = [set(np.round(fit.difficulty[total == one], 6)) for one in sorted(set(total))]
    assert all(len(found) == 1 for found in by_total)
    assert [found.pop() for found in by_total] == sorted(set(np.round(fit.difficulty, 6)), reverse=True)
    assert len(set(fit.pattern)) == len(set(total))


# What it does to ratings


@given(st.integers(1, 40), st.integers(1, 40))
def test_two_judges_are_exactly_twice_as_far_apart_as_they_are(up: int, down: int) -> None:
    """Andersen 1970: J / (J - 1) at J = 2; the truth of the conditional likelihood is log(up / down)."""
    fit = fit_joint(credits_from([[1, 0]] * up + [[0, 1]] * down))
    assert (fit.elo[0] - fit.elo[1]) / POINTS == pytest.approx(2 * np.log(up / down), abs=1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("judges", "factor"), [(3, 1.5), (6, 1.2), (21, 1.05)])
def test_ratings_are_inflated_by_about_j_over_j_minus_1(judges: int, factor: float) -> None:
    """Credits as they are on average (every pattern in its expected share): what remains is the bias itself."""
    ability = np.linspace(-0.6, 0.6, judges)
    matrix = rasch_credits(np.random.default_rng(6), ability, 30_000)
    fit = joint(matrix)
    slope = np.polyfit(ability, fit.elo / POINTS, 1)[0]
    assert factor - 0.03 < slope < factor * 1.07


# What has no maximum


@pytest.mark.parametrize("values", [[[1, 1], [0, 1]], [[0, 0], [1, 0]], [[1, 0], [1, 0]], [[1, 0, 0], [1, 1, 0]]])
def test_a_fit_without_a_finite_maximum_says_what_to_leave_out(values: Any) -> None:
    with pytest.raises(UsageError, match="has no finite maximum here: leave out unanimous pairs and judges that"):
        fit_joint(credits_from(values))


def test_a_start_far_from_the_maximum_is_brought_home_by_shorter_steps() -> None:
    """A chain: each judge is beaten by the next but one time in 3,000, so that the ends are 32 logits apart."""
    judges = 5
    values = np.full((3001 * (judges - 1), judges), np.nan)
    for low in range(judges - 1):
        rows = slice(3001 * low, 3001 * (low + 1))
        values[rows, low : low + 2] = 0, 1
        values[3001 * low, low : low + 2] = 1, 0
    fit = joint(credits_from(values))
    steps = np.diff(fit.elo) / POINTS
    assert steps == pytest.approx([2 * np.log(3000)] * (judges - 1), abs=1e-5)
