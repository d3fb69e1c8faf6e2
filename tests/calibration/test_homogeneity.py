"""Tables of counts of independent samples: chi square, exact tests, clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency, fisher_exact, multinomial

from judgeharness_integrations.analysis.calibration import strata as homogeneity
from judgeharness_integrations.analysis.calibration.strata import homogeneity_p


def test_large_counts_are_tested_by_chi_square() -> None:
    table = [[30, 20, 10], [25, 30, 15], [40, 22, 9]]
    assert homogeneity_p(table) == pytest.approx(chi2_contingency(np.array(table), correction=False)[1])


def test_four_small_counts_are_tested_by_fisher() -> None:
    table = [[9, 1], [4, 8]]
    assert homogeneity_p(table) == pytest.approx(fisher_exact(table)[1])


def test_more_small_counts_are_tested_by_tables_with_the_same_margins() -> None:
    table = [[8, 1, 1], [1, 5, 4]]
    sizes, columns = np.sum(table, axis=1), np.sum(table, axis=0)
    expected = np.outer(sizes, columns) / np.sum(table)
    observed = np.sum((np.array(table) - expected) ** 2 / expected)
    total = extreme = 0.0
    for first in range(columns[0] + 1):
        for second in range(columns[1] + 1):
            third = sizes[0] - first - second
            if not 0 <= third <= columns[2]:
                continue
            top = np.array([first, second, third])
            weight = multinomial.pmf(top, sizes[0], columns / columns.sum()) * multinomial.pmf(
                columns - top, sizes[1], columns / columns.sum()
            )
            statistic = np.sum((np.array([top, columns - top]) - expected) ** 2 / expected)
            total, extreme = total + weight, extreme + weight * (statistic >= observed - 1e-9)
    p = homogeneity_p(table)
    assert p == pytest.approx(extreme / total, abs=0.005)
    assert p == homogeneity_p(table)  # it is seeded


def test_clusters_make_a_statistic_worth_less() -> None:
    table = np.array([[60, 40], [80, 20]])
    statistic = chi2_contingency(table, correction=False)[0]
    assert homogeneity_p(table.tolist(), copies=2.5) == pytest.approx(chi2.sf(statistic / 2.5, 1))
    assert homogeneity_p([[10, 4], [8, 5]], copies=2.0) is None


def test_what_cannot_differ_does_not() -> None:
    assert homogeneity_p([[5, 0], [7, 0]]) == 1.0
    assert homogeneity_p([[5, 3], [0, 0]]) is None


def test_many_strata_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [[3, 1], [2, 2], [0, 4], [1, 3], [4, 0]]
    whole = homogeneity_p(table)
    monkeypatch.setattr(homogeneity, "_CELLS", 1_000)
    assert homogeneity_p(table) == pytest.approx(whole, abs=0.01)
