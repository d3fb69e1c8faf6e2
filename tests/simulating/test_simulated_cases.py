"""Simulated cases hold what perturbations change, and a gold label that is true."""

from __future__ import annotations

import pytest

from judgeharness_integrations import PairwiseCase
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.perturbations import PERTURBATION_NAMES, perturbation
from judgeharness_integrations.testing import SimulatedJudge, simulated_cases


def test_every_perturbation_fits_every_case() -> None:
    for case in simulated_cases(30):
        assert isinstance(case, PairwiseCase)
        for name in PERTURBATION_NAMES:
            assert perturbation(name, rewriter=str).fits(case) is None, name
        assert len({"Ada" in text for text in case.texts()}) == 2  # each answer mentions one of the two


@pytest.mark.parametrize(("kind", "gold"), [("pairwise", {"A", "B"}), ("graded", {"PASS", "FAIL"}), ("scores", {3, 8})])
def test_half_of_the_cases_are_better_the_other_way_round(kind: str, gold: set[object]) -> None:
    cases = simulated_cases(41, kind=kind, quality_difference=1.2)  # type: ignore[arg-type]
    assert {case.gold for case in cases} == gold
    assert sorted(case.attributes["quality_difference"] for case in cases) == [-1.2] * 20 + [1.2] * 21
    judge = SimulatedJudge(kind=kind, noise=0.0)  # type: ignore[arg-type]
    assert all(row.verdict == row.gold for row in judge.rows(cases, repetitions=1))
    assert len({case.case_id for case in cases}) == 41


def test_no_difference_is_a_tie() -> None:
    assert {case.gold for case in simulated_cases(4, quality_difference=0.0)} == {"TIE"}


def test_the_seed_decides() -> None:
    assert simulated_cases(20, seed=1) == simulated_cases(20, seed=1)
    assert simulated_cases(20, seed=1) != simulated_cases(20, seed=2)


def test_what_cannot_be_made() -> None:
    with pytest.raises(UsageError, match="-1 cases of kind 'pairwise'"):
        simulated_cases(-1)
    with pytest.raises(UsageError, match="one of pairwise, graded, scores"):
        simulated_cases(1, kind="ranked")  # type: ignore[arg-type]
