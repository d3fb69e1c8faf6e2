"""What a certificate takes: against simulated studies, and against the votes GPT-4 gave."""

from __future__ import annotations

import numpy as np
import pytest
from support.certified import drawn, gpt4_cases, gpt4_rows, studies, truth_of

from judgeharness_integrations.analysis import certifying
from judgeharness_integrations.analysis.aggregation.grouping import by_case
from judgeharness_integrations.analysis.certifying.sequence import (
    _beta,
    _curve,
    agreed_votes,
    certificate_prices,
    chance,
    labels_needed,
    stratified_prices,
    votes_needed,
)
from judgeharness_integrations.verdictlog import VerdictRow

LEVEL = {"agreement": 0.9, "delta": 0.1}


def recorded() -> list[tuple[int, int]]:
    return agreed_votes(by_case(gpt4_rows()).values())


@pytest.mark.parametrize(("share", "risk", "labels"), [(0.5, 0.03, 200), (0.7, 0.06, 300), (1.0, 0.02, 40)])
def test_the_chance_is_that_of_simulated_studies(share: float, risk: float, labels: int) -> None:
    rng = np.random.default_rng(1)
    accepted = rng.binomial(labels, share, (20_000, 1))
    truth = (np.array([share]), np.array([risk]))
    found = studies(accepted, rng.binomial(accepted, risk), truth, **LEVEL)
    assert chance([(share, risk)], labels, **LEVEL) == pytest.approx(1 - found.refused, abs=0.01)


def test_without_enough_accepted_decisions_there_is_no_chance() -> None:
    assert chance([(0.5, 0.0), (0.9, 0.5)], 20, **LEVEL) == 0.0
    assert chance([], 100, **LEVEL) == 0.0


@pytest.mark.slow
def test_the_labels_needed_are_the_fewest_that_do_most_of_the_time() -> None:
    curve = [(0.5, 0.03), (0.8, 0.08)]
    labels = labels_needed(curve, **LEVEL)
    assert labels is not None
    assert chance(curve, labels - 1, **LEVEL) < 0.8
    assert min(chance(curve, more, **LEVEL) for more in range(labels, 2 * labels)) >= 0.8  # the chance is a sawtooth
    sure = labels_needed([(1.0, 0.001)], **LEVEL)
    assert sure is not None
    assert chance([(1.0, 0.001)], sure, **LEVEL) >= 0.8
    assert labels_needed([(1.0, 0.12)], **LEVEL) is None
    assert labels_needed([(1.0, 0.0999)], **LEVEL) is None  # beyond 20,000


@pytest.mark.slow
def test_more_votes_need_fewer_labels() -> None:
    prices = {one.votes: one for one in certificate_prices(recorded(), labels=200, **LEVEL)}
    needed = [one.labels for one in prices.values() if one.labels is not None]
    assert needed == sorted(needed, reverse=True)
    assert (prices[2].labels, prices[2].calls, prices[2].coverage) == (None, None, None)
    assert prices[12].labels is not None
    assert prices[12].calls == 12 * prices[12].labels
    assert all(one.chance is None for one in certificate_prices(recorded(), **LEVEL))


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "votes"), [(15, 30), (3, 6)])
def test_the_prices_agree_with_studies_of_recorded_votes(prompts: int, votes: int) -> None:
    granted = []
    for first in range(15):
        cases = gpt4_cases(prompts, first=first)
        grid = sorted({score for score in cases[0].tolist() if score >= 0}, reverse=True)
        found = studies(*drawn(cases, grid, 200, number=1000, seed=first), truth_of(*cases, grid), **LEVEL)
        granted.append(1 - found.refused)
    [price] = [one for one in certificate_prices(recorded(), labels=200, **LEVEL) if one.votes == votes]
    assert price.chance == pytest.approx(np.mean(granted), abs=0.1)


def test_votes_that_do_not_differ_within_or_between_cases_tell_nothing() -> None:
    assert certificate_prices([], **LEVEL) == ()
    assert certificate_prices([(1, 1), (0, 1)], **LEVEL) == ()
    assert certificate_prices([(4, 4), (0, 4)], **LEVEL) == ()
    assert certificate_prices([(2, 4)] * 9, **LEVEL) == ()
    assert votes_needed([], labels=100, **LEVEL) is None


