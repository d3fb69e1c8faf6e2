"""What stands beside the properties: how consistent a judge is, and how often it is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from judgeharness_integrations.checking.properties.samples import Samples
from judgeharness_integrations.checking.properties.words import percent
from judgeharness_integrations.checking.statistics.intervals import clopper_pearson
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["consistent_but_wrong", "facts_of"]

_CONSISTENT: Final = 0.6
_COIN: Final = 0.5
_AS_IT_IS: Final = frozenset({"none", "position_swap"})


def facts_of(samples: Samples) -> dict[str, Any]:
    """Return what is known of a criterion, None what is not.

    `consistency` is the share of cases with the same verdict in both orders, or the agreement of repetitions
    (`consistency_of` says which); `accuracy` is the share of right samples, those that failed being wrong, of the cases
    as they are in either order, its mean over the cases with a gold label.
    """
    orders, repeated = list(_orders(samples)), list(_repeated(samples))
    same = orders or repeated
    right = _right(samples)
    return {
        "criterion": samples.criterion,
        "consistency": sum(same) / len(same) if same else None,
        "consistency_of": "orders" if orders else "repetitions" if repeated else None,
        "consistency_cases": len(same),
        "accuracy": sum(right) / len(right) if right else None,
        "accuracy_interval": clopper_pearson(sum(right), len(right)) if right else None,
        "accuracy_cases": len(right),
    }


def consistent_but_wrong(fact: Mapping[str, Any]) -> str | None:
    """Return the warning that consistent is not right, for a judge that is clearly wrong more often than not."""
    interval, consistency = fact["accuracy_interval"], fact["consistency"]
    if interval is None or consistency is None or consistency <= _CONSISTENT or interval[1] >= _COIN:
        return None
    again = f"{percent(consistency)} of {fact['consistency_cases']} cases get the same verdict again"
    right = f"{percent(fact['accuracy'])} of {fact['accuracy_cases']} agree with gold"
    return f"{fact['criterion']}: {again}, but {right}: consistent is not right"


def _orders(samples: Samples) -> Iterator[float]:
    """Yield the share of pairs with the same verdict of each case; a failed sample is equal to nothing."""
    cases: dict[str, tuple[list[VerdictRow], list[VerdictRow]]] = {}
    for row in samples.rows:
        if row.perturbation in _AS_IT_IS:
            cases.setdefault(row.case_id, ([], []))[row.swapped].append(row)
    for shown, swapped in cases.values():
        if shown and swapped:
            yield _agreeing(samples, [(first, second) for first in shown for second in swapped])


def _repeated(samples: Samples) -> Iterator[float]:
    for rows in samples.unchanged.values():
        if len(rows) > 1:
            yield _agreeing(samples, [(one, other) for place, one in enumerate(rows) for other in rows[:place]])


def _agreeing(samples: Samples, pairs: Sequence[tuple[VerdictRow, VerdictRow]]) -> float:
    return sum(one.ok and not samples.differ(one.verdict, other.verdict) for one, other in pairs) / len(pairs)


def _right(samples: Samples) -> list[float]:
    cases: dict[str, list[bool]] = {}
    for row in samples.rows:
        if row.gold is not None and row.perturbation in _AS_IT_IS:
            cases.setdefault(row.case_id, []).append(row.ok and not samples.differ(row.verdict, row.gold))
    return [sum(right) / len(right) for right in cases.values()]
