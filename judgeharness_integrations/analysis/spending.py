"""What answers cost: bills, and tiers served otherwise than asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeAlias

from judgeharness_integrations.verdictlog.encoding import counted
from judgeharness_integrations.verdictlog.row import TOKENS, ModelUsage, VerdictRow

from .usage import UNREPORTED, Billed, Price, Spent, billed, known_sum, summed, tier_name, tokens_of

STANDARD: Final = "standard"
ASKED_TIER: Final = "asked_tier"  # attribute of a row: the tier that was asked
TIER_REFUSED: Final = "tier_refused"  # attribute of a row: the error with which that tier refused


@dataclass(kw_only=True)
class ServedTiers:
    """Which calls a tier was asked for, and which of them another one served: `add` the rows of every case once."""

    asked: Counter[str] = field(default_factory=Counter)
    untold: Counter[str] = field(default_factory=Counter)  # nobody says which tier served
    otherwise: Counter[tuple[str, str]] = field(default_factory=Counter)  # asked, served
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Iterable[VerdictRow]) -> None:
        """Take in rows; of those of one call the first has its attempts."""
        for row in rows:
            asked = row.attributes.get(ASKED_TIER)
            if asked is None or not row.attempts or row.attributes.get("cached"):
                continue
            tier = str(asked)
            self.asked[tier] += 1
            refused = TIER_REFUSED in row.attributes
            self.refused[tier] += refused
            if row.service_tier is None and not refused:
                self.untold[tier] += 1
            elif (served := tier_name(row.service_tier) or STANDARD) != tier:
                self.otherwise[tier, served] += 1

    @property
    def warnings(self) -> list[str]:
        """One sentence a tier that did not serve every call, or of which nobody says so."""
        return [
            f"{counted(calls, 'call')} asked at tier {tier}: {', '.join(told)}"
            for tier, calls in self.asked.items()
            if (told := list(self._served_elsewhere(tier)))
        ]

    def _served_elsewhere(self, tier: str) -> Iterator[str]:
        for (asked, served), count in self.otherwise.items():
            if asked == tier:
                refused = self.refused[tier] if served == STANDARD else 0
                yield f"{count} served at tier {served}" + (f" ({refused} refused at {tier})" if refused else "")
        if self.untold[tier]:
            yield f"{self.untold[tier]} whose answers do not say which tier served"


Prices: TypeAlias = Mapping[str, Price]

_REUSED_FROM = "reused_from"  # attribute of a row taken from the run that paid for it
_SUMMED = ("attempts", *TOKENS, "latency_s")
_Kind: TypeAlias = "tuple[str, str | None, str | None]"  # judge, model, tier


@dataclass(kw_only=True)
class UsageSums:
    """What `SqlLog.usage` says of a run, from its rows: `add` every case once.

    `reused` counts re-used calls by the run that paid for them, `tiers` which tier served.
    """

    reused: dict[str, int] = field(default_factory=dict)
    tiers: ServedTiers = field(default_factory=ServedTiers)
    _sums: dict[_Kind, ModelUsage] = field(default_factory=dict)

    @property
    def usages(self) -> tuple[ModelUsage, ...]:
        """What was used, by judge, model and tier."""
        return tuple(self._sums.values())

    def add(self, rows: Sequence[VerdictRow]) -> None:
        """Take in all rows of one case."""
        self.tiers.add(rows)
        calls: dict[object, list[VerdictRow]] = {}
        for row in rows:
            calls.setdefault(row.key if row.call_id is None else (row.judge, row.call_id), []).append(row)
        seen: set[_Kind] = set()
        for call_rows in calls.values():
            used_here = _of_call(call_rows)
            key = used_here.judge, used_here.model, used_here.service_tier
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
    answered = errors < len(rows) or any(row.input_tokens is not None for row in rows)  # replies without an answer
    paid = made and answered and not any(row.attributes.get("cached") for row in rows)
    tokens = tokens_of(rows if paid else ())
    known = [tokens["input_tokens"], tokens["output_tokens"]]
    return ModelUsage(
        judge=rows[0].judge,
        model=max((row.model for row in rows if row.model is not None), default=None),
        service_tier=max((row.service_tier for row in rows if row.service_tier is not None), default=None),
        rows=len(rows),
        cases=1,
        calls=1,
        reused_calls=int(reused),
        made_calls=int(made),
        unreported_calls=int(paid and known == [None, None]),
        unpriced_calls=int(paid and None in known),
        attempts=known_sum(row.attempts for row in rows),
        **tokens,
        latency_s=known_sum(row.latency_s for row in rows),
        errors=errors,
        largest_input=known[0],
        largest_output=known[1],
        largest_cache_write=tokens["cache_write_tokens"],
        least_cached_input=(tokens["cached_input_tokens"] or 0) if paid else None,
    )


def _added(one: ModelUsage, other: ModelUsage, *, new_case: bool) -> ModelUsage:
    pairs = {field.name: (getattr(one, field.name), getattr(other, field.name)) for field in fields(ModelUsage)[3:]}
    sums: dict[str, Any] = {name: known_sum(pair) for name, pair in pairs.items()}
    for name in ("largest_input", "largest_output", "largest_cache_write", "least_cached_input"):
        extreme = min if name.startswith("least") else max
        sums[name] = extreme((size for size in pairs[name] if size is not None), default=None)
    return replace(one, **sums | {"cases": one.cases + new_case})


def stored_prices(stored: Mapping[str, Any] | None) -> dict[str, Price]:
    """Return the prices that a log notes of a run."""
    return {name: Price.from_dict(given) for name, given in (stored or {}).items()}


def bill_of(usages: Iterable[ModelUsage], prices: Prices | None) -> Billed:
    """Return what answers cost; None without prices, or where a price or the tokens of an answer are not known.

    Rewordings, and attempts that failed, report no tokens and are not in it; what was re-used or cached is free.
    """
    if not prices:
        return Billed(None)
    bills = []
    for one in usages:
        if one.unpriced_calls:
            whom = one.judge if one.model is None else one.model
            many = f"{one.unpriced_calls} answers did not report their tokens"
            bills.append(Billed(None, (f"{whom}: {UNREPORTED if one.unpriced_calls == 1 else many}",)))
        elif one.input_tokens is not None:  # otherwise nothing was paid for
            bills.append(billed(Spent.of(one), prices))
    return summed(bills)


def used(usages: Iterable[ModelUsage], prices: Prices | None) -> dict[str, Any]:
    """Return what was used as documents keep it: calls that were made, and `reused` ones, paid by an earlier run."""
    listed = list(usages)
    bill = bill_of(listed, prices)
    return {
        "calls": sum(one.made_calls for one in listed),
        **{name: known_sum(getattr(one, name) for one in listed) for name in _SUMMED},
        "reused": sum(one.reused_calls for one in listed),
        "cost": bill.cost,
        "cost_remarks": list(bill.remarks),
    }


def total_usage(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the usage of several judges together; their cost is known when that of each is."""
    total = summed(Billed(usage["cost"], tuple(usage["cost_remarks"])) for usage in usages)
    names = [name for usage in usages[:1] for name in usage if name not in ("cost", "cost_remarks")]
    sums = {name: known_sum(usage[name] for usage in usages) for name in names}
    return sums | {"cost": total.cost, "cost_remarks": list(total.remarks)}
