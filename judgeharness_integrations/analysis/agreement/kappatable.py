"""Who agrees with whom: a panel as a table that is reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations._lazy import Rendered

from .coefficients import Floats, Metric, shared_items
from .kappa import (
    COEFFICIENTS,
    Bootstrap,
    Coefficient,
    CoefficientName,
    ConstantAgreement,
    Measured,
    Resamples,
    alpha,
    constant_agreement,
    drawn_interval,
    fleiss,
    gwet,
    pairwise,
)
from .ratings import Scale, Weights, human_consensus, scale_of

if TYPE_CHECKING:
    from .panel import Panel

__all__ = [
    "SCHEMA",
    "AgreementTable",
    "ConsensusAgreement",
    "PairAgreement",
    "RaterAgreement",
    "Role",
    "agreement_table",
]


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
        copies: what is to be said of items that ask what others do.
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
    copies: tuple[str, ...] = ()

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


_DEFAULT = Bootstrap()
_PAIR = 2
_MOST_PAIRS = 2000  # with more, intervals of each would take minutes
_MARKS = ("absent", "present")


class _Question(NamedTuple):
    """What is measured on which scale."""

    panel: Panel
    scale: Scale
    coefficient: CoefficientName
    weights: Weights
    bootstrap: Bootstrap
    crowd: bool

    def of_pairs(self) -> Bootstrap:
        """Return how intervals of pairs are drawn: with very many there are none."""
        return replace(self.bootstrap, replicates=0) if self.crowd else self.bootstrap


class _Mean(NamedTuple):
    value: float | None
    interval: tuple[float, float] | None
    defined: int
    reason: str


def agreement_table(
    panel: Panel,
    *,
    humans: Sequence[str],
    candidates: Sequence[str] = (),
    coefficient: CoefficientName = "cohen",
    weights: Weights | None = None,
    order: Sequence[str] = (),
    bootstrap: Bootstrap = _DEFAULT,
) -> AgreementTable:
    """Return how far humans agree with each other, and candidates with them.

    Args:
        panel: who said what.
        humans: names or globs of raters; without candidates, of all who are compared.
        candidates: names or globs of raters who are compared with each human and with the humans' majority; no glob
            takes a human.
        coefficient: of the pairs.
        weights: how far partial agreement counts; None: `quadratic` for numbers, else `none`.
        order: the declared scale, from one end to the other; without it categories are those the humans used, and
            the candidate where one is compared.
        bootstrap: how intervals are drawn: by item, or by the panel's clusters.

    Raises:
        UsageError: nobody to compare, somebody as human and candidate, or weights without an order.
        UnknownNameError: no rater of that name.

    """
    humans, candidates = panel.roles(humans=humans, candidates=candidates)
    _check(humans, candidates, coefficient)
    chosen: Weights = weights or ("quadratic" if panel.kind == "numbers" else "none")
    scale = scale_of(panel, weights=chosen, order=order)
    compared = len(humans) * (len(humans) - 1) // 2 + len(humans) * len(candidates)
    question = _Question(panel, scale, coefficient, chosen, bootstrap, compared > _MOST_PAIRS)
    rows, pairs, human_mean = _human_rows(question, humans, "human" if candidates else "rater")
    for candidate in candidates:
        row, beside = _candidate_row(question, humans, candidate)
        rows.append(row)
        pairs += beside
    clusters = panel.clusters
    return AgreementTable(
        kind=panel.kind,
        coefficient=coefficient,
        weights=chosen,
        order=tuple(order),
        items=len(panel.items),
        rule=panel.rule,
        cluster=panel.cluster_name,
        clusters=None if clusters is None else len(np.unique(clusters)),
        copies=panel.copied,
        bootstrap=bootstrap,
        raters=tuple(rows),
        pairs=tuple(pairs),
        crowd=question.crowd,
        unshared=compared - len(pairs),
        human_mean=human_mean.value,
        human_interval=human_mean.interval,
        groups=_groups(question, humans),
        consensus=tuple(_consensus(question, humans, candidates)),
        per_label=_per_label(question, humans, candidates),
        constant=constant_agreement(scale, humans, coefficient=coefficient, weights=chosen),
    )


def _check(humans: Sequence[str], candidates: Sequence[str], coefficient: str) -> None:
    raters = len(humans) + len(candidates)
    if not humans or raters < _PAIR:
        raise UsageError(f"agreement needs two raters, and {raters} was chosen: name more of them.")
    if coefficient not in COEFFICIENTS:
        raise UsageError(f"unknown coefficient {coefficient!r}: choose one of {', '.join(COEFFICIENTS)}.")


def _measured(question: _Question, raters: Sequence[str], pairs: Sequence[tuple[int, int]]) -> Measured:
    ratings = question.scale.ratings(question.scale.answers(raters))
    return pairwise(
        ratings,
        pairs,
        coefficient=question.coefficient,
        weights=question.weights,
        bootstrap=question.of_pairs(),
    )


def _sharing(question: _Question, first: Sequence[str], second: Sequence[str]) -> Floats:
    """Return (first, second): how many items each two answered; of a crowd, where most share none."""
    grid = question.panel.grid
    return shared_items(grid(first), grid(second))


def _human_rows(
    question: _Question, humans: Sequence[str], role: Role
) -> tuple[list[RaterAgreement], list[PairAgreement], _Mean]:
    if len(humans) < _PAIR:
        nobody = _Mean(None, None, 0, "there is no other human")
        return [_rater(question.panel, humans[0], role, nobody)], [], nobody
    pairs = list(combinations(range(len(humans)), 2))
    if question.crowd:
        shared = np.nonzero(np.triu(_sharing(question, humans, humans), 1))
        pairs = list(zip(*(side.tolist() for side in shared), strict=True))
    found, drawn = _measured(question, humans, pairs)
    mine: list[list[int]] = [[] for _ in humans]
    for column, (one, two) in enumerate(pairs):
        mine[one].append(column)
        mine[two].append(column)
    bootstrap = question.of_pairs()
    rows = [
        _rater(question.panel, human, role, _mean(found, drawn, columns, bootstrap))
        for human, columns in zip(humans, mine, strict=True)
    ]
    made = [
        PairAgreement(first=humans[one], second=humans[two], role=role, coefficient=coefficient)
        for (one, two), coefficient in zip(pairs, found, strict=True)
    ]
    return rows, made, _mean(found, drawn, range(len(pairs)), bootstrap)


def _candidate_row(
    question: _Question, humans: Sequence[str], candidate: str
) -> tuple[RaterAgreement, list[PairAgreement]]:
    if question.crowd:
        shared = _sharing(question, humans, [candidate])[:, 0].tolist()
        humans = [human for human, items in zip(humans, shared, strict=True) if items]
    last = len(humans)
    found, drawn = _measured(question, [*humans, candidate], [(human, last) for human in range(last)])
    mean = _mean(found, drawn, range(last), question.of_pairs())
    pairs = [
        PairAgreement(first=human, second=candidate, role="candidate", coefficient=coefficient)
        for human, coefficient in zip(humans, found, strict=True)
    ]
    return _rater(question.panel, candidate, "candidate", mean), pairs


def _mean(found: Sequence[Coefficient], drawn: Resamples, columns: Sequence[int], bootstrap: Bootstrap) -> _Mean:
    """Return the mean of those coefficients that are defined."""
    values = {column: value for column in columns if (value := found[column].value) is not None}
    if not values:
        return _Mean(None, None, 0, "no coefficient with another human is defined")
    value = sum(values.values()) / len(values)
    if not bootstrap.replicates:
        return _Mean(value, None, len(values), "")
    units = max(found[column].items for column in values)
    mean = drawn.mean(list(values))
    interval, reason, _ = drawn_interval(value, mean, 0, units=units, level=bootstrap.level)
    return _Mean(value, interval, len(values), reason)


def _rater(panel: Panel, rater: str, role: Role, mean: _Mean) -> RaterAgreement:
    cells = panel.cells_of(rater)
    return RaterAgreement(
        rater=rater,
        role=role,
        answers=cells.stop - cells.start,
        failed=panel.failed.get(rater, 0),
        folded=panel.folded.get(rater, 0),
        undecided=panel.undecided.get(rater, 0),
        mean=mean.value,
        interval=mean.interval,
        humans=mean.defined,
        reason=mean.reason,
    )


def _groups(question: _Question, humans: Sequence[str]) -> tuple[Coefficient, ...]:
    """Return Fleiss' kappa, alpha and AC1 of the humans; with weights alpha both ordinal and interval, and AC2."""
    if len(humans) < _PAIR:
        return ()
    scale, weights, bootstrap = question.scale, question.weights, question.bootstrap
    ratings = scale.ratings(scale.answers(humans))
    metrics: tuple[Metric, ...] = ("nominal",) if weights == "none" else ("ordinal", "interval")
    alphas = [alpha(ratings, metric=metric, bootstrap=bootstrap) for metric in metrics]
    kappa = fleiss(ratings, weights=weights, bootstrap=bootstrap)
    return (kappa, *alphas, gwet(ratings, weights=weights, bootstrap=bootstrap))


