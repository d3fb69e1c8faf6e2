"""What the ranking of a study rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.aggregation.planned import samples_planned
from judgeharness_integrations.ranking.arrays import Ints
from judgeharness_integrations.ranking.bradleyterry.ordereffect import OrderEffect, order_effect
from judgeharness_integrations.ranking.correctness.codes import NOT_ASKED
from judgeharness_integrations.ranking.correctness.crediting import by_better_first
from judgeharness_integrations.ranking.diagnostics import Diagnostics
from judgeharness_integrations.ranking.rating import Rating
from judgeharness_integrations.ranking.studying import RankStudy, clusters_of
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.ranking.bradleyterry.conditionalfit import ConditionalFit
    from judgeharness_integrations.ranking.bradleyterry.jointfit import JointFit

__all__ = ["diagnosed"]

_NO_SPREAD = 1e-6  # Elo


def diagnosed(found: RankStudy) -> Diagnostics:
    """Return what a study's ranking rests on."""
    rating = found.rating
    joint, conditional = rating.joint, rating.conditional
    judges = 0 if joint is None else len(joint.judges)
    clusters = clusters_of(rating.matrix, found.cluster)
    return Diagnostics(
        connections=rating.connections,
        cells=int(rating.matrix.seen.sum()),
        cells_total=rating.matrix.seen.size,
        clusters=_clusters(rating, clusters),
        cluster=found.cluster,
        inflation=_inflation(joint, conditional),
        inflation_expected=None if joint is None else judges / (judges - 1),
        order_effect=_order_effect(found),
        log_likelihood=None if joint is None else joint.log_likelihood,
        steps=None if joint is None else joint.steps,
        eip=asdict(found.request.eip),
        one_order=_one_order(found),
        same_number=_same_number(found),
        reasons=rating.reasons,
        unread=sum(found.decisions.criterion(name).unread for name in found.criteria),
    )


def _one_order(found: RankStudy) -> int:
    """Return how many cells of labelled pairs the rule leaves out, since they were asked about in one order alone."""
    decisions = found.decisions
    if not decisions.policy.both_orders:
        return 0
    known = set(found.matrix.pairs)
    labelled = np.array([pair in known for pair in decisions.pairs])
    asked = [decisions.criterion(name).orders != NOT_ASKED for name in found.criteria]
    alone = np.any([orders[0] != orders[1] for orders in asked], axis=0)
    return int((np.asarray(alone, np.bool_)[labelled] & ~found.matrix.seen).sum())


def _same_number(found: RankStudy) -> tuple[str, ...]:
    """Return labels of one criterion that write one number in several ways."""
    for name in found.criteria:
        written: dict[float, list[str]] = {}
        for label in found.decisions.criterion(name).labels:
            if (number := _number(label)) is not None:
                written.setdefault(number, []).append(label)
        several = next((labels for labels in written.values() if len(labels) > 1), None)
        if several:
            return tuple(several)
    return ()


def _number(label: str) -> float | None:
    try:
        value = float(label)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _inflation(joint: JointFit | None, conditional: ConditionalFit | None) -> float | None:
    """Return how many times as wide joint Elo is spread; None where judges are equal, which tells nothing."""
    if joint is None or conditional is None or np.std(conditional.elo) < _NO_SPREAD:
        return None
    return float(np.std(joint.elo) / np.std(conditional.elo))


def _clusters(rating: Rating, clusters: Ints | None) -> int:
    """Return how many clusters of pairs the errors rest on; pairs that tell rated judges nothing are in none."""
    told = rating.matrix.pairs if rating.joint is None else rating.joint.pairs
    if clusters is None:
        return len(told)
    place = {pair: place for place, pair in enumerate(rating.matrix.pairs)}
    return len({int(clusters[place[pair]]) for pair in told})


def _orders_alike(rows: Iterable[VerdictRow]) -> bool:
    """Whether each judge that saw a case in both orders saw it as often in one as in the other, by a fixed plan."""
    seen: dict[tuple[str, str, str, str], list[int]] = {}
    for row in rows:
        if samples_planned((row,)):
            return False
        counts = seen.setdefault((row.judge, row.run, row.case_id, row.criterion), [0, 0])
        counts[row.swapped] += 1
    return all(first == second for first, second in seen.values() if first and second)


def _order_effect(found: RankStudy) -> OrderEffect | None:
    """Return the effect for the only criterion that is a choice between A and B, on the pairs that are ranked.

    None where an order has more samples than the other, or sampling stopped early: how often a majority comes about
    then depends on the order, whatever the judges prefer.
    """
    if not _orders_alike(found.rows):
        return None
    sided = [both for both in (by_better_first(found.decisions, name) for name in found.criteria) if both is not None]
    if len(sided) != 1:
        return None
    first, second = sided[0]
    known = set(found.curation.kept.pairs)
    marks = np.array([pair in known for pair in first.pairs])
    return order_effect(first.of_pairs(marks), second.of_pairs(marks))
