"""Who agrees with whom, as a table that is reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from judgeharness_integrations._rendering import Rendered
from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap
from judgeharness_integrations.agreement.kappa.coefficient import Coefficient
from judgeharness_integrations.agreement.kappa.constant import ConstantAgreement

__all__ = ["SCHEMA", "AgreementTable", "ConsensusAgreement", "PairAgreement", "RaterAgreement", "Role"]

SCHEMA = "judgeharness.kappa/1"
Role: TypeAlias = Literal["rater", "human", "candidate"]


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """Two raters over the items both answered: `second` is compared with the human `first`, and `role` is its role."""

    first: str
    second: str
    role: Role
    coefficient: Coefficient


@dataclass(frozen=True, kw_only=True)
class RaterAgreement:
    """One rater and the humans beside.

    Attributes:
        rater: the name.
        role: `human` or `candidate`; `rater` where nobody was named a candidate.
        answers: items answered.
        failed: rows without a verdict: unparsed, refused, error. They are no answers.
        folded: items answered several times, folded by the panel's rule.
        undecided: items whose several answers the rule left without one.
        mean: mean coefficient with the other humans; None where none is defined.
        interval: of the mean; None where there is none.
        humans: with how many of them it is defined.
        reason: why the mean or its interval is None.

    """

    rater: str
    role: Role
    answers: int
    failed: int
    folded: int
    undecided: int
    mean: float | None
    interval: tuple[float, float] | None
    humans: int
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ConsensusAgreement:
    """A candidate against what the humans said together.

    `rule` is `majority`, the humans' most frequent answer however few gave it, or `median` of numbers; `consensus`
    items have one, `ties` were left out since several answers are the most frequent.
    """

    candidate: str
    rule: str
    consensus: int
    ties: int
    coefficient: Coefficient


@dataclass(frozen=True, kw_only=True)
class AgreementTable(Rendered):
    """Agreement of humans with each other and of candidates with them.

    Attributes:
        kind: `labels`, `numbers` or `sets`, which agree when they are the same set.
        coefficient: of the pairs: `cohen`, `fleiss`, `alpha` or `gwet`.
        weights: how far partial agreement counts.
        order: the declared scale, empty when categories are those that occur.
        items: how many there are in the panel.
        rule: folds several answers of one rater about one item.
        cluster: the column whose values a resample draws; None: it draws items.
        clusters: how many values it has.
        bootstrap: how intervals were drawn.
        raters: humans first.
        pairs: humans with humans, then humans with each candidate.
        crowd: whether there are so many pairs (over 2000) that they and the means of raters have no intervals, and
            pairs without a common item are left out.
        unshared: how many those are.
        human_mean: mean over pairs of humans, with its interval; None without such a pair.
        groups: coefficients of all humans at once; empty below two of them.
        consensus: each candidate against the humans' majority or median.
        per_label: for sets, the table of each label: is it in the set or not?
        constant: an annotator who reads nothing, beside the humans; None where these answered nothing.

    """

    kind: str
    coefficient: str
    weights: str
    order: tuple[str, ...]
    items: int
    rule: str
    cluster: str | None
    clusters: int | None
    bootstrap: Bootstrap
    raters: tuple[RaterAgreement, ...]
    pairs: tuple[PairAgreement, ...]
    crowd: bool
    unshared: int
    human_mean: float | None
    human_interval: tuple[float, float] | None
    groups: tuple[Coefficient, ...]
    consensus: tuple[ConsensusAgreement, ...]
    per_label: Mapping[str, AgreementTable]
    constant: ConstantAgreement | None = None

    @property
    def intervals(self) -> str:
        """How intervals were made, as `95 %, BCa bootstrap of 2000 resamples by item, seed 0`; empty without any."""
        drawn = self.bootstrap
        if not drawn.replicates:
            return ""
        unit = "item" if self.cluster is None else f"{self.cluster} ({self.clusters} of them)"
        return f"{100 * drawn.level:g} %, BCa bootstrap of {drawn.replicates} resamples by {unit}, seed {drawn.seed}"

    @property
    def humans(self) -> tuple[str, ...]:
        """The names of the humans, or of all raters where nobody was named a candidate."""
        return tuple(row.rater for row in self.raters if row.role != "candidate")

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates' names."""
        return tuple(row.rater for row in self.raters if row.role == "candidate")

    def controls(self) -> Iterator[str]:
        """Yield what an annotator who reads nothing comes to, and which candidates are not better than that."""
        found, who = self.constant, "humans" if self.candidates else "raters"
        if found is None or found.value is None or found.observed is None:
            return
        yield (
            f"an annotator who reads nothing, {found.says}: agrees with the {who} about {100 * found.observed:.1f} %, "
            f"mean coefficient {found.value:.3f}"
        )
        for row in self.raters:
            if row.role == "candidate" and row.mean is not None and not _above(row, found.value):
                word = "not shown to be better than" if row.mean > found.value else "not better than"
                yield f"{row.rater}: {word} {found.says}, which reads nothing: {row.mean:.3f} {_ends(row.interval)}"

    @cached_property
    def _by_pair(self) -> dict[frozenset[str], Coefficient]:
        return {frozenset((pair.first, pair.second)): pair.coefficient for pair in self.pairs}

    def pair(self, one: str, other: str) -> Coefficient | None:
        """Return the coefficient of two raters, in either order; None where they were not compared."""
        return self._by_pair.get(frozenset((one, other)))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON keeps it."""
        return {"schema": SCHEMA, "intervals": self.intervals, **asdict(self)}


def _above(row: RaterAgreement, value: float) -> bool:
    return row.interval is not None and row.interval[0] > value


def _ends(interval: tuple[float, float] | None) -> str:
    return "no interval" if interval is None else f"[{interval[0]:.3f}, {interval[1]:.3f}]"
