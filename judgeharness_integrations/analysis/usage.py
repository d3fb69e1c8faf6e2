"""What cases cost: tokens summed over rows, and one formula of prices."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.row import TOKENS, VerdictRow

__all__ = [
    "ANY_MODEL",
    "CHEAPER",
    "UNREPORTED",
    "Billed",
    "Price",
    "Spent",
    "Usage",
    "billed",
    "known_sum",
    "names_of",
    "price_of",
    "reused_from",
    "same_model",
    "spent_by",
    "summed",
    "tier_name",
    "tokens_of",
    "undated",
    "usage_of_rows",
]


_tokens = attrgetter(*TOKENS)
_N = TypeVar("_N", int, float)
_REUSED = "reused_from"  # the attribute that names the run that paid
_CACHED = "cached"  # the attribute of an answer from the user's own cache, for which nobody paid


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the case cost: calls, attempts (retries included), rewrites, tokens, seconds of waiting for the judge.

    Tokens and seconds are None where no call reported them; those read from the provider's prompt cache, or written to
    it, are among `input_tokens`. An answer from a cache of the user's own took no tokens. `reused` counts answers an
    earlier run had paid for; they are no calls of this one.
    """

    calls: int
    attempts: int
    rewrites: int
    input_tokens: int | None
    output_tokens: int | None
    latency_s: float | None
    reused: int = 0
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None


def usage_of_rows(rows: Sequence[VerdictRow], *, rewrites: int = 0) -> Usage:
    """Return what the calls behind the rows cost; rows that share a `call_id` are one call.

    A row with 0 attempts stands for no call: its perturbation failed, or its answer was re-used.
    """
    asked: set[object] = set()
    never_made: set[object] = set()
    reused: set[object] = set()
    uncached, attempted, waited = [], [], []
    for row in rows:
        call = row.call_id if row.call_id is not None else row.key
        asked.add(call)
        attempted.append(row.attempts)
        waited.append(row.latency_s)
        if row.attempts == 0:
            never_made.add(call)
        if row.attributes:
            if _REUSED in row.attributes:
                reused.add(call)
            if row.attributes.get(_CACHED):
                continue
        uncached.append(row)
    calls = len(asked - never_made - reused) if never_made or reused else len(asked)
    attempts = known_sum(attempted)
    return Usage(
        calls=calls,
        attempts=calls if attempts is None else attempts,
        rewrites=rewrites,
        **tokens_of(uncached),
        latency_s=known_sum(waited),
        reused=len(reused),
    )


def tokens_of(used: Iterable[VerdictRow] | Iterable[Usage]) -> dict[str, int | None]:
    """Return the sum of each of `TOKENS`, None where nobody reported any."""
    told = zip(*map(_tokens, used), strict=True)
    sums: dict[str, int | None] = dict.fromkeys(TOKENS)
    sums.update(zip(TOKENS, map(known_sum, told), strict=False))
    return sums


def reused_from(rows: Sequence[VerdictRow]) -> tuple[str, ...]:
    """Return the runs whose answers were re-used, in order of appearance."""
    return tuple(dict.fromkeys(str(row.attributes[_REUSED]) for row in rows if _REUSED in row.attributes))


