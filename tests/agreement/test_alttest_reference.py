"""The alternative annotator test against its definition, cell by cell, on random ragged panels."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.alttests import CANDIDATES, examine, panels, reference

from judgeharness_integrations.analysis.agreement import closeness as overlap

pytestmark = pytest.mark.slow

FITTING = [
    ("labels", "accuracy"),
    ("numbers", "accuracy"),
    ("numbers", "neg_rmse"),
    ("sets", "accuracy"),
    ("sets", "hamming"),
    ("sets", "jaccard"),
    ("sets", "macro_jaccard"),
]
EPSILONS = st.sampled_from([0, 0.05, 0.1, 0.2, 0.5, 1])


@pytest.mark.parametrize(("kind", "score"), FITTING)
@settings(max_examples=25)
@given(data=st.data(), epsilon=EPSILONS, multiplicative=st.booleans(), least=st.integers(1, 6))
def test_it_is_its_definition(
    kind: str, score: str, data: st.DataObject, epsilon: float, *, multiplicative: bool, least: int
) -> None:
    panel = data.draw(panels(kind))
    options: dict[str, Any] = {"multiplicative": multiplicative, "q": 0.3}
    report = examine(panel, scores=score, epsilons=epsilon, min_instances=least, **options)
    for found, candidate in zip(report.candidates, CANDIDATES, strict=True):
        expected = reference(panel, candidate, score=score, epsilon=epsilon, least=least, **options)
        assert [one.annotator for one in found.annotators] == expected["annotators"]
        p = [math.nan if one.p is None else one.p for one in found.annotators]
        assert p == pytest.approx(expected["p"], rel=1e-9, abs=1e-9, nan_ok=True)
        assert [one.rejected for one in found.annotators] == expected["rejected"]
        assert found.omega == pytest.approx(expected["omega"])
        assert found.rho == pytest.approx(expected["rho"])
        assert found.rho_human == pytest.approx(expected["rho_human"])
        assert found.m_tested + len(found.skipped) == len(panel) - len(CANDIDATES)


@pytest.mark.parametrize(("kind", "score"), FITTING)
@settings(max_examples=8)
@given(data=st.data(), seed=st.integers(0, 99))
def test_the_order_of_annotators_and_items_changes_nothing(
    kind: str, score: str, data: st.DataObject, seed: int
) -> None:
    panel = data.draw(panels(kind))
    rng = random.Random(seed)  # noqa: S311 - an order, no secret
    turned = {
        name: dict(rng.sample(list(panel[name].items()), len(panel[name])))
        for name in rng.sample(list(panel), len(panel))
    }
    options: dict[str, Any] = {"scores": score, "epsilons": [0, 0.2], "min_instances": 2}
    tests = [
        {
            (one.candidate, one.epsilon): (one.omega, one.passed, {row.annotator: row for row in one.annotators})
            for one in examine(given, **options).candidates
        }
        for given in (panel, turned)
    ]
    assert tests[0] == tests[1]


@settings(max_examples=25)
@given(data=st.data())
def test_a_function_that_is_a_named_score_gives_the_same(data: st.DataObject) -> None:
    panel = data.draw(panels("sets"))

    def similarity(prediction: frozenset[str], annotations: list[frozenset[str]]) -> float:
        shares = [len(prediction & one) / len(prediction | one) if prediction | one else 1.0 for one in annotations]
        return sum(shares) / len(shares)

    report = examine(panel, scores=["jaccard", similarity], min_instances=2)
    by_score: dict[str, list[Any]] = {"jaccard": [], "similarity": []}
    for one in report.candidates:
        by_score[one.score].append((one.candidate, one.omega, one.annotators))
    assert by_score["jaccard"] == by_score["similarity"]
    assert {one.score for one in report.scope.ceilings} <= {"jaccard"}


@settings(max_examples=10)
@given(data=st.data())
def test_large_vocabularies_and_small_memory_change_nothing(data: st.DataObject) -> None:
    panel = data.draw(panels("sets"))
    options: dict[str, Any] = {"scores": ["jaccard", "macro_jaccard", "hamming", "accuracy"], "min_instances": 2}
    expected = examine(panel, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("judgeharness_integrations.analysis.agreement.alttest.ceilings", lambda *_, **__: ())
        patch.setattr(overlap, "_TABLE", 0)
        patch.setattr(overlap, "_PAIRS", 3)
        patch.setattr("judgeharness_integrations.analysis.agreement.closeness._CHUNK", 5)
        patch.setattr("judgeharness_integrations.analysis.agreement.closeness._DENSE", 0)
        assert examine(panel, **options).candidates == expected.candidates


@pytest.mark.parametrize("score", ["hamming", "jaccard", "macro_jaccard", "neg_rmse"])
@pytest.mark.parametrize("humans", [3, 6, 9, 12])
def test_ties_of_different_answers_are_decided_by_the_published_means(score: str, humans: int) -> None:
    rng = np.random.default_rng(humans)

    def answer() -> Any:
        if score == "neg_rmse":
            return int(rng.integers(10, 30)) / 10
        return [label for label in "abcdef" if rng.random() < 0.4]

    names = [f"h{number:02d}" for number in range(humans)]
    panel = {name: {f"i{item}": answer() for item in range(120)} for name in [*names, *CANDIDATES]}
    options: dict[str, Any] = {"score": score, "epsilon": 0.1, "multiplicative": False, "q": 0.05}
    turned = {name: panel[name] for name in reversed(panel)}
    for given_panel in (panel, turned):
        for found in examine(given_panel, scores=score, epsilons=0.1).candidates:
            expected = reference(panel, found.candidate, least=30, **options)
            assert found.rho == pytest.approx(expected["rho"], abs=1e-12)
            assert found.rho_human == pytest.approx(expected["rho_human"], abs=1e-12)
