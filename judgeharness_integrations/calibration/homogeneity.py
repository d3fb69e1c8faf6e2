"""Whether independent samples are of one population: tables of counts, a row a sample."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SMALLEST_EXPECTED", "fisher_p", "homogeneity_p"]

SMALLEST_EXPECTED: Final = 5.0
_TABLES: Final = 9_999
_CELLS: Final = 1_000_000  # that are drawn at a time
_BY_CHANCE: Final = 1e-9


def homogeneity_p(table: Sequence[Sequence[int]], *, copies: float = 1.0, seed: int = 0) -> float | None:
    """Return the p-value of the hypothesis that all rows are samples of one distribution over the columns.

    Pearson's chi square where every expected count is at least 5; below that Fisher's exact test of two rows and two
    columns, and of larger tables the share of 9,999 seeded tables with the same margins (Patefield 1981) whose
    statistic is as large. Where items belong to clusters the statistic is divided by `copies`, which is what it is
    worth if the items of a cluster are copies of each other (Rao and Scott 1981, first order).

    Args:
        table: counts; rows and columns without any count for nothing.
        copies: the largest design effect of a row, (sum s^2) / (sum s) over the sizes of its clusters; at least 1.
        seed: of the tables.

    Returns:
        None where it cannot be told: fewer than two rows, or clusters with too few items for chi square. One column
        gives 1.0.

    """
    import numpy as np  # noqa: PLC0415 - heavy imports, which few measurements pay for
    from scipy.special import chdtrc  # noqa: PLC0415

    counts = np.array(table, dtype=np.int64).reshape(len(table), -1)
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    rows, columns = counts.shape
    if rows < 2:  # noqa: PLR2004 - there is nothing to compare
        return None
    if columns == 1:
        return 1.0
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    if expected.min() / copies >= SMALLEST_EXPECTED:
        return float(chdtrc((rows - 1) * (columns - 1), _pearson(counts, expected) / copies))
    return None if copies > 1 else _exact(counts, expected, seed)


def _pearson(counts: NDArray[np.int64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the statistic of one table, or of each of several."""
    statistic: NDArray[np.float64] = ((counts - expected) ** 2 / expected).sum((-2, -1))
    return statistic


def _exact(counts: NDArray[np.int64], expected: NDArray[np.float64], seed: int) -> float:
    import numpy as np  # noqa: PLC0415
    from scipy.stats import random_table  # noqa: PLC0415 - loads slowly, and few tables are small

    if counts.shape == (2, 2):
        return fisher_p(*counts.ravel().tolist())
    tables, generator = random_table(counts.sum(1), counts.sum(0)), np.random.default_rng(seed)
    bar, extreme, block = _pearson(counts, expected) * (1 - _BY_CHANCE), 0, max(1, _CELLS // counts.size)
    for start in range(0, _TABLES, block):
        drawn = tables.rvs(min(block, _TABLES - start), random_state=generator)
        extreme += int(np.sum(_pearson(drawn, expected) >= bar))
    return (1 + extreme) / (1 + _TABLES)


@lru_cache(4096)
def fisher_p(hits: int, misses: int, other_hits: int, other_misses: int) -> float:
    """Return the two-sided p-value of Fisher's exact test that two shares are the same (Fisher 1935, section 21.02)."""
    from scipy.stats import fisher_exact  # noqa: PLC0415 - loads slowly, and few tables are small

    found: Any = fisher_exact([[hits, misses], [other_hits, other_misses]])
    return float(found[1])