@pytest.mark.slow
def test_the_votes_needed_are_the_fewest_with_which_the_labels_do() -> None:
    votes = votes_needed(recorded(), labels=200, **LEVEL)
    chances = {one.votes: one.chance or 0.0 for one in certificate_prices(recorded(), labels=200, **LEVEL)}
    assert votes == min(number for number, granted in chances.items() if granted >= 0.8)
    assert votes_needed(recorded(), labels=22, agreement=0.99, delta=0.01) is None


@pytest.mark.slow
def test_votes_are_counted_of_labelled_cases_whatever_word_the_label_is() -> None:
    def case(*verdicts: str | int | None, gold: str | int | None) -> list[VerdictRow]:
        return [VerdictRow(case_id="c", verdict=one, outcome="ok" if one else "error", gold=gold) for one in verdicts]

    for yes in ("yes", 1, "1"):
        assert agreed_votes([case("PASS", "FAIL", None, gold=yes), case("FAIL", gold="no")]) == [(1, 2), (1, 1)]
    assert agreed_votes([case("A", "A", gold="a"), case("B", "A", gold="B")]) == [(2, 2), (1, 2)]
    assert agreed_votes([case("PASS", gold=1), case("FAIL", gold=3)]) == []
    assert agreed_votes([case(7, gold=7)]) == []
    assert agreed_votes([case("PASS", gold=None), case("PASS", gold=3)]) == []
    assert sum(votes for _, votes in recorded()) == 12566


@pytest.mark.slow
def test_where_every_threshold_passes_all_decided_cases_are_covered() -> None:
    """Six votes about a pair tie now and then; all other decisions agree half of the time."""
    prices = {one.votes: one for one in certificate_prices(recorded(), agreement=0.5, delta=0.1)}
    assert prices[6].coverage == pytest.approx(0.95, abs=0.03)


def test_the_public_names_are_those_of_the_package() -> None:
    assert set(certifying.__all__) <= set(dir(certifying))
    assert all(getattr(certifying, name) is not None for name in certifying.__all__)


@pytest.mark.slow
def test_labels_of_strata_are_granted_in_the_share_of_studies_that_is_promised() -> None:
    """Labels fall on strata at random: a study of so many has a binomial number of each."""
    rng, votes = np.random.default_rng(5), 12
    rates = {"rare": rng.beta(9.0, 0.5, 300), "usual": rng.beta(12.0, 0.5, 900)}
    strata = [[(int(rng.binomial(votes, rate)), votes) for rate in found] for found in rates.values()]
    [price] = [one for one in stratified_prices(strata, labels=200, **LEVEL) if one.votes == votes]
    assert price.labels is not None
    [rare, _] = [[(0.25 * covered, risk) for covered, risk in curve_of(one, votes)] for one in strata]
    assert chance(rare, price.labels, agreement=0.9, delta=0.05) >= 0.8
    accepted = rng.binomial(price.labels, rare[0][0], (20_000, 1))
    truth = (np.array([rare[0][0]]), np.array([rare[0][1]]))
    found = studies(accepted, rng.binomial(accepted, rare[0][1]), truth, agreement=0.9, delta=0.05)
    assert 1 - found.refused >= 0.79
    assert price.chance == min(chance(rare, 200, agreement=0.9, delta=0.05), price.chance)


@pytest.mark.slow
def test_cases_of_no_stratum_take_labels_too() -> None:
    votes = recorded()
    all_named, half = (
        {one.votes: one for one in stratified_prices([votes], cases=cases, **LEVEL)} for cases in (None, 2 * len(votes))
    )
    assert (half[30].labels or 0) == pytest.approx(2 * (all_named[30].labels or 0), rel=0.1)
    assert (half[30].coverage or 1) == pytest.approx((all_named[30].coverage or 0) / 2, abs=0.05)


def curve_of(agreed: list[tuple[int, int]], votes: int) -> list[tuple[float, float]]:
    """The coverage and the risk of the surest decisions, as a stratum by itself has them."""
    fitted = _beta(agreed)
    assert fitted is not None
    return list(_curve(*fitted, votes))
