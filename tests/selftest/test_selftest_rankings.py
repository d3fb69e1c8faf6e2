"""The planted truths of rankings, and intervals that are declared too narrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from judgeharness_integrations.analysis.ranking.rating import rate
from judgeharness_integrations.testing.selftest import IntervalCheck, run_selftest
from judgeharness_integrations.testing.selftest.judges import RANKINGS, _abilities, _contrast, _drawn, _elo, _fit

POINT = {"judges": 4, "gap": 1.5, "pairs": 20_000}


def check(half: float, **options: Any) -> IntervalCheck:
    """Return the check of a normal number's interval of this half width, 1.96 being right."""

    def simulate(point: Any, replicates: int, generator: np.random.Generator) -> Any:
        found = generator.normal(size=replicates)
        return found - half, found + half, 0.0

    return IntervalCheck(**{"name": "planted", "points": ({"n": 1},), "simulate": simulate, "fast": 1} | options)


def test_an_interval_declared_narrow_is_no_miss_and_is_shown_for_what_it_is() -> None:
    report = run_selftest([check(0.5, narrow=True)], full=True)
    [found] = report.checks
    assert (found.verdict, found.reason, report.passed) == ("narrow", "covers less than its nominal 95 %", True)
    assert found.mean == pytest.approx(0.383, abs=0.04)


def test_an_interval_declared_narrow_that_covers_is_a_miss() -> None:
    [found] = run_selftest([check(1.96, narrow=True)], full=True).checks
    assert (found.verdict, found.reason) == ("miss", "it is declared narrow and covers what it says")


@pytest.mark.parametrize("more", [{}, {"missing": 0.3}, {"size": 4}])
def test_judges_are_as_far_apart_as_planted(more: Any) -> None:
    found = rate(_drawn(POINT | more, np.random.default_rng(1)), methods=("conditional",)).conditional
    assert found is not None
    assert found.theta == pytest.approx(_abilities(POINT), abs=0.06)
    assert _abilities(POINT)[-1] - _abilities(POINT)[0] == POINT["gap"]


def test_missing_cells_and_copies_are_as_many_as_planted() -> None:
    generator = np.random.default_rng(2)
    assert 1 - _drawn(POINT | {"missing": 0.3}, generator).seen.mean() == pytest.approx(0.3, abs=0.01)
    values = _drawn(POINT | {"size": 4, "judges": 21}, generator).values.reshape(-1, 4, 21)
    alike = (values[:, 1:] == values[:, :1]).all(axis=2)
    assert alike.mean() == pytest.approx(0.5, abs=0.02)


def test_where_a_judge_cannot_be_rated_there_is_no_interval_and_no_test() -> None:
    point = {"judges": 3, "gap": 0.0, "pairs": 1}
    assert _fit(point, np.random.default_rng(3), "conditional") is None
    assert _contrast(point, np.random.default_rng(3), "bradley-terry") is None
    for one in RANKINGS:
        found = one.simulate(point | {"effect": 0.5}, 2, np.random.default_rng(3))
        assert all(np.isnan(part).all() for part in (found[:2] if isinstance(found, tuple) else (found,)))
    assert _elo(point, 2, np.random.default_rng(3))[2] == 0
