"""The same numbers from other people's libraries, computed when the test runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import choix
import numpy as np
import pytest
import statsmodels.api as sm
from scipy import special
from statsmodels.discrete.conditional_models import ConditionalLogit
from support.dense_likelihood import POINTS, matches_of
from support.drawn_credits import credits_from, golden, rasch_credits

from judgeharness_integrations.analysis.ranking.contrasts import conditional_moments, fit_conditional, order_effect
from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.jointfit import fit_joint, patterns_of

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture(scope="module")
def drawn() -> Credits:
    matrix = rasch_credits(np.random.default_rng(1), [-0.8, -0.3, 0.0, 0.3, 0.8], 80, missing=0.15)
    return matrix.of_pairs(~matrix.unanimous)


def games(matrix: Credits) -> list[tuple[int, int]]:
    """Matches as (winner, loser), pairs numbered after the judges."""
    judges = len(matrix.judges)
    pairs, players = np.nonzero(matrix.seen)
    won = matrix.values[pairs, players] == 1
    return [
        (int(judge), judges + int(pair)) if right else (judges + int(pair), int(judge))
        for pair, judge, right in zip(pairs, players, won, strict=True)
    ]


def differences_of(matrix: Any) -> Any:
    """Variances (judges, judges) of differences, of a covariance."""
    diagonal = np.diag(matrix)
    return diagonal[:, None] + diagonal[None, :] - 2 * matrix


# choix


@pytest.mark.parametrize("toy", ["drawn", "toy_full"])
def test_choix_finds_the_same_strengths_by_newton_and_by_spectral_iteration(drawn: Credits, toy: str) -> None:
    matrix = drawn if toy == "drawn" else credits_from(golden("bt_toys")[toy]["X"])
    fit = fit_joint(matrix)
    players = len(matrix.judges) + len(matrix.pairs)
    newton = choix.opt_pairwise(players, games(matrix), alpha=0.0, tol=1e-10)
    spectral = choix.ilsr_pairwise(players, games(matrix), alpha=0.0, max_iter=1000, tol=1e-10)
    sweeps = choix.mm_pairwise(players, games(matrix), alpha=0.0, max_iter=100_000, tol=1e-10)
    for strengths in (newton, spectral, sweeps):
        assert strengths - strengths.mean() == pytest.approx(fit.log_strengths, abs=1e-6)


# arena-rank


@pytest.mark.slow
def test_arena_rank_finds_the_same_ratings(drawn: Credits) -> None:
    matrix = rasch_credits(np.random.default_rng(2), [-0.8, -0.3, 0.0, 0.3, 0.8], 80, missing=0.15, ties=0.1)
    for one in (drawn, matrix.of_pairs(~matrix.unanimous)):
        values = np.where(one.seen, one.values, None).tolist()
        done = subprocess.run(  # noqa: S603
            [sys.executable, SUPPORT / "arena_ratings.py"],
            input=json.dumps({"values": values}),
            capture_output=True,
            text=True,
            check=True,
        )
        ratings = np.array(json.loads(done.stdout))
        assert ratings - ratings.mean() == pytest.approx(POINTS * fit_joint(one).log_strengths, abs=1e-3)


# statsmodels


def test_statsmodels_logit_clustered_by_pair_gives_the_same_differences_and_errors(drawn: Credits) -> None:
    fit, matches = fit_joint(drawn), matches_of(drawn)
    kinds = (sm.Logit, lambda won, design: sm.GLM(won, design, family=sm.families.Binomial()))
    for model in kinds:
        free = np.delete(matches.design, 0, axis=1)  # the first judge is held at 0
        found = model(matches.won, free).fit(
            cov_type="cluster",
            cov_kwds={"groups": matches.pair, "use_correction": False},
            **({"disp": 0, "method": "newton", "tol": 1e-12} if model is sm.Logit else {"tol": 1e-14}),
        )
        judges = len(drawn.judges)
        strengths = np.insert(found.params, 0, 0.0)
        assert strengths - strengths.mean() == pytest.approx(fit.log_strengths, abs=1e-6)
        covariance = np.zeros((judges, judges))
        covariance[1:, 1:] = np.asarray(found.cov_params())[: judges - 1, : judges - 1]
        assert POINTS**2 * differences_of(covariance) == pytest.approx(differences_of(fit.covariance), rel=1e-5)


def test_statsmodels_clusters_of_several_pairs_give_the_same_errors(drawn: Credits) -> None:
    clusters = np.arange(len(drawn.pairs)) // 4
    fit, matches = fit_joint(drawn, clusters=clusters), matches_of(drawn)
    found = sm.Logit(matches.won, np.delete(matches.design, 0, axis=1)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters[matches.pair], "use_correction": False}, disp=0, tol=1e-12
    )
    judges = len(drawn.judges)
    covariance = np.zeros((judges, judges))
    covariance[1:, 1:] = np.asarray(found.cov_params())[: judges - 1, : judges - 1]
    assert POINTS**2 * differences_of(covariance) == pytest.approx(differences_of(fit.covariance), rel=1e-5)


@pytest.mark.slow
def test_statsmodels_conditional_logit_finds_the_same_abilities_and_information(drawn: Credits) -> None:
    fit, matches = fit_conditional(drawn), matches_of(drawn)
    judges = len(drawn.judges)
    found = ConditionalLogit(matches.won, matches.design[:, 1:judges], groups=matches.pair).fit(disp=0)
    theta = np.insert(found.params, 0, 0.0)
    assert theta - theta.mean() == pytest.approx(fit.theta, abs=1e-3)
    information = conditional_moments(patterns_of(drawn.values), fit.theta).covariance
    assert np.linalg.inv(information[1:, 1:]) == pytest.approx(found.cov_params(), rel=1e-2)


@pytest.mark.slow
def test_statsmodels_conditional_logit_with_a_column_for_the_order_finds_the_same_effect() -> None:
    generator = np.random.default_rng(3)
    logits = np.linspace(-0.6, 0.6, 4) - generator.standard_normal((60, 1))
    first, second = (
        (generator.random(logits.shape) < special.expit(logits + shift)).astype(float) for shift in (0.4, -0.4)
    )
    found = order_effect(credits_from(first), credits_from(second))
    assert found is not None
    kept = ~credits_from((first + second) / 2).unanimous
    layers = [matches_of(credits_from(values[kept])) for values in (first, second)]
    order = np.concatenate([np.full(len(layer.won), half) for layer, half in zip(layers, (0.5, -0.5), strict=True)])
    design = np.column_stack([np.concatenate([layer.design for layer in layers])[:, 1:4], order])
    pair = np.concatenate([layer.pair for layer in layers])
    known = ConditionalLogit(np.concatenate([layer.won for layer in layers]), design, groups=pair).fit(disp=0)
    abilities = np.insert(known.params[:-1], 0, 0.0)
    assert found.elo == pytest.approx(POINTS * known.params[-1], abs=0.05)
    elo = [one[1] for one in found.judges]
    assert elo == pytest.approx(1500 + POINTS * (abilities - abilities.mean()), abs=0.05)
    assert (found.pairs, found.matches) == (int(kept.sum()), len(order))