def known_sum(values: Iterable[_N | None]) -> _N | None:
    """Return the sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


ANY_MODEL = "*"
UNREPORTED = "an answer did not report its tokens"
_PER = 1_000_000
# A snapshot's date or number: gpt-4o-2024-08-06, claude-3-opus@20240229, gpt-4-0613, gemini-2.0-flash-001.
_VERSION = re.compile(r"[-@:](?:\d{4}-\d\d-\d\d|\d{8}|\d{6}|\d{4}|\d{3})$")
_STANDARD: Final = frozenset({"", "auto", "default", "on_demand", "standard", "unspecified"})
CHEAPER: Final = frozenset({"batch", "flex"})  # nobody asks more for these than for the standard tier


class Spent(NamedTuple):
    """Tokens of one answer and the model that was asked; None: not reported. An answer from a cache has spent 0.

    Those read from the provider's prompt cache, and those written to it, are among `input_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    service_tier: str | None = None

    @classmethod
    def of(cls, used: Any, *, default_model: str | None = None) -> Spent:
        """Return what an answer, a row of a log, or a sum of rows of one model and tier has spent."""
        return cls(
            getattr(used, "input_tokens", None),
            getattr(used, "output_tokens", None),
            getattr(used, "model", None) or default_model,
            getattr(used, "cached_input_tokens", None),
            getattr(used, "cache_write_tokens", None),
            getattr(used, "service_tier", None),
        )

    @property
    def tokens(self) -> int | None:
        """Tokens read and written, as far as reported."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)


class Billed(NamedTuple):
    """Money, None when not known, and what is to be said beside it: why it is not known, or is at most that."""

    cost: float | None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Price:
    """Price of a million tokens read (`input`) and written (`output`), in whatever currency `max_cost` is.

    A cost is never too low. Without `cached_input`, input that came from the provider's cache is billed as any other,
    and so are the tiers flex and batch where they have no price; both are said beside the cost. Tokens written to the
    cache, and other tiers, may cost more: without a price the cost is not known.

    Args:
        input: of tokens read.
        output: of tokens written.
        cached_input: of tokens read from the provider's prompt cache.
        cache_write: of tokens written to that cache.
        tiers: prices by the tier that served a call (`flex`, `priority` ...), each a price or a mapping of its fields.
        source: where the numbers come from, where they are not the user's own; it stands beside the cost.

    Raises:
        UsageError: a price is not a number of at least 0, or a tier has tiers.

    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    tiers: Mapping[str, Price] = field(default_factory=dict, hash=False)
    source: str | None = None

    def __post_init__(self) -> None:
        """Refuse prices no sum can be made of."""
        given = (price for price in (self.cached_input, self.cache_write) if price is not None)
        for price in (self.input, self.output, *given):
            if isinstance(price, bool) or not isinstance(price, (int, float)) or not 0 <= price < math.inf:
                raise UsageError(f"a price is a number of at least 0 per million tokens, not {price!r}.")
        if not isinstance(self.tiers, Mapping):
            raise UsageError(f"tiers are prices by the name of a tier, not {self.tiers!r:.80}.")
        tiers = {
            tier_name(name) or str(name): one if isinstance(one, Price) else Price.from_dict(one, f"tier {name!r}")
            for name, one in self.tiers.items()
        }
        if any(one.tiers for one in tiers.values()):
            raise UsageError("a tier has one price: leave its tiers out.")
        object.__setattr__(self, "tiers", tiers)

    @classmethod
    def from_dict(cls, given: Any, what: str = "price") -> Price:
        """Return the price that a mapping of its fields says, or a pair (input, output) as older logs keep it.

        Raises:
            UsageError: `what` it belongs to has a field that is missing, not known or no price.

        """
        if isinstance(given, (list, tuple)):
            given = dict(zip(("input", "output"), given, strict=True))
        if not isinstance(given, Mapping):
            raise UsageError(f"{what} is {given!r:.80}: write input and output, per million tokens.")
        known = [one.name for one in fields(cls)]
        for name in given:
            if name not in known:
                raise UnknownNameError(f"key of {what}", str(name), known)
        if missing := [name for name in ("input", "output") if name not in given]:
            raise UsageError(f"{what} has no {' and no '.join(missing)}: write input and output, per million tokens.")
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that say something, as JSON keeps them."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) not in (None, {})}
        return found | ({"tiers": {name: one.to_dict() for name, one in self.tiers.items()}} if self.tiers else {})

    def of(self, spent: Spent) -> float | None:
        """Return what a call cost, None unless that is known."""
        return self.billed(spent).cost

    def billed(self, spent: Spent) -> Billed:
        """Return what a call cost and what is to be said of it, as far as the model's name need not be known."""
        tier = tier_name(spent.service_tier)
        price, remarks = self.tiers.get(tier, self) if tier else self, list[str]()
        if tier and price is self:
            if tier not in CHEAPER:
                return Billed(None, (f"tier {tier!r} has no price: add it to tiers",))
            remarks.append(f"tier {tier!r} is billed at the standard price, the most it can cost: add it to tiers")
        if spent.input_tokens is None or spent.output_tokens is None:
            free = not price.input and not price.output and not price.cache_write
            return Billed(0.0) if free else Billed(None, (UNREPORTED,))
        cached, stored = spent.cached_input_tokens or 0, spent.cache_write_tokens or 0
        if stored and price.cache_write is None:
            return Billed(None, ("tokens written to the provider's cache have no price: add cache_write",))
        if cached and price.cached_input is None:
            remarks.append("cached input is billed at the full price, the most it can cost: add cached_input")
        parts = (
            (max(spent.input_tokens - cached - stored, 0), price.input),
            (cached, price.input if price.cached_input is None else price.cached_input),
            (stored, price.cache_write or 0.0),
            (spent.output_tokens, price.output),
        )
        source = price.source or self.source
        remarks += [] if source is None else [f"prices of {source}"]
        return Billed(sum(tokens * each for tokens, each in parts) / _PER, tuple(remarks))


