"""Scores of single answers as verdicts on pairs: the higher score wins, equal scores tie."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from judgeharness_integrations.ranking.comparing.scoredsides import (
    PAIR,
    SIDE,
    Preference,
    ScoredPair,
    place_of,
    preference_of,
    preferences_of,
    scored_groups,
    scored_pairs,
)
from judgeharness_integrations.verdictlog.row import TOKENS, VerdictRow, is_number

__all__ = ["has_scored_pairs", "pairs_of_scores"]

_USAGE = (*TOKENS, "latency_s", "attempts")


def has_scored_pairs(rows: Iterable[VerdictRow]) -> bool:
    """Whether a log holds scores of single answers that belong to pairs: columns `pair` and `side`, a number given."""
    return any(PAIR in row.attributes and SIDE in row.attributes and is_number(row.verdict) for row in rows)


def pairs_of_scores(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    """Return the verdicts on pairs that scores of answers imply: A or B for the higher score, TIE for equal ones.

    A row for each judge, run, criterion of scores, pair, perturbation and repetition; `case_id` is the pair. A side
    that is missing or failed makes the row unparsed. What a judge used adds up over both sides. A column that differs
    between the sides of any pair is kept as `name` for A and `name_b` for B, another one as it is.

    Args:
        rows: single answers with columns `pair` and `side` (A or B). Gold is A, B or TIE; `better` or `worse`; or
            a number, or PASS or FAIL, on each side. Criteria of labels are left out: nothing says which is better.

    Raises:
        UsageError: a row has no pair or side, a side was scored twice, gold contradicts itself, or numbers and labels
            are mixed.

    """
    rows = list(rows)
    groups = scored_groups(rows)
    gold = preferences_of(groups)
    sided = _sided_columns(rows)
    usage = _Usage(rows)
    return [
        _row(pair, group.criterion, gold[group.criterion].get(pair.pair), sided, usage.take(pair))
        for group in groups
        for pair in scored_pairs(group.rows)
    ]


class _Usage:
    """What the calls about both sides of a pair used together: it stands on one row only, so that sums are right."""

    def __init__(self, rows: Iterable[VerdictRow]) -> None:
        self._sums: dict[Hashable, dict[str, Any]] = {}
        for row in rows:
            sums = self._sums.setdefault(_key(row), {})
            for name in _USAGE:
                used = getattr(row, name)
                if used is not None:
                    sums[name] = sums.get(name, 0) + used
            if row.input_tokens is not None or row.output_tokens is not None:
                tiers = {row.service_tier, sums.get("service_tier", row.service_tier)}
                sums["service_tier"] = "mixed" if len(tiers) > 1 else row.service_tier  # a sum over tiers has no price

    def take(self, pair: ScoredPair) -> dict[str, Any]:
        """Return the sums for the first criterion that asks, nothing for the others."""
        return self._sums.pop(_key(pair.rows[0]), {})


def _key(row: VerdictRow) -> Hashable:
    return (row.judge, row.run, place_of(row)[0], row.perturbation, row.repetition)


def _row(
    pair: ScoredPair, criterion: str, gold: Preference | None, sided: Sequence[str], usage: Mapping[str, Any]
) -> VerdictRow:
    one, scores = pair.rows[0], pair.scores
    return VerdictRow(
        case_id=pair.pair,
        verdict=None if scores is None else preference_of(*scores),
        run=one.run,
        judge=one.judge,
        criterion=criterion,
        perturbation=one.perturbation,
        repetition=one.repetition,
        swapped=one.swapped,
        outcome="unparsed" if scores is None else "ok",
        gold=gold,
        model=one.model,
        error=f"no score for side {' and '.join(pair.lacking)}" if scores is None else None,
        attributes=_attributes(pair, sided),
        **usage,
    )


def _sided_columns(rows: Iterable[VerdictRow]) -> tuple[str, ...]:
    """Return the columns that differ between the two sides of any pair."""
    first: dict[tuple[str, str], str | float] = {}
    differing: dict[str, None] = {}
    for row in rows:
        pair, _ = place_of(row)
        for name, value in row.attributes.items():
            if name not in (PAIR, SIDE) and first.setdefault((pair, name), value) != value:
                differing[name] = None
    return tuple(differing)


def _attributes(pair: ScoredPair, sided: Sequence[str]) -> Mapping[str, str | float]:
    kept: dict[str, str | float] = {}
    for suffix, row in (("", pair.first), ("_b", pair.second)):
        for name, value in ({} if row is None else row.attributes).items():
            if name in sided:
                kept[name + suffix] = value
            elif name not in (PAIR, SIDE):
                kept[name] = value
    return kept
