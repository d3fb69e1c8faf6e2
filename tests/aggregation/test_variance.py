from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.aggregation import VarianceSplit, variance_split
from judgeharness_integrations.verdictlog import VerdictRow, read_log

DATA = Path(__file__).parents[1] / "data"


def table(values: np.ndarray) -> list[VerdictRow]:
    """Rows of a cases x perturbations x repetitions array."""
    cases, perturbations, _ = values.shape
    return [
        row
        for i in range(cases)
        for j in range(perturbations)
        for row in sampled([float(v) for v in values[i, j]], case_id=f"c{i}", perturbation=f"p{j}")
    ]


def balanced(values: np.ndarray) -> tuple[float, float, float]:
    """Nested ANOVA of a balanced table by its textbook mean squares."""
    a, b, n = values.shape
    cells, cases, grand = values.mean(axis=2), values.mean(axis=(1, 2)), values.mean()
    within = ((values - cells[:, :, None]) ** 2).sum() / (a * b * (n - 1))
    between = n * ((cells - cases[:, None]) ** 2).sum() / (a * (b - 1))
    top = b * n * ((cases - grand) ** 2).sum() / (a - 1)
    return (top - between) / (b * n), (between - within) / n, within


def test_a_balanced_table_gives_the_textbook_components() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(6, 3, 4)) + 2 * rng.normal(size=(6, 1, 1)) + rng.normal(size=(6, 3, 1))
    cases, perturbations, repetitions = balanced(values)
    split = variance_split(table(values))
    assert split.between_cases == pytest.approx(cases)
    assert split.between_perturbations == pytest.approx(perturbations)
    assert split.between_repetitions == pytest.approx(repetitions)
    assert split.clipped == ()
    assert split.reliability == pytest.approx(cases / (cases + perturbations + repetitions))


@pytest.mark.slow
def test_unbalanced_tables_are_unbiased() -> None:
    rng = np.random.default_rng(7)
    sums, replicates = np.zeros(3), 400
    for _ in range(replicates):
        rows = []
        for case in range(12):
            level = rng.normal(0, 2.0)
            for j in range(int(rng.integers(1, 4))):
                shift = rng.normal(0, 1.0)
                noise = rng.normal(0, 0.5, size=int(rng.integers(1, 5)))
                rows += sampled([float(level + shift + e) for e in noise], case_id=f"c{case}", perturbation=f"p{j}")
        split = variance_split(rows)
        unclipped = [split.between_cases, split.between_perturbations, split.between_repetitions]
        sums += np.array(unclipped, dtype=float)
    means = sums / replicates
    assert means[0] == pytest.approx(4.0, rel=0.12)
    assert means[1] == pytest.approx(1.0, rel=0.12)
    assert means[2] == pytest.approx(0.25, rel=0.05)


def test_a_negative_component_is_zero_and_named() -> None:
    # equal means of cases and perturbations, all spread between repetitions
    split = variance_split(table(np.array([[[0.0, 2.0], [0.0, 2.0]], [[0.0, 2.0], [0.0, 2.0]]])))
    assert (split.between_cases, split.between_perturbations, split.between_repetitions) == (0.0, 0.0, 2.0)
    assert split.clipped == ("perturbations",)
    assert split.reliability == 0.0


def test_both_upper_components_can_be_clipped() -> None:
    crossed = np.array([[[0.0, 2.0], [2.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]]])
    noisy = variance_split([*table(crossed), *sampled([1.0, 1.0], case_id="c9", perturbation="p0")])
    assert "perturbations" in noisy.clipped
    assert noisy.between_perturbations == 0.0


def test_labels_enter_as_an_indicator() -> None:
    rows = [*sampled(["PASS", "PASS"], case_id="c1"), *sampled(["FAIL", None, "PASS"], case_id="c2")]
    numbers = [*sampled([1, 1], case_id="c1"), *sampled([0, None, 1], case_id="c2")]
    assert variance_split(rows) == variance_split(numbers)
    assert variance_split(rows, positive="FAIL") == variance_split(rows)
    assert variance_split(rows, positive="A") == variance_split([*sampled([0, 0]), *sampled([0, 0], case_id="c2")])


@pytest.mark.parametrize(
    "rows",
    [[], sampled([None]), sampled([7]), [*sampled([7]), *sampled([8], case_id="c2")]],
    ids=["empty", "failed", "one", "never repeated"],
)
def test_what_cannot_be_estimated_is_none(rows: list[VerdictRow]) -> None:
    split = variance_split(rows)
    assert split == VarianceSplit(between_cases=None, between_perturbations=None, between_repetitions=None)
    assert split.reliability is None


def test_each_component_needs_its_own_replication() -> None:
    one_case = variance_split([*sampled([1, 2]), *sampled([4, 5], perturbation="p")])
    assert one_case.between_cases is None
    assert one_case.between_perturbations is not None
    one_perturbation = variance_split([*sampled([1, 2]), *sampled([4, 5], case_id="c2")])
    assert one_perturbation.between_perturbations is None
    assert one_perturbation.between_cases == pytest.approx(4.25)
    constant = variance_split([*sampled([1, 1]), *sampled([1, 1], case_id="c2")])
    assert (constant.between_cases, constant.reliability) == (0.0, None)


@pytest.mark.parametrize(
    ("file", "name"), [("gpt4_ratings_mt_bench", "mt_bench_eval"), ("gpt4_ratings_vicuna", "vicuna_eval")]
)
def test_real_ratings_have_the_published_reliability(file: str, name: str) -> None:
    golden = json.loads((DATA / "golden" / "repeats.json").read_text())["sets"][name]
    rows = read_log(DATA / f"{file}.csv.gz")
    np.random.default_rng(3).shuffle(rows)
    split = variance_split(rows)
    assert split.reliability == pytest.approx(golden["icc1_single"], abs=1e-9)
    assert split.between_repetitions is not None
    assert split.between_repetitions**0.5 == pytest.approx(golden["within_sd_root_mean_variance"], abs=1e-9)
