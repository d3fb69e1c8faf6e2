"""How right a rule is in each stratum of the labelled cases, and whether the pooled number holds for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from judgeharness_integrations.calibration.homogeneity import homogeneity_p
from judgeharness_integrations.calibration.judged import Judged, cluster_keys
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.statistics.clusters import effect_of_copies
from judgeharness_integrations.statistics.multiplicity import holm

__all__ = ["ALPHA", "Strata", "StratumRates", "strata_of", "stratum_text"]

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
        told = ", ".join(f"{name} from {self._extremes(name)} (p {p:.2g})" for name, p in found)
        what = "the pooled number does" if len(found) == 1 else "the pooled numbers do"
        return f"{what} not hold for every {self.column}: {told}; read each stratum by itself"

    def without(self, names: Collection[str]) -> Self:
        """Return it without the rates of these names, and their tests."""
        gone: dict[str, Any] = {name: None for name in _MEASURES if name in names}
        kept = {name: None if name in gone else p for name, p in self.p.items()}
        return replace(self, listed=tuple(replace(one, **gone) for one in self.listed), p=kept)

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
        tested = [f"{name} p {'not tested' if p is None else format(p, '.2g')}" for name, p in self.p.items()]
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
    from judgeharness_integrations.reporting.plain import safe_text  # noqa: PLC0415 - reports read strata themselves

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
