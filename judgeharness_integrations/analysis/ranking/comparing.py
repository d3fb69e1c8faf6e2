"""Rankings held against each other: other methods, other data, other judges, other criteria."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError

from ..calibration.scores import kendall_tau_b
from ..calibration.scores import spearman as spearman_rho
from ..statistics.means import normal_interval
from .contrasts import LEVEL, NO_SPREAD, ConditionalFit, tested
from .correctness import Credits, Floats
from .jointfit import JointFit
from .rating import EipOptions, Method, ranked, ranks_of, rate


@dataclass(frozen=True, kw_only=True)
class Standing:
    """`scores`: judge -> Elo (EIP: score) where finite; `order`: judge -> minus its rank, of all judges."""

    scores: Mapping[str, float]
    order: Mapping[str, float]

    @property
    def placed(self) -> int:
        """How many judges have a rank without a rating: they are never beaten by the rated ones, or never beat them."""
        return len(self.order) - len(self.scores)


def standing_of(matrix: Credits, *, method: Method, eip_options: EipOptions | None = None) -> Standing | None:
    """Rate and order the judges by credits; None where the method cannot rate them together."""
    rating = rate(matrix, methods=(method,), eip_options=eip_options)
    scores = rating.scores(method)
    if not scores:
        return None
    ranks = ranks_of(rating, method, matrix)
    return Standing(scores=scores, order={judge: -float(rank) for judge, rank in ranks.items()})


def top_overlap(first: Floats, second: Floats, k: int) -> float:
    """Return the share, from 0 to 1, of the first k places that two ratings give to the same names.

    Names tied at the edge share the places that are left for them in equal parts, on either side, so that neither order
    of names nor of arguments matters: the overlap is the sum over names of the smaller part, divided by k.

    Args:
        first: ratings (names,), the higher the better; ties are equal numbers.
        second: the other ratings of the same names.
        k: places, from 1 to the number of names.

    """
    return float(np.minimum(_parts(first, k), _parts(second, k)).sum() / k)


def _parts(values: Floats, k: int) -> Floats:
    """Return (names,) how much of a place among the first k each has: 1, 0, or a part where names tie at the edge."""
    edge = np.sort(values)[-k]
    above, tied = values > edge, values == edge
    return np.where(above, 1.0, np.where(tied, (k - above.sum()) / tied.sum(), 0.0))


LEAST_JUDGES: Final = 3  # two are ordered alike or not, by chance as often as not
TOPS: Final = (3, 5, 10)

_SAME = 1e-8  # of the spread: ratings of judges with the same credits differ by rounding alone
_NO_SPREAD = 1e-10  # of the size


@dataclass(frozen=True, kw_only=True)
class RankCorrelation:
    """Ratings `x` and `y` (their labels) of the `judges` (how many) that have both.

    Spearman's rho of mid-ranks and Kendall's tau-b, ties included; Pearson's r of the ratings themselves. None below 3
    judges, or where all ratings of a side are the same. `top`: k -> share of the first k judges that the two have in
    common, for k of 3, 5 and 10 below the number of judges; see `top_overlap` for ties at the edge.
    """

    x: str
    y: str
    group: str | None = None
    judges: int
    spearman: float | None
    kendall: float | None
    pearson: float | None
    top: tuple[tuple[int, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the correlations as JSON keeps them."""
        return asdict(self) | {"top": [list(entry) for entry in self.top]}


def correlate(
    x: Mapping[str, float], y: Mapping[str, float], *, labels: tuple[str, str], group: str | None = None
) -> RankCorrelation:
    """Correlate two ratings over the judges that both hold.

    Args:
        x: judge -> rating, the higher the better.
        y: the other ratings.
        labels: what to call the two.
        group: of which pairs, for the record.

    """
    names = [name for name in x if name in y]
    first, second = (np.array([side[name] for name in names], np.float64) for side in (x, y))
    return correlated(first, second, labels=labels, group=group)


