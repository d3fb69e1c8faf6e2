"""Golden values: the published ratings and errors, conditional ML and EIP, from outside this project's code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.drawn_credits import DATA, credits_from, golden

from judgeharness_integrations import read_log
from judgeharness_integrations.analysis.ranking.correctness import Credits, Policy, credits_of, decisions_of
from judgeharness_integrations.analysis.ranking.rating import Rating, eip, rate

TOYS = ("toy_full", "toy_partial_half")


@pytest.fixture(scope="module")
def llmbar() -> Credits:
    rows = read_log(DATA / "llmbar.csv.gz")
    return credits_of(decisions_of(rows, Policy.of("both_orders")))


@pytest.fixture(scope="module")
def rating(llmbar: Credits) -> Rating:
    return rate(llmbar)


def recorded(rating: Rating, name: str) -> Any:
    assert rating.joint is not None
    entries = golden("llmbar_bt")["judges"]
    return np.array([entries[judge][name] for judge in rating.joint.judges])


@pytest.mark.parametrize("toy", TOYS)
def test_a_toy_has_the_published_ratings_and_errors_of_judges_and_pairs(toy: str) -> None:
    known = golden("bt_toys")[toy]
    fit = rate(credits_from(known["X"])).joint
    assert fit is not None
    assert fit.log_strengths == pytest.approx(known["beta_sum0"], abs=1e-8)
    assert np.concatenate([fit.elo_published, fit.difficulty_published]) == pytest.approx(known["elo"], abs=1e-6)
    errors = np.concatenate([fit.se_published, fit.difficulty_se_published])
    assert errors == pytest.approx(known["se_elo_cluster"], rel=1e-8)
    assert fit.log_likelihood == pytest.approx(known["loglik"], abs=1e-9)


@pytest.mark.parametrize("toy", TOYS)
def test_the_published_iteration_stops_within_a_thousandth_of_the_maximum(toy: str) -> None:
    known = golden("bt_toys")[toy]
    fit = rate(credits_from(known["X"])).joint
    assert fit is not None
    assert np.concatenate([fit.elo_published, fit.difficulty_published]) == pytest.approx(known["mm_elo"], abs=1e-3)


def test_the_full_toy_has_the_conditional_estimates_the_difference_and_the_eip_of_record() -> None:
    known = golden("bt_toys")["toy_full"]
    found = rate(credits_from(known["X"]))
    assert found.joint is not None
    assert found.conditional is not None
    assert found.eip is not None
    assert found.conditional.theta == pytest.approx(known["cml_theta_sum0"], abs=1e-9)
    spread = np.array([1, -1, 0, 0])
    error = np.sqrt(spread @ found.joint.covariance @ spread)
    assert error == pytest.approx(known["se_diff_judge0_judge1_elo"], rel=1e-9)
    assert found.eip.judges_mass == pytest.approx(known["eip_pi_judges"], abs=1e-12)
    assert found.eip.pairs_mass == pytest.approx(known["eip_pi_pairs"], abs=1e-12)
    assert known["eip_alpha"] == found.eip.options.alpha


def test_eip_has_the_stationary_vectors_of_record() -> None:
    known = golden("eip_toy")
    found = eip(credits_from(known["X"]))
    assert found.judges_mass == pytest.approx(known["pi_judges"], abs=1e-12)
    assert found.pairs_mass == pytest.approx(known["pi_pairs"], abs=1e-12)


def test_half_credit_leaves_the_other_methods_out_and_says_why() -> None:
    found = rate(credits_from(golden("bt_toys")["toy_partial_half"]["X"]))
    assert (found.conditional, found.eip) == (None, None)
    assert found.reasons["conditional"].startswith("conditional maximum likelihood counts right answers")
    assert found.reasons["eip"].startswith("EIP needs every judge on every pair")


def test_where_a_judge_is_never_wrong_nothing_that_depends_on_the_number_of_sweeps_is_reported() -> None:
    known = golden("bt_toys")["separation_perfect_judge"]
    printed = [run["elo_judges"] for run in known["rankjudge_mm"].values()]
    assert np.ptp(printed, axis=0)[1:].min() > 700  # what the published iteration makes of it
    found = rate(credits_from(known["X"]))
    assert found.connections.judges("above") == ("j0",)
    assert found.joint is not None
    assert found.joint.judges == ("j1", "j2", "j3")
    assert "j0" not in found.scores("bradley-terry")
    assert len(found.matrix.pairs) == len(known["X"])


@pytest.mark.slow
def test_llmbar_has_the_pairs_and_the_wins_of_record(llmbar: Credits, rating: Rating) -> None:
    known = golden("llmbar_bt")
    assert (len(llmbar.pairs), len(rating.matrix.pairs)) == (known["n_pairs_total"], known["n_informative"])
    assert set(llmbar.judges) == set(known["judges"])
    assert rating.matrix.values.sum(axis=0).tolist() == recorded(rating, "wins").tolist()
    assert rating.connections.connected
    assert rating.reasons == {}


@pytest.mark.slow
def test_65_judges_have_the_published_elo_within_a_thousandth(rating: Rating) -> None:
    assert rating.joint is not None
    assert rating.joint.elo_published == pytest.approx(recorded(rating, "elo_published"), abs=1e-3)
    assert rating.joint.log_strengths[:65] == pytest.approx(recorded(rating, "beta_sum0"), abs=1e-8)
    assert rating.joint.log_likelihood == pytest.approx(golden("llmbar_bt")["loglik"], abs=1e-6)
    best = int(np.argmax(rating.joint.elo_published))
    assert rating.joint.judges[best] == "GPT-4/Metrics_Reference"
    assert rating.joint.elo_published[best] == pytest.approx(1658.34, abs=0.005)


@pytest.mark.slow
def test_65_judges_have_the_published_errors_within_a_millionth(rating: Rating) -> None:
    assert rating.joint is not None
    assert rating.joint.se_published == pytest.approx(recorded(rating, "se_published"), rel=1e-6)
    assert rating.joint.se == pytest.approx(recorded(rating, "se_judge_centred"), rel=1e-6)


@pytest.mark.slow
def test_65_judges_are_spread_a_little_more_than_by_conditional_ml_and_stand_in_the_same_order(rating: Rating) -> None:
    assert rating.joint is not None
    assert rating.conditional is not None
    inflation = np.std(rating.joint.elo) / np.std(rating.conditional.elo)
    assert 65 / 64 - 0.005 < inflation < 65 / 64 + 0.01
    # judges of the same pattern of credits are tied but for rounding, which differs between machines
    orders = [np.argsort(np.round(fit.elo, 6), kind="stable") for fit in (rating.joint, rating.conditional)]
    assert orders[0].tolist() == orders[1].tolist()


@pytest.mark.slow
def test_with_a_fifth_of_the_cells_missing_the_order_hardly_changes(llmbar: Credits, rating: Rating) -> None:
    assert rating.joint is not None
    generator = np.random.default_rng(5)
    values = np.where(generator.random(llmbar.values.shape) < 0.2, np.nan, llmbar.values)
    found = rate(
        Credits(judges=llmbar.judges, pairs=llmbar.pairs, values=values), methods=("bradley-terry", "conditional")
    )
    assert found.joint is not None
    assert found.conditional is not None
    places = [np.argsort(np.argsort(elo)) for elo in (rating.joint.elo, found.joint.elo, found.conditional.elo)]
    assert np.corrcoef(places)[0, 1:].min() > 0.99
    assert len(found.matrix.pairs) >= 400