def _consensus(question: _Question, humans: Sequence[str], candidates: Sequence[str]) -> list[ConsensusAgreement]:
    scale = question.scale
    consensus = human_consensus(scale.answers(humans))
    numbers = consensus.rule == "median"
    if numbers and scale.declared is not None:  # a median may lie between two values of the scale
        between = consensus.answers[~np.isnan(consensus.answers)].tolist()
        scale = replace(scale, declared=(*scale.declared, *between))
    known = ~np.isnan(consensus.answers) if numbers else consensus.answers >= 0
    made = []
    for candidate in candidates:
        both = np.stack([consensus.answers, scale.answers([candidate])[0]])
        found, _ = pairwise(
            scale.ratings(both),
            [(0, 1)],
            coefficient=question.coefficient,
            weights=question.weights,
            bootstrap=question.bootstrap,
        )
        made.append(
            ConsensusAgreement(
                candidate=candidate,
                rule=consensus.rule,
                consensus=int(known.sum()),
                ties=consensus.ties,
                coefficient=found[0],
            )
        )
    return made


def _per_label(question: _Question, humans: Sequence[str], candidates: Sequence[str]) -> dict[str, AgreementTable]:
    """Return a table for each label of sets: is it there or not?"""
    panel = question.panel
    if panel.kind != "sets":
        return {}
    return {
        label: agreement_table(
            replace(panel, kind="labels", labels=_MARKS, values=panel.values[:, place].astype(np.intp)),
            humans=humans,
            candidates=candidates,
            coefficient=question.coefficient,
            weights="none",
            order=_MARKS,
            bootstrap=question.bootstrap,
        )
        for place, label in enumerate(panel.labels)
    }
