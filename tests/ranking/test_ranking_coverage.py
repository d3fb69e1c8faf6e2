"""What the intervals of differences are worth: conditional ones cover, joint ones do not. The full grid: `selftest`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from judgeharness_integrations.testing.selftest.judges import RANKINGS, difference_intervals

pytestmark = pytest.mark.slow

REPLICATES = 300
# seeds are fixed: the bounds are what 300 replicates of a true 95 % could hardly miss, and the seeds do not
LOW, HIGH = (0.95 + sign * 3 * math.sqrt(0.95 * 0.05 / REPLICATES) for sign in (-1, 1))


def covered(method: str, *, judges: int, pairs: int, seed: int, **options: float) -> float:
    point = {"judges": judges, "pairs": pairs, "gap": 1.5, **options}
    low, high, truth = difference_intervals(
        point,
        REPLICATES,
        np.random.default_rng(seed),
        method="bradley-terry" if method == "joint" else "conditional",
    )
    assert not np.isnan(low).any()
    return float(np.mean((low <= truth) & (truth <= high)))


@pytest.mark.parametrize(("judges", "pairs"), [(3, 200), (6, 150), (21, 60)])
def test_conditional_intervals_cover(judges: int, pairs: int) -> None:
    assert LOW <= covered("conditional", judges=judges, pairs=pairs, seed=1) <= HIGH


@pytest.mark.parametrize("judges", [3, 6])
def test_conditional_intervals_cover_with_missing_cells_and_with_clusters(judges: int) -> None:
    assert LOW <= covered("conditional", judges=judges, pairs=200, seed=2, missing=0.2) <= HIGH
    assert LOW <= covered("conditional", judges=judges, pairs=200, seed=3, size=4) <= HIGH


@pytest.mark.parametrize(("judges", "most"), [(3, 0.3), (6, 0.75), (21, 0.925)])
def test_joint_intervals_miss_the_more_the_fewer_the_judges(judges: int, most: float) -> None:
    assert covered("joint", judges=judges, pairs=400, seed=4) < most


def test_every_replicate_of_the_grid_is_rated() -> None:
    """What is not rated would be left out of the share that covers."""
    for check in RANKINGS[:2]:
        for point in check.points[:3]:
            low, _, _ = check.simulate(point, 20, np.random.default_rng(5))  # type: ignore[misc]
            assert not np.isnan(low).any()