def correlated(
    first: Floats, second: Floats, *, labels: tuple[str, str] = ("x", "y"), group: str | None = None
) -> RankCorrelation:
    """Correlate two columns of finite ratings, (judges,) each."""
    n = len(first)
    one, other = tie_codes(first), tie_codes(second)
    rho = tau = linear = None
    if n >= LEAST_JUDGES and one.max() > 0 and other.max() > 0:
        places = range(n)
        rho, tau = spearman_rho(one, other, places), kendall_tau_b(one, other, places)
        linear = float(np.clip(np.corrcoef(first, second)[0, 1], -1.0, 1.0))
    return RankCorrelation(
        x=labels[0],
        y=labels[1],
        group=group,
        judges=n,
        spearman=None if rho is None else rho.value,
        kendall=None if tau is None else tau.value,
        pearson=linear,
        top=tuple((k, top_overlap(one, other, k)) for k in TOPS if k < n),
    )


def tie_codes(values: Floats) -> Floats:
    """Return (n,) whole numbers in the order of the values, the same where values differ by rounding alone."""
    if not len(values):
        return values
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    spread = float(ordered[-1] - ordered[0])
    least = max(_SAME * spread, _NO_SPREAD * float(np.abs(values).max()))
    codes = np.empty(len(values))
    codes[order] = np.concatenate([[0.0], np.cumsum(np.diff(ordered) > least)])
    return codes


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Ratings x and y of each judge that has both, on all data (`group` None) or on the pairs of one group.

    Without points `correlation` is None, and `reason` says why. `left_out`: judges that only one of the two rates.
    """

    name: str
    x_label: str
    y_label: str
    group: str | None
    points: tuple[tuple[str, float, float], ...]
    correlation: RankCorrelation | None
    reason: str | None
    left_out: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON keeps it."""
        return {
            "name": self.name,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "group": self.group,
            "judges": len(self.points),
            "left_out": self.left_out,
            "points": [list(point) for point in self.points],
            "correlation": None if self.correlation is None else self.correlation.to_dict(),
            "reason": self.reason,
        }


@dataclass(frozen=True, kw_only=True)
class RatedSide:
    """One side of a comparison: the credits of each group (None: all data), or why there are none."""

    label: str
    credits: Mapping[str | None, Credits]
    method: Method = "bradley-terry"
    reason: str | None = None

    def scores(self, group: str | None, eip_options: EipOptions | None) -> tuple[dict[str, float], str | None]:
        """Return judge -> rating, or why there is none."""
        if self.reason is not None:
            return {}, self.reason
        if group not in self.credits:
            return {}, f"no pair of {group!r} is left for {self.label!r}"
        rating = rate(self.credits[group], methods=(self.method,), eip_options=eip_options)
        found = rating.scores(self.method)
        return found, None if found else rating.reasons[self.method]


def compare(name: str, x: RatedSide, y: RatedSide, *, eip_options: EipOptions | None = None) -> tuple[Comparison, ...]:
    """Return the comparison on all data, then on each group that either side has, sorted by name."""
    groups = sorted({group for side in (x, y) for group in side.credits if group is not None})
    return tuple(_compared(name, x, y, group, eip_options) for group in (None, *groups))


def _compared(name: str, x: RatedSide, y: RatedSide, group: str | None, eip_options: EipOptions | None) -> Comparison:
    (first, why_first), (second, why_second) = (side.scores(group, eip_options) for side in (x, y))
    names = [judge for judge in first if judge in second]
    reason = why_first or why_second or (None if names else "no judge is rated by both")
    return Comparison(
        name=name,
        x_label=x.label,
        y_label=y.label,
        group=group,
        points=tuple((judge, first[judge], second[judge]) for judge in names),
        correlation=correlate(first, second, labels=(x.label, y.label), group=group) if names else None,
        reason=reason,
        left_out=0 if reason else len(first) + len(second) - 2 * len(names),
    )


Fit: TypeAlias = JointFit | ConditionalFit

_NO_SUCH_ELO = "it has no Elo in one of them"
_BOTH = "it wrote pairs of both"
_NOBODY_ELSE = "every judge in both wrote one of them, so that none is a measure for it"


