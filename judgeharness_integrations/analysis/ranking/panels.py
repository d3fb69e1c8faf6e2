"""What several judges are worth together: how alike they err, and what their majority reaches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.ranking.credits import Credits, Floats, Ints, Marks
from judgeharness_integrations.analysis.ranking.judgefacts import plain_record
from judgeharness_integrations.analysis.statistics.clusters import cluster_degrees
from judgeharness_integrations.analysis.statistics.means import t_quantile
from judgeharness_integrations.verdictlog.plain import counted

_SIZES: Final = (3, 5, 9)  # of panels of the best judges: odd, so that they have a majority
_LEAST: Final = 3  # judges that have one
_SAME: Final = 1e-12  # of a variance or a correlation: rounding alone
_HALVES: Final = 3  # credits that a tie can make: 0, 1/2, 1
_CLUSTERS: Final = 3  # of which any may be deleted: two leave one, in which nothing is between clusters


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The judges of a log, or the best of them, as one panel.

    Every number is of the `pairs` with gold about which each of the `judges` (best first) was asked; `left_out` others
    were not. `correlation`: mean over pairs of judges of the correlation of their errors (phi), with a jackknife
    interval over clusters; judges in `alike` err, or are right, in too few clusters to have one, and are in none.
    `effective`: k / (1 + (k - 1) correlation) of the k others, the number of independent judges whose mean varies as
    much (Kish 1965). `majority`: share of pairs about which more than half of the judges are right; `independent`: the
    same for judges as often right each, and independent (Poisson-binomial, exact). `best`: mean credit of the best of
    them. None is not measured, and `reason` says why.
    """

    judges: tuple[str, ...]
    pairs: int
    left_out: int
    correlation: float | None = None
    correlation_ci95: tuple[float, float] | None = None
    alike: tuple[str, ...] = ()
    effective: float | None = None
    effective_ci95: tuple[float, float] | None = None
    majority: float | None = None
    majority_ci95: tuple[float, float] | None = None
    independent: float | None = None
    best: float | None = None
    reason: str = ""

    @property
    def sentence(self) -> str:
        """What the panel is worth, in a sentence with its denominator."""
        told = []
        if self.correlation is not None:
            worth = "" if self.effective is None else f", as much as {self.effective:.1f} independent judges"
            told.append(f"errors correlate at {self.correlation:.2f}{_ends(self.correlation_ci95)}{worth}")
        if self.majority is not None:
            promise = "" if self.independent is None else f", where independence promises {self.independent:.3f}"
            told.append(f"the majority is right about {self.majority:.3f}{_ends(self.majority_ci95, 3)}{promise}")
        if self.reason:
            told.append(f"not measured: {self.reason}")
        count = counted(self.pairs, "pair")
        return f"{len(self.judges)} judges together, on {count} asked of each: {'; '.join(told)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the panel as JSON keeps it."""
        return plain_record(self)


def panels(matrix: Credits, *, clusters: Ints | None = None) -> tuple[Panel, ...]:
    """Return the panels of the best 3, 5 and 9 judges, of those there are more of, and of all; () of one judge.

    The best are those of the highest mean credit on the pairs they were asked about. They are chosen by the same pairs,
    which flatters them.

    Args:
        matrix: credits of all labelled pairs, before curation: unanimous pairs count.
        clusters: (pairs,) of `matrix`; each pair stands alone without.

    """
    asked = np.flatnonzero(matrix.seen.any(axis=0))
    mean = np.nanmean(matrix.values[:, asked], axis=0)
    order = asked[np.argsort(-mean, kind="stable")]
    keys = np.arange(len(matrix.pairs)) if clusters is None else clusters
    sizes = [*(size for size in _SIZES if size < len(order)), len(order)]
    return tuple(_panel(matrix, keys, order[:size]) for size in sizes if size > 1)


