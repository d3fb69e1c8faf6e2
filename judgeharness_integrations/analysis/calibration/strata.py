"""How right a rule is in each stratum of the labelled cases, and whether strata are of one population."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self

from judgeharness_integrations.analysis.calibration.items import Judged, cluster_keys
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.statistics.clusters import effect_of_copies
from judgeharness_integrations.analysis.statistics.multiplicity import holm
from judgeharness_integrations.verdictlog.plain import p_text, safe_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ALPHA",
    "SMALLEST_EXPECTED",
    "Strata",
    "StratumRates",
    "fisher_p",
    "homogeneity_p",
    "strata_of",
    "stratum_text",
]


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


ALPHA: Final = 0.05
_MEASURES: Final = ("precision", "recall")
_SEVERAL: Final = 2
_LONGEST_NAME: Final = 60


@dataclass(frozen=True, kw_only=True)
class StratumRates:
    """Precision and recall over the `n` labelled cases of one stratum; see `CriterionCalibration`."""

    stratum: str
    n: int
    precision: Rate | None
    recall: Rate | None


@dataclass(frozen=True, kw_only=True)
class Strata:
    """The labelled cases by the values of a column, most of them first.

    `p` maps `precision` and `recall` to the p-value of the hypothesis that it is the same in every stratum
    (`homogeneity_p`, adjusted by Holm for the two), None where that cannot be tested. `missing` labelled cases say
    nothing in the column. Scores have no precision: `reason` says so.
    """

    column: str
    listed: tuple[StratumRates, ...]
    p: Mapping[str, float | None]
    missing: int = 0
    reason: str = ""

    @property
    def sentence(self) -> str:
        """Which pooled number does not hold for every stratum; empty where none was found."""
        found = [(name, p) for name, p in self.p.items() if p is not None and p <= ALPHA]
        if not found:
            return ""
        told = ", ".join(f"{name} from {self._extremes(name)} (p {p_text(p)})" for name, p in found)
        what = "the pooled number does" if len(found) == 1 else "the pooled numbers do"
        return f"{what} not hold for every {self.column}: {told}; read each stratum by itself"

    def without(self, names: Collection[str]) -> Self:
        """Return it without the rates of these names, and their tests."""
        gone: dict[str, Any] = {name: None for name in _MEASURES if name in names}
        kept = {name: None if name in gone else p for name, p in self.p.items()}
        return replace(self, listed=tuple(replace(one, **gone) for one in self.listed), p=kept)

    def one_of(self, columns: int) -> Self:
        """Return it as one of several columns that nobody named: p-values are adjusted by Sidak (1967)."""
        return replace(self, p={name: p if p is None else 1 - (1 - p) ** columns for name, p in self.p.items()})

    def _extremes(self, name: str) -> str:
        rates = [(rate.value, one.stratum) for one in self.listed if (rate := getattr(one, name)) is not None]
        low, high = min(rates), max(rates)
        return f"{low[0]:.3f} ({stratum_text(low[1])}) to {high[0]:.3f} ({stratum_text(high[1])})"

    def lines(self) -> Iterator[str]:
        """Yield a line a stratum, and what the tests say."""
        if self.reason:
            yield f"by {self.column}: {self.reason}"
            return
        for one in self.listed:
            precision, recall = (rate or "none" for rate in (one.precision, one.recall))
            yield f"{self.column} {stratum_text(one.stratum)}: n={one.n}, precision {precision}, recall {recall}"
        if self.missing:
            yield f"{self.missing} labelled cases say nothing in {self.column}"
        tested = [f"{name} p {p_text(p, none='not tested')}" for name, p in self.p.items()]
        yield self.sentence or f"the same in every {self.column}? {', '.join(tested)}"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what `dataclasses.asdict` made of one."""
        rates = [
            {**one, **{name: None if one[name] is None else Rate(**one[name]) for name in _MEASURES}}
            for one in data["listed"]
        ]
        return cls(**{**data, "listed": tuple(StratumRates(**one) for one in rates)})


def stratum_text(stratum: str) -> str:
    """Return the name of a stratum as tables and sentences show it: on one line, cut where it is very long."""
    return safe_text(stratum, _LONGEST_NAME)


def strata_of(
    items: Sequence[Judged],
    strata: Sequence[str | None],
    column: str,
    rates: Callable[[Sequence[Judged]], tuple[Rate | None, Rate | None]],
) -> Strata:
    """Return the rates of labelled cases by stratum.

    Args:
        items: the labelled cases.
        strata: of each case what it says in the column; None where it says nothing.
        column: the column's name.
        rates: the precision and recall of some of the cases.

    """
    counts, keys = Counter(name for name in strata if name is not None), cluster_keys(items)
    listed: list[StratumRates] = []
    copies = [1.0]
    for name, n in counts.most_common():
        places = [place for place, one in enumerate(strata) if one == name]
        precision, recall = rates([items[place] for place in places])
        listed.append(StratumRates(stratum=name, n=n, precision=precision, recall=recall))
        copies.append(effect_of_copies(Counter(keys[place] for place in places).values()))
    found = {name: _p([getattr(one, name) for one in listed], max(copies)) for name in _MEASURES}
    tested = [name for name, p in found.items() if p is not None]
    found.update(zip(tested, holm([found[name] or 0.0 for name in tested]), strict=True))
    return Strata(column=column, listed=tuple(listed), p=found, missing=len(items) - sum(counts.values()))


def _p(rates: Sequence[Rate | None], copies: float) -> float | None:
    table = [(rate.successes, rate.trials - rate.successes) for rate in rates if rate is not None]
    return homogeneity_p(table, copies=copies) if len(table) >= _SEVERAL else None