@dataclass(frozen=True, kw_only=True)
class EloChange:
    """Elo of a judge in the other set minus that in this one, the mean of the judges in both held in each.

    `p` two-sided, `p_adjusted` over all judges (Benjamini-Hochberg); None where there is no spread to test by.
    """

    judge: str
    change: float
    se: float
    ci95: tuple[float, float]
    p: float | None
    p_adjusted: float | None

    @property
    def significant(self) -> bool:
        """Whether it is other than 0 at a false discovery rate of 5 %."""
        return self.p_adjusted is not None and self.p_adjusted <= LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON keeps it."""
        return asdict(self) | {"ci95": list(self.ci95)}


@dataclass(frozen=True, kw_only=True)
class OwnSet:
    """How much more a judge gains in the set it wrote (`own`) than the `others` do that wrote neither, in Elo.

    `gain` is None where that cannot be said; `reason` is why.
    """

    judge: str
    own: str | None
    others: int
    gain: float | None = None
    se: float | None = None
    ci95: tuple[float, float] | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return asdict(self) | {"ci95": None if self.ci95 is None else list(self.ci95)}


def wrote(judge: str, generators: Collection[str]) -> bool:
    """Return whether a judge is one of the models that wrote; `model` stands for `model@variant` too."""
    return judge in generators or judge.partition("@")[0] in generators


def changes_of(one: Fit, other: Fit) -> tuple[EloChange, ...]:
    """Return the change of each judge that both sets rate, in the order of the first.

    The sets are taken as independent, so that the variances of both add up. Where pairs of both were drawn alike the
    ratings vary together, and the errors are too wide rather than too narrow.
    """
    judges, change, covariance = _changed(one, other)
    se = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    told, p, adjusted = tested(change, se)
    return tuple(
        EloChange(
            judge=judge,
            change=float(change[place]),
            se=float(se[place]),
            ci95=normal_interval(float(change[place]), float(se[place])),
            p=float(p[place]) if told[place] else None,
            p_adjusted=float(adjusted[place]) if told[place] else None,
        )
        for place, judge in enumerate(judges)
    )


def own_sets(
    one: Fit,
    other: Fit,
    *,
    labels: tuple[str, str],
    generators: tuple[Collection[str], Collection[str]],
    judges: Sequence[str],
) -> tuple[OwnSet, ...]:
    """Return, of each judge that wrote a set, its change towards that set against the mean change of the others.

    Args:
        one: the judges rated on the first set.
        other: the judges rated on the second one.
        labels: what the sets are called.
        generators: who wrote each.
        judges: that answered about both, rated or not.

    """
    rated, change, covariance = _changed(one, other)
    sides = {judge: tuple(wrote(judge, names) for names in generators) for judge in judges}
    neutral = np.array([not any(sides[judge]) for judge in rated], np.bool_)
    found = []
    for judge in (judge for judge in judges if any(sides[judge])):
        own = None if all(sides[judge]) else labels[sides[judge].index(True)]
        base = {"judge": judge, "own": own, "others": int(neutral.sum())}
        reason = _reason(sides[judge], rated=judge in rated, others=int(neutral.sum()))
        if reason is not None:
            found.append(OwnSet(**base, reason=reason))  # type: ignore[arg-type]
            continue
        weights = np.where(neutral, -1 / neutral.sum(), 0.0)
        weights[rated.index(judge)] = 1.0
        weights *= -1.0 if sides[judge][0] else 1.0
        gain, se = float(weights @ change), float(np.sqrt(max(weights @ covariance @ weights, 0.0)))
        known = None if se <= NO_SPREAD else normal_interval(gain, se)
        found.append(OwnSet(**base, gain=gain, se=se, ci95=known))  # type: ignore[arg-type]
    return tuple(found)


def _reason(sides: tuple[bool, ...], *, rated: bool, others: int) -> str | None:
    if all(sides):
        return _BOTH
    if not rated:
        return _NO_SUCH_ELO
    return None if others else _NOBODY_ELSE


def _changed(one: Fit, other: Fit) -> tuple[list[str], Floats, Floats]:
    """Return the judges of both, their changes about their mean, and the covariance of those."""
    judges = [judge for judge in one.judges if judge in other.judges]
    centre = np.eye(len(judges)) - 1 / max(len(judges), 1)
    parts = [_of(fit, judges) for fit in (one, other)]
    change = centre @ (parts[1][0] - parts[0][0])
    return judges, change, centre @ (parts[0][1] + parts[1][1]) @ centre


def _of(fit: Fit, judges: Sequence[str]) -> tuple[Floats, Floats]:
    places = [fit.judges.index(judge) for judge in judges]
    return fit.elo[places], fit.covariance[np.ix_(places, places)]


@dataclass(frozen=True, kw_only=True)
class Slope:
    """One judge in both rankings; ranks are among the judges of both.

    `generator`: it wrote answers that are judged; `wrote`: names of the rankings whose answers it wrote.
    """

    judge: str
    elo: float
    elo_against: float
    rank: int
    rank_against: int
    generator: bool
    wrote: tuple[str, ...] = ()

    @property
    def change(self) -> int:
        """Places gained in the other ranking; negative where it falls."""
        return self.rank - self.rank_against

    def to_dict(self) -> dict[str, Any]:
        """Return the slope as JSON keeps it."""
        return asdict(self) | {"change": self.change, "wrote": list(self.wrote)}


@dataclass(frozen=True, kw_only=True)
class Against:
    """Two rankings (`name` and `name_against`) of the judges that stand in both, `slopes` by rank in the first.

    `only`, `only_against`: how many judges stand in one of them alone. `unrated`: judges that answered in both and lack
    a rating in either, as one that is never wrong does. `correlation_without_generators` leaves out the
    judges that wrote answers; None where there are none, so that it would be the same. `changes`: what each judge's
    change of Elo is worth, empty for a method without errors; `own_sets`: of the judges that wrote answers.
    """

    name: str
    name_against: str
    slopes: tuple[Slope, ...]
    correlation: RankCorrelation
    correlation_without_generators: RankCorrelation | None
    only: int
    only_against: int
    unrated: tuple[str, ...] = ()
    changes: tuple[EloChange, ...] = ()
    own_sets: tuple[OwnSet, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the rankings as JSON keeps them."""
        without = self.correlation_without_generators
        return {
            "name": self.name,
            "name_against": self.name_against,
            "judges": len(self.slopes),
            "only": self.only,
            "only_against": self.only_against,
            "unrated": list(self.unrated),
            "slopes": [slope.to_dict() for slope in self.slopes],
            "changes": [change.to_dict() for change in self.changes],
            "own_sets": [one.to_dict() for one in self.own_sets],
            "correlation": self.correlation.to_dict(),
            "correlation_without_generators": None if without is None else without.to_dict(),
        }