def _panel(matrix: Credits, keys: Ints, places: Ints) -> Panel:
    common = np.asarray(matrix.seen[:, places].all(axis=1), np.bool_)
    judges = tuple(matrix.judges[place] for place in places)
    pairs = int(common.sum())
    if not pairs:
        why = "no pair was asked of every one of them"
        return Panel(judges=judges, pairs=0, left_out=len(common), reason=why)
    credit, mine = matrix.values[common][:, places], keys[common]
    told = _errors(1 - credit, mine)
    measured = {} if told is None else told.fields(judges)
    why = "fewer than two of them are right, and wrong, often enough" if told is None else ""
    return Panel(
        judges=judges,
        pairs=pairs,
        left_out=len(common) - pairs,
        best=float(credit.mean(axis=0).max()),
        reason="; ".join(filter(None, (why, *_no_majority(credit)))),
        **measured,
        **_majority(credit, mine),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Errors:
    """The mean correlation of the errors of some judges (`varying`, of all), and its interval."""

    varying: Marks
    correlation: float
    ci95: tuple[float, float] | None

    def fields(self, judges: tuple[str, ...]) -> dict[str, Any]:
        """Return what a panel keeps of it."""
        count = int(self.varying.sum())
        ends = None if self.ci95 is None else [_effective(count, end) for end in reversed(self.ci95)]
        known = ends is not None and None not in ends
        return {
            "correlation": self.correlation,
            "correlation_ci95": self.ci95,
            "alike": tuple(judge for judge, varies in zip(judges, self.varying, strict=True) if not varies),
            "effective": _effective(count, self.correlation),
            "effective_ci95": tuple(ends) if known and ends is not None else None,
        }


def _effective(count: int, correlation: float) -> float | None:
    """Return how many independent judges are worth as much; None where errors cancel out altogether."""
    inflation = 1 + (count - 1) * correlation
    return None if inflation <= _SAME else count / inflation


def _errors(errors: Floats, keys: Ints) -> _Errors | None:
    """Return how errors (pairs, judges) correlate; None of fewer than two judges that vary without any one cluster."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    centred = (errors - errors.mean(axis=0))[order]
    sizes = np.diff(starts, append=len(centred))
    if len(starts) < _CLUSTERS:
        return None
    varying = np.asarray((_deviations(centred, starts, sizes)[1] > _SAME).all(axis=0), np.bool_)
    if varying.sum() < 2:  # noqa: PLR2004 - a correlation is of two
        return None
    mine = centred[:, varying]
    correlation = _correlations(mine, np.array([0]), np.array([0]))[0]  # nothing deleted
    return _Errors(
        varying=varying,
        correlation=correlation,
        ci95=_jackknife(correlation, _correlations(mine, starts, sizes)),
    )


def _deviations(centred: Floats, starts: Ints, sizes: Ints) -> tuple[Floats, Floats]:
    """Return means and variances (clusters, judges) of what is left without each cluster."""
    left = (len(centred) - sizes)[:, None]
    gone = np.add.reduceat(centred, starts, axis=0), np.add.reduceat(centred**2, starts, axis=0)
    if not sizes.any():
        gone = np.zeros_like(gone[0]), np.zeros_like(gone[1])
    mean = (centred.sum(axis=0) - gone[0]) / left
    return mean, ((centred**2).sum(axis=0) - gone[1]) / left - mean**2


def _correlations(centred: Floats, starts: Ints, sizes: Ints) -> Floats:
    """Return (clusters,) the mean correlation of two judges without each cluster.

    The sum over judges of standardised errors has the sum of all correlations as its variance, so that one quadratic
    form a cluster stands for the k x k correlations.
    """
    mean, variance = _deviations(centred, starts, sizes)
    weight = 1 / np.sqrt(variance)
    left, count = len(centred) - sizes, centred.shape[1]
    every = ((weight @ (centred.T @ centred)) * weight).sum(axis=1)
    if sizes.any():
        of = np.repeat(np.arange(len(sizes)), sizes)
        every = every - np.add.reduceat((centred * weight[of]).sum(axis=1) ** 2, starts)
    total = every / left - (weight * mean).sum(axis=1) ** 2
    found: Floats = (total - count) / (count * (count - 1))
    return found


def _jackknife(value: float, without: Floats) -> tuple[float, float] | None:
    """Return a 95 % interval by the delete-one-cluster jackknife, on Fisher's scale.

    Degrees of freedom are those of the clusters that move the value: where few errors do, G - 1 covers 89 %.
    """
    moved = without - without.mean()
    count, spread = len(moved), float(moved @ moved)
    if spread <= _SAME**2 or abs(value) >= 1 - _SAME:
        return None
    error = math.sqrt((count - 1) / count * spread)
    squares = moved**2
    width = t_quantile(cluster_degrees(squares)) * error / (1 - value * value)
    return math.tanh(math.atanh(value) - width), math.tanh(math.atanh(value) + width)


def _majority(credit: Floats, keys: Ints) -> dict[str, Any]:
    """Return what more than half of the judges are right about, and what independent ones would be."""
    if credit.shape[1] < _LEAST:
        return {}
    hits = credit.sum(axis=1) > credit.shape[1] / 2
    rate = Rate.over(hits.tolist(), keys.tolist())
    assert rate is not None  # noqa: S101 - there are pairs
    return {"majority": rate.value, "majority_ci95": (rate.low, rate.high), "independent": _independent(credit)}


def _independent(credit: Floats) -> float | None:
    """Return the probability that more than half are right; None of credits other than 0, 1/2 and 1."""
    halves = np.rint(2 * credit).astype(np.intp)
    if not np.allclose(2 * credit, halves):
        return None
    total: Floats = np.ones(1)
    for judge in halves.T:
        total = np.asarray(np.convolve(total, np.bincount(judge, minlength=_HALVES) / len(judge)), np.float64)
    return float(total[credit.shape[1] + 1 :].sum())


def _no_majority(credit: Floats) -> Iterator[str]:
    if credit.shape[1] < _LEAST:
        yield "two judges have no majority"
    elif _independent(credit) is None:
        yield "what independence promises is worked out for credits of 0, 1/2 and 1"


def _ends(ci95: tuple[float, float] | None, digits: int = 2) -> str:
    return "" if ci95 is None else f" [{ci95[0]:.{digits}f}, {ci95[1]:.{digits}f}]"
