"""Strata of labelled cases, whether they are of one population, and labels that were selected by verdict."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self

from judgeharness_integrations.verdictlog.encoding import p_text, safe_text
from judgeharness_integrations.verdictlog.row import is_number, verdict_text

from ..statistics.means import effect_of_copies
from ..statistics.proportions import holm
from .items import Judged, LabelledItem, cluster_keys
from .rates import Rate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ALPHA",
    "SELECTION_LEVEL",
    "SMALLEST_EXPECTED",
    "WITHHELD",
    "Selection",
    "Strata",
    "StratumRates",
    "fisher_p",
    "homogeneity_p",
    "selection_by_sureness",
    "selection_of",
    "selection_of_items",
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


SELECTION_LEVEL: Final = 0.01
_TWO: Final = 2
_SEED: Final = 0
_DRAWS: Final = 101
_LONGEST: Final = 40
# averages over what the judge decided: they follow the share of each decision among the labelled items
WITHHELD: Final = "withheld, as the labelled cases were selected by what the judge decided"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """How often each decision occurs among labelled and other cases, and the `p` that labels were drawn regardless.

    `labelled` and `unlabelled` map a decision to cases. `p` is that of Fisher's exact test of one decision
    against all others, where there are several times their number (Bonferroni); `decision` is the one it is of.
    """

    labelled: Mapping[str, int]
    unlabelled: Mapping[str, int]
    decision: str
    p: float

    @property
    def found(self) -> bool:
        """Whether the labelled cases were selected by verdict: p is at most `SELECTION_LEVEL`."""
        return self.p <= SELECTION_LEVEL

    @property
    def counts(self) -> str:
        """How often the decision is made about labelled cases and about the others."""
        mine, others = sum(self.labelled.values()), sum(self.unlabelled.values())
        hits, missing = self.labelled.get(self.decision, 0), self.unlabelled.get(self.decision, 0)
        word = "none" if not hits else str(hits)
        return (
            f"{word} of {mine} labelled cases and {missing} of {others} without a label are judged "
            f"{self.decision:.{_LONGEST}} (p {p_text(self.p)})"
        )

    @property
    def sentence(self) -> str:
        """What was found and what is to be done."""
        return self.told("what averages over decisions is withheld (precision of a decision is not)")

    def told(self, what: str) -> str:
        """Return what was found, what follows from it, and what is to be done."""
        found = f"the labelled cases were selected by what the judge decided: {self.counts}"
        return f"{found}; {what}: label a random sample of the cases"


def selection_of(
    decisions: Sequence[str], labelled: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Selection | None:
    """Test whether having a label depends on the decision: Fisher's exact test (Fisher 1935, section 21.02).

    Labels drawn at random, whatever the judge is like, are called selected in at most `SELECTION_LEVEL` of studies.
    Items that share a cluster are labelled and decided together: one item of each is drawn, 101 times over, and p is
    twice the median (multiple outputation, Follmann, Proschan and Leifer 2003; the bound is Rueger's of 1978).

    Args:
        decisions: one an item.
        labelled: whether it has a label.
        clusters: which cluster it is in; without, each stands alone.

    Returns:
        None where nothing can be compared: all are labelled, none is, or all are decided alike.

    """
    mine, others = (
        Counter(one for one, has in zip(decisions, labelled, strict=True) if has == side) for side in (True, False)
    )
    seen = sorted({*mine, *others})
    if not mine or not others or len(seen) < _TWO:
        return None
    tables = _tables([seen.index(one) for one in decisions], labelled, clusters, len(seen))
    factor = (1 if len(seen) == _TWO else len(seen)) * (1 if len(tables) == 1 else 2)
    found = [
        (statistics.median(_selection_p(with_label, without, place) for with_label, without in tables), one)
        for place, one in enumerate(seen)
    ]
    least, decision = min(found, key=lambda pair: (pair[0], mine[pair[1]]))
    return Selection(labelled=dict(mine), unlabelled=dict(others), decision=decision, p=min(1.0, factor * least))


def selection_by_sureness(
    scores: Sequence[float], labelled: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Selection | None:
    """Test whether surer decisions have labels more often; see `selection_of`.

    Labels of the surest decisions alone say nothing of the others, whatever was decided; more labels of unsure ones do
    no harm to what is certified of all: None. Scores are compared by whether they reach their median, or where that is
    the least of them, by whether they are above it.
    """
    if not scores or min(scores) == max(scores):
        return None
    middle, least = statistics.median_high(scores), min(scores)
    split = middle if middle > least else min(score for score in scores if score > least)
    sure = f"at least {split:.3g} sure"
    told = [sure if score >= split else f"less than {split:.3g} sure" for score in scores]
    found = selection_of(told, labelled, clusters)
    if found is None:
        return None
    mine, others = (side.get(sure, 0) / sum(side.values()) for side in (found.labelled, found.unlabelled))
    return found if mine > others else None


def _selection_p(labelled: Sequence[int], others: Sequence[int], place: int) -> float:
    hits, other_hits = labelled[place], others[place]
    return fisher_p(hits, sum(labelled) - hits, other_hits, sum(others) - other_hits)


def _tables(
    codes: Sequence[int], labelled: Sequence[bool], clusters: Sequence[Hashable] | None, kinds: int
) -> list[tuple[list[int], list[int]]]:
    """Return how often each decision occurs with and without a label: once, or for each draw of one item a cluster."""
    import numpy as np  # noqa: PLC0415 - few calibrations have cases without a label

    keys = range(len(codes)) if clusters is None else clusters
    places: dict[Hashable, int] = {}
    groups = np.array([places.setdefault(key, len(places)) for key in keys])
    code, has = np.array(codes), np.array(labelled, dtype=bool)
    sizes = np.bincount(groups)
    order, starts = np.argsort(groups, kind="stable"), np.cumsum(sizes) - sizes
    drawn = np.random.default_rng(_SEED)
    tables = []
    for _ in range(1 if len(sizes) == len(code) else _DRAWS):
        chosen = order[starts + (drawn.random(len(sizes)) * sizes).astype(int)]
        sides = (code[chosen][has[chosen] == side] for side in (True, False))
        first, second = (np.bincount(side, minlength=kinds).tolist() for side in sides)
        tables.append((first, second))
    return tables


def selection_of_items(
    items: Iterable[LabelledItem], criterion: str, clusters: Mapping[str, Hashable] | None = None
) -> Selection | None:
    """Test the decisions about one criterion; items without gold are the others. See `selection_of`.

    Scores are compared by whether they are above their median.

    Args:
        items: of any criteria.
        criterion: the one that is tested.
        clusters: what a case shares with others; without, each stands alone.

    """
    items = [item for item in items if item.criterion == criterion]
    scores = [float(item.verdict) for item in items if item.status == "decided" and is_number(item.verdict)]  # type: ignore[arg-type]
    middle = statistics.median(scores) if scores else None
    return selection_of(
        [_decision(item, middle) for item in items],
        [item.gold is not None for item in items],
        [(clusters or {}).get(item.case_id, item.case_id) for item in items],
    )


def _decision(item: LabelledItem, middle: float | None) -> str:
    if item.status != "decided" or item.verdict is None:
        return "ABSTAIN" if item.status == "abstained" else "NOT_GRADED"
    if middle is None or not is_number(item.verdict):
        return verdict_text(item.verdict)
    return f"above {middle:g}" if float(item.verdict) > middle else f"at most {middle:g}"  # type: ignore[arg-type]