def against(
    scores: Mapping[str, float],
    other: Mapping[str, float],
    *,
    labels: tuple[str, str],
    generators: tuple[Collection[str], Collection[str]] = ((), ()),
    judges: Collection[str] = (),
    changes: Sequence[EloChange] = (),
    own_sets: Sequence[OwnSet] = (),
) -> Against:
    """Hold the ratings of judges against ratings on other pairs.

    Args:
        scores: judge -> Elo.
        other: judge -> Elo on the other pairs.
        labels: what to call the two.
        generators: models that wrote the answers of each; `model` stands for the judges `model@variant` too.
        judges: that answered in both, rated or not.
        changes: what the changes of Elo are worth.
        own_sets: what those of the judges that wrote answers say.

    Raises:
        UsageError: no judge is rated in both.

    """
    names = [name for name in scores if name in other]
    if not names:
        raise UsageError(
            f"no judge is rated in both {labels[0]} and {labels[1]}: give logs that share judges, under the same names."
        )
    ranks, ranks_against = (ranked({name: side[name] for name in names}) for side in (scores, other))
    slopes = sorted(
        (
            Slope(
                judge=name,
                elo=scores[name],
                elo_against=other[name],
                rank=ranks[name],
                rank_against=ranks_against[name],
                generator=any(wrote(name, models) for models in generators),
                wrote=tuple(label for label, models in zip(labels, generators, strict=True) if wrote(name, models)),
            )
            for name in names
        ),
        key=lambda slope: slope.rank,
    )
    rest = {slope.judge: slope.elo for slope in slopes if not slope.generator}
    return Against(
        name=labels[0],
        name_against=labels[1],
        slopes=tuple(slopes),
        correlation=correlate(scores, other, labels=labels),
        correlation_without_generators=None if len(rest) == len(slopes) else correlate(rest, other, labels=labels),
        only=len(scores) - len(names),
        only_against=len(other) - len(names),
        unrated=tuple(name for name in judges if name not in names),
        changes=tuple(changes),
        own_sets=tuple(own_sets),
    )
