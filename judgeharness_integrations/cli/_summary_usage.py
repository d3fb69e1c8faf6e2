"""What a run used and cost: one definition for its budget, its summary and the list of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from judgeharness_integrations.execution.prices import Price, Spent, price_of
from judgeharness_integrations.usage import known_sum
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.sql.usage import ModelUsage

__all__ = ["Prices", "UsageSums", "cost_of", "total_usage", "used"]

Prices: TypeAlias = Mapping[str, Price]

_REUSED_FROM = "reused_from"  # attribute of a row taken from the run that paid for it
_SUMMED = ("attempts", "input_tokens", "output_tokens", "latency_s")


@dataclass(kw_only=True)
class UsageSums:
    """What `SqlLog.usage` says of a run, from its rows: `add` every case once.

    `reused` counts re-used calls by the run that paid for them.
    """

    reused: dict[str, int] = field(default_factory=dict)
    _sums: dict[tuple[str, str | None], ModelUsage] = field(default_factory=dict)

    @property
    def usages(self) -> tuple[ModelUsage, ...]:
        """What was used, by judge and model."""
        return tuple(self._sums.values())

    def add(self, rows: Sequence[VerdictRow]) -> None:
        """Take in all rows of one case."""
        calls: dict[object, list[VerdictRow]] = {}
        for row in rows:
            calls.setdefault(row.key if row.call_id is None else (row.judge, row.call_id), []).append(row)
        seen: set[tuple[str, str | None]] = set()
        for call_rows in calls.values():
            used_here = _of_call(call_rows)
            key = used_here.judge, used_here.model
            before = self._sums.get(key)
            self._sums[key] = used_here if before is None else _added(before, used_here, new_case=key not in seen)
            seen.add(key)
            payer = next((row.attributes[_REUSED_FROM] for row in call_rows if _REUSED_FROM in row.attributes), None)
            if payer is not None:
                self.reused[str(payer)] = self.reused.get(str(payer), 0) + 1


def _of_call(rows: Sequence[VerdictRow]) -> ModelUsage:
    reused = any(_REUSED_FROM in row.attributes for row in rows)
    made = not reused and all(row.attempts != 0 for row in rows)  # 0: a perturbation failed, nothing was to be asked
    errors = sum(row.outcome == "error" for row in rows)
    paid = made and errors < len(rows) and not any(row.attributes.get("cached") for row in rows)
    tokens = [
        known_sum(getattr(row, name) for row in rows) if paid else None for name in ("input_tokens", "output_tokens")
    ]
    return ModelUsage(
        judge=rows[0].judge,
        model=max((row.model for row in rows if row.model is not None), default=None),
        rows=len(rows),
        cases=1,
        calls=1,
        reused_calls=int(reused),
        made_calls=int(made),
        unreported_calls=int(paid and tokens == [None, None]),
        unpriced_calls=int(paid and None in tokens),
        attempts=known_sum(row.attempts for row in rows),
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        latency_s=known_sum(row.latency_s for row in rows),
        errors=errors,
        largest_input=tokens[0],
        largest_output=tokens[1],
    )


def _added(one: ModelUsage, other: ModelUsage, *, new_case: bool) -> ModelUsage:
    pairs = {field.name: (getattr(one, field.name), getattr(other, field.name)) for field in fields(ModelUsage)[2:]}
    sums: dict[str, Any] = {name: known_sum(pair) for name, pair in pairs.items()}
    for name in ("largest_input", "largest_output"):
        sums[name] = max((size for size in pairs[name] if size is not None), default=None)
    return ModelUsage(judge=one.judge, model=one.model, **sums | {"cases": one.cases + new_case})


def cost_of(usages: Iterable[ModelUsage], prices: Prices | None) -> float | None:
    """Return what answers cost; None without prices, or where a price or the tokens of an answer are not known.

    Rewordings, and attempts that failed, report no tokens and are not in it; what was re-used or cached is free.
    """
    if not prices:
        return None
    total = 0.0
    for one in usages:
        price = price_of(one.model, prices)
        if one.unpriced_calls or (price is None and one.input_tokens is not None):
            return None
        if price is not None:
            total += price.of(Spent(one.input_tokens, one.output_tokens)) or 0.0
    return total


def used(usages: Iterable[ModelUsage], prices: Prices | None) -> dict[str, Any]:
    """Return what was used as documents keep it: calls that were made, and `reused` ones, paid by an earlier run."""
    listed = list(usages)
    return {
        "calls": sum(one.made_calls for one in listed),
        **{name: known_sum(getattr(one, name) for one in listed) for name in _SUMMED},
        "reused": sum(one.reused_calls for one in listed),
        "cost": cost_of(listed, prices),
    }


def total_usage(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the usage of several judges together; their cost is known when that of each is."""
    names = dict.fromkeys(name for usage in usages for name in usage)
    total = {name: known_sum(usage[name] for usage in usages) for name in names}
    return total | ({"cost": None} if any(usage["cost"] is None for usage in usages) else {})
