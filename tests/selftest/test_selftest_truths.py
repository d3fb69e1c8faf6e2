"""The planted truths are what they are said to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from judgeharness_integrations.analysis.agreement.kappa import Bootstrap, alpha, cohen, fleiss, gwet
from judgeharness_integrations.analysis.agreement.ratings import Ratings
from judgeharness_integrations.analysis.statistics.agreement import cohen_kappa
from judgeharness_integrations.testing.selftest.agreement import (
    _PATTERNS,
    _advantages,
    _kappa,
    _ratings,
    _three_cells,
    drawn_answers,
    planted_table,
    true_ac1,
    true_kappa,
    true_macro_f1,
    true_rho,
)
from judgeharness_integrations.testing.selftest.proportions import cluster_effects, clustered_hits

WEIGHTS: tuple[Any, ...] = ("none", "linear", "quadratic")
METRICS: tuple[Any, ...] = ("nominal", "ordinal", "interval")
MANY = 100_000
NONE = Bootstrap(replicates=0)
TABLES = [(0.5, 0.2), (0.7, 0.5), (0.9, 0.8)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("rate", "kappa"), TABLES)
def test_two_raters_agree_as_planted(rate: float, kappa: float) -> None:
    cells = planted_table(rate, kappa)
    assert cells.sum() == pytest.approx(1)
    assert true_kappa(cells) == pytest.approx(kappa)
    counts = (cells * MANY).round().astype(int)
    table = {"P": {"P": counts[0], "F": counts[1]}, "F": {"P": counts[2], "F": counts[3]}}
    found = cohen_kappa(table)
    assert found is not None
    assert found.value == pytest.approx(kappa, abs=1e-3)
    two = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    assert gwet(_ratings(two, tuple(counts)), bootstrap=NONE).value == pytest.approx(true_ac1(cells), abs=1e-3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("rate", "kappa"), TABLES)
def test_three_raters_agree_as_planted(rate: float, kappa: float) -> None:
    cells = _three_cells(rate, kappa)
    assert cells.sum() == pytest.approx(1)
    ratings = _ratings(_PATTERNS, tuple((cells * MANY).round().astype(int)))
    assert fleiss(ratings, bootstrap=NONE).value == pytest.approx(kappa, abs=1e-3)
    assert alpha(ratings, bootstrap=NONE).value == pytest.approx(kappa, abs=1e-3)


@pytest.mark.parametrize(("human", "candidate"), [(0.8, 0.6), (0.95, 0.8), (0.5, 0.9)])
def test_rho_is_what_many_items_show(human: float, candidate: float) -> None:
    point = {"n": 40_000, "human": human, "first": candidate, "second": 0.5}
    first, second = _advantages(point, np.random.default_rng(0))
    for found, truth in ((first, true_rho(human, candidate)), (second, true_rho(human, 0.5))):
        assert ((found.tally.tie + found.tally.candidate) / found.tally.n).mean() == pytest.approx(truth, abs=0.01)


def test_clustered_data_have_the_correlation_they_are_to_have() -> None:
    generator = np.random.default_rng(0)
    shape = {"clusters": 5000, "size": 4, "replicates": 1}
    hits = clustered_hits(generator, rate=0.7, correlation=0.3, **shape)[0].reshape(-1, 4).astype(float)
    effects = cluster_effects(generator, correlation=0.3, **shape)[0].reshape(-1, 4)
    assert hits.mean() == pytest.approx(0.7, abs=0.02)
    for data in (hits, effects):
        correlations = np.corrcoef(data.T)[np.triu_indices(4, 1)]
        assert correlations.mean() == pytest.approx(0.3, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("kappa", [0.3, 0.7])
def test_answers_on_a_scale_agree_as_planted_under_any_weights(kappa: float) -> None:
    [answers] = drawn_answers(np.random.default_rng(0), kappa=kappa, categories=4, items=40_000, replicates=1)
    ratings = Ratings.of_numbers(answers)
    found = [cohen(ratings, weights=weights, bootstrap=NONE).value for weights in WEIGHTS]
    found += [alpha(ratings, metric=metric, bootstrap=NONE).value for metric in METRICS]
    assert found == pytest.approx([kappa] * len(found), abs=0.02)


@pytest.mark.parametrize(("rate", "kappa"), TABLES)
def test_macro_f1_is_as_scikit_learn_has_it(rate: float, kappa: float) -> None:
    cells = planted_table(rate, kappa)
    gold, decided = [1, 1, 0, 0], [1, 0, 1, 0]
    counts = (cells * MANY).round().astype(int)
    known = f1_score(np.repeat(gold, counts), np.repeat(decided, counts), average="macro")
    assert true_macro_f1(cells) == pytest.approx(known, abs=1e-3)


def test_where_both_always_say_the_same_there_is_no_clustered_kappa() -> None:
    assert _kappa([("PASS", "PASS")] * 4, [0, 0, 1, 1]) is None
