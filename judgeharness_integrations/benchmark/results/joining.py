"""Rows of judges joined with what is known of their pairs: conditions, gold, and what people said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from judgeharness_integrations.benchmark.judging.gold import TURN, TYPE, VERDICT, attributes_of, gold_of
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["AUDIT", "CRITERIA", "GROUPS", "NOISE", "columns_of", "joined", "judged_rows"]

CRITERIA: Final = (VERDICT, TURN, TYPE)
GROUPS: Final = ("domain", "failure_type", "behaviour", "n_rounds", "flawed_round", "better")
AUDIT: Final = "audit"
NOISE: Final = "noise"


def columns_of(pair: Pair) -> dict[str, str | float]:
    """Return what a ranking may group or cluster pairs by, and who wrote both conversations."""
    documents = pair.conditions.documents
    mine = {"document": documents[0] if documents else "", "author": pair.generator, "author_b": pair.generator}
    return attributes_of(pair) | mine


def joined(
    rows: Iterable[VerdictRow], pairs: Iterable[Pair], *, audit: Mapping[str, str | None] | None = None
) -> list[VerdictRow]:
    """Return the rows about some pairs with their columns and gold, in an order that says nothing of when they came.

    A call that failed (outcome `error`) is no answer, and is left out: it is asked again.

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
        for row in _counting(rows, known)
    ]
    return _in_order(mine, known)


def judged_rows(rows: Iterable[VerdictRow], pairs: Mapping[str, Pair]) -> list[VerdictRow]:
    """Return what `joined` does without what nobody is right or wrong by: neither columns nor what judges wrote.

    Args:
        rows: of judges, a case a pair; those about other pairs are left out.
        pairs: pair id -> pair, of those that count.

    """
    gold = {name: gold_of(pair) for name, pair in pairs.items()}
    mine = [
        VerdictRow(
            case_id=one.case_id,
            verdict=one.verdict,
            run=one.run,
            judge=one.judge,
            criterion=one.criterion,
            perturbation=one.perturbation,
            repetition=one.repetition,
            swapped=one.swapped,
            outcome=one.outcome,
            gold=gold[one.case_id].get(one.criterion, one.gold),
        )
        for one in _counting(rows, pairs)
    ]
    return _in_order(mine, pairs)


def _counting(rows: Iterable[VerdictRow], pairs: Mapping[str, Pair]) -> Iterator[VerdictRow]:
    """Yield the answers about the pairs."""
    return (row for row in rows if row.case_id in pairs and row.outcome != "error")


def _in_order(rows: Iterable[VerdictRow], pairs: Mapping[str, Pair]) -> list[VerdictRow]:
    return sorted(rows, key=lambda row: (pairs[row.case_id].conditions.number, row.case_id, *_place(row)))


def _found(pair_id: str, audit: Mapping[str, str | None] | None) -> dict[str, str | float]:
    if audit is None:
        return {}
    label = audit.get(pair_id)
    found: dict[str, str | float] = {NOISE: "1" if label == NOISE else "0"}
    return found if label is None else found | {AUDIT: label}


def _place(row: VerdictRow) -> tuple[str, str, str, int]:
    return (row.judge, row.criterion, row.perturbation, row.repetition)
