"""A panel -> who agrees with whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.agreement.kappa.alpha import Metric
from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap, Resamples, drawn_interval
from judgeharness_integrations.agreement.kappa.coefficients import alpha, fleiss, gwet
from judgeharness_integrations.agreement.kappa.constant import constant_agreement
from judgeharness_integrations.agreement.kappa.crowd import shared_items
from judgeharness_integrations.agreement.kappa.majority import human_consensus
from judgeharness_integrations.agreement.kappa.pairs import COEFFICIENTS, CoefficientName, Measured, pairwise
from judgeharness_integrations.agreement.kappa.ratings import Weights
from judgeharness_integrations.agreement.kappa.scales import Scale, scale_of
from judgeharness_integrations.agreement.kappa.table import (
    AgreementTable,
    ConsensusAgreement,
    PairAgreement,
    RaterAgreement,
    Role,
)

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.coefficient import Coefficient
    from judgeharness_integrations.agreement.kappa.statistic import Floats
    from judgeharness_integrations.agreement.panels.panel import Panel

__all__ = ["agreement_table"]

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