def tier_name(served: str | None) -> str | None:
    """Return a tier as prices name it; None is the standard one, however the provider calls that."""
    name = (served or "").strip().lower().replace("-", "_").removeprefix("service_tier_")
    name = {"batches": "batch"}.get(name, name if name in _STANDARD else name.removeprefix("on_demand_"))
    return None if name in _STANDARD else name


def price_of(model: str | None, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model: by its name, without its provider, without its snapshot's date; else that of `*`."""
    if model is not None:
        for name in names_of(model):
            if name in prices:
                return prices[name]
    return prices.get(ANY_MODEL)


def names_of(model: str) -> tuple[str, ...]:
    """Return the names a price of a model may stand under, the most exact first."""
    return tuple(dict.fromkeys(known for name in (model, _plain(model)) for known in (name, undated(name))))


def same_model(asked: str, answered: str) -> bool:
    """Whether a model that answered may be the one that was asked: its provider, and a date in one name, do not count.

    A server that is asked for `gpt-4o` says that `gpt-4o-2024-08-06` answered.
    """
    return _plain(asked) in names_of(answered) or _plain(answered) in names_of(asked)


def _plain(model: str) -> str:
    return re.split("[/:]", model, maxsplit=1)[-1] if re.match("[a-z_]+[/:]", model) else model


def undated(model: str) -> str:
    """Return a model's name without the date or number of its snapshot."""
    return _VERSION.sub("", model)


def billed(spent: Spent, prices: Mapping[str, Price]) -> Billed:
    """Return what a call cost by the price of its model; remarks name the model."""
    price, model = price_of(spent.model, prices), spent.model
    if price is None:
        if model is None:
            why = "there is no price for a judge that names no model: name it (`model:`), or add a price for '*'"
        else:
            why = f"there is no price for model {model!r}: add it to prices, or one for '*'"
        return Billed(None, (why,))
    cost, remarks = price.billed(spent)
    return Billed(cost, tuple(remark if model is None else f"{model}: {remark}" for remark in remarks))


def summed(bills: Iterable[Billed]) -> Billed:
    """Return several bills as one; its cost is known when that of each is, and else only the reasons are told."""
    listed = list(bills)
    unknown = [one for one in listed if one.cost is None]
    remarks = tuple(dict.fromkeys(remark for one in unknown or listed for remark in one.remarks))
    return Billed(None if unknown else math.fsum(one.cost or 0.0 for one in listed), remarks)


def spent_by(answer: Any, *, default_model: str | None = None) -> Spent:
    """Return what a `Judgment` took; one from a cache nothing, anything else is not known."""
    try:
        facts, spent = answer.facts, Spent.of(answer, default_model=default_model)
    except AttributeError:
        return Spent(model=default_model)
    return Spent(0, 0, spent.model) if facts and facts.get("cached") else spent
