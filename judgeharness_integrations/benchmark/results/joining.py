"""Rows of judges joined with what is known of their pairs: conditions, gold, and what people said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, VerdictRow

__all__ = ["AUDIT", "CRITERIA", "GROUPS", "NOISE", "columns_of", "gold_of", "joined"]

CRITERIA: Final = ("verdict", "turn", "type")
GROUPS: Final = ("domain", "failure_type", "behaviour", "n_rounds", "flawed_round", "better")
AUDIT: Final = "audit"
NOISE: Final = "noise"

_TOOK: Final[dict[str, Any]] = dict.fromkeys(("input_tokens", "output_tokens", "latency_s", "attempts", "raw"))


def columns_of(pair: Pair) -> dict[str, str | float]:
    """Return what a ranking may group or cluster pairs by, and who wrote both conversations."""
    conditions = pair.conditions
    return {
        "domain": conditions.domain,
        "failure_type": conditions.failure_type,
        "behaviour": conditions.behaviour,
        "n_rounds": conditions.n_rounds,
        "flawed_round": conditions.flawed_round,
        "better": conditions.better,
        "document": conditions.documents[0] if conditions.documents else "",
        "generator": pair.generator,
        "author": pair.generator,
        "author_b": pair.generator,
    }


def gold_of(pair: Pair) -> dict[str, str]:
    """Return the right answer about each criterion."""
    conditions = pair.conditions
    turn = f"turn {conditions.flawed_round}"
    return {"verdict": conditions.better, "turn": turn, "type": conditions.failure_type}


def joined(
    rows: Iterable[VerdictRow], pairs: Iterable[Pair], *, audit: Mapping[str, str | None] | None = None
) -> list[VerdictRow]:
    """Return the rows about some pairs with their columns and gold, in an order that says nothing of when they came.

    Args:
        rows: of judges, a case a pair; those about other pairs are left out.
        pairs: that count.
        audit: pair id -> what people agreed on, None where they did not; None where nobody looked at any pair. It
            becomes the column `audit`, and `noise` is 1 for pairs people found to be noise and 0 for the others.

    """
    known = {pair.pair_id: pair for pair in pairs}
    columns = {name: columns_of(pair) | _found(name, audit) for name, pair in known.items()}
    gold = {name: gold_of(pair) for name, pair in known.items()}
    mine = [
        replace(
            row,
            attributes={**row.attributes, **columns[row.case_id]},
            gold=gold[row.case_id].get(row.criterion, row.gold),
        )
        for one in rows
        if one.case_id in known
        for row in _of_each_criterion(one)
    ]
    return sorted(mine, key=lambda row: (known[row.case_id].conditions.number, row.case_id, *_place(row)))


def _of_each_criterion(row: VerdictRow) -> Iterator[VerdictRow]:
    """Yield a row, or one for each criterion where a call failed for all of them, what it took on the first alone."""
    if row.criterion != EVERY_CRITERION:
        yield row
        return
    first, *others = CRITERIA
    yield replace(row, criterion=first)
    for name in others:
        yield replace(row, criterion=name, **_TOOK)


def _found(pair_id: str, audit: Mapping[str, str | None] | None) -> dict[str, str | float]:
    if audit is None:
        return {}
    label = audit.get(pair_id)
    found: dict[str, str | float] = {NOISE: "1" if label == NOISE else "0"}
    return found if label is None else found | {AUDIT: label}


def _place(row: VerdictRow) -> tuple[str, str, str, int]:
    return (row.judge, row.criterion, row.perturbation, row.repetition)
