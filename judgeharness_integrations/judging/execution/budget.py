"""What a run may still spend: calls, tokens and money."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.usage import UNREPORTED, Billed, Price, Spent, billed, price_of
from judgeharness_integrations.judging.execution.limiter import Slots


class BudgetExhausted(Exception):  # noqa: N818 - a signal inside the executor, not an error a caller meets
    """The run has spent what it may spend."""


@dataclass(kw_only=True)
class Budget:
    """Counts attempts, retries and rewrites included, tokens and money, in any thread; None: no limit.

    Tokens and cost are known only after an answer. So under `max_tokens` or `max_cost` an attempt begins when what is
    spent and as much as the largest call so far took, for it and for each one in flight, stay within the limit; until
    the first answer there is one at a time. Failed attempts, but for replies without an answer that were billed, and
    rewrites count as calls alone: nobody says what they took.

    Args:
        max_calls: attempts.
        max_tokens: tokens read and written.
        max_cost: in the currency of `prices`.
        prices: by model; `*` is any other one.
        spent: attempts made so far; a resumed run begins with those it made before.
        tokens: tokens spent so far, None when no answer reported any; with `max_tokens` and `spent` it must be known.
        cost: money spent so far, None when unknown: no prices, or an answer without tokens or price; likewise.
        largest: what single calls took so far, of a resumed run.
        named: how messages name the limits, by field; as the fields when not given.
        cost_remarks: what is to be said beside `cost`: where it is the most that can have been spent, or not known.
        is_metered: more than calls is limited.
        exhausted: something was left to ask but not to spend, or the limit cannot be kept.
        ended: it was ended by whoever owns it, not by a limit.
        reason: why it is exhausted.

    Raises:
        UsageError: a limit below 0, money without prices, or a limit for what was spent before in unknown amount.

    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Mapping[str, Price] | None = None
    spent: int = 0
    tokens: int | None = None
    cost: float | None = None
    exhausted: bool = False
    ended: bool = False
    reason: str | None = None
    largest: Sequence[Spent] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    cost_remarks: tuple[str, ...] = field(default=(), init=False)
    is_metered: bool = field(init=False, repr=False, compare=False)
    _largest: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False, compare=False)
    _slots: Slots = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the limits."""
        self._check_limits()
        if self.max_cost is not None and not self.prices:
            raise UsageError(
                "max_cost needs prices: give them by model, as in {'gpt-4o': Price(input=2.5, output=10)}."
            )
        for name, limit, known in (("tokens", self.max_tokens, self.tokens), ("cost", self.max_cost, self.cost)):
            if limit is not None and known is None and self.spent:
                raise UsageError(
                    f"max_{name} cannot be kept: the {name} of the {self.spent} attempts so far is not known; give "
                    f"{name}, or limit the calls instead."
                )
        if self.prices and self.cost is None and not self.spent:
            self.cost = 0.0
        self.is_metered = self.max_tokens is not None or self.max_cost is not None
        for spent in self.largest:
            self._note_size(spent)
        self._slots = Slots(lock=self._lock)
        self._resize()

    def _check_limits(self) -> None:
        if self.max_calls is not None and not (type(self.max_calls) is int and self.max_calls >= 0):
            raise UsageError(f"max_calls must be a whole number of at least 0, not {self.max_calls!r}.")
        for name, limit in (("max_tokens", self.max_tokens), ("max_cost", self.max_cost)):
            if limit is not None and not (type(limit) in (int, float) and 0 <= limit < math.inf):
                raise UsageError(f"{name} must be a number of at least 0, not {limit!r}.")
        for model, price in (self.prices or {}).items():
            if not isinstance(price, Price):
                raise UsageError(f"the price of {model!r} must be a Price(input=..., output=...), not {price!r}.")

    def check_price(self, model: str | None) -> None:
        """Refuse a model whose calls cannot be counted against `max_cost`.

        Raises:
            UsageError: it has no price.

        """
        if self.max_cost is not None and price_of(model, self.prices or {}) is None:
            raise UsageError(_not_kept("max_cost", billed(Spent(model=model), self.prices or {})))

    def take(self) -> None:
        """Take one attempt.

        Raises:
            BudgetExhausted: there is none left.

        """
        with self._lock:
            if not self.exhausted and self.max_calls is not None and self.spent >= self.max_calls:
                self._exhaust(f"{self._name('max_calls')}={self.max_calls} reached")
            if self.exhausted:
                raise BudgetExhausted(self.reason)
            self.spent += 1

    def end(self, reason: str) -> None:
        """Let no further attempt begin, whatever is left; those in flight may come to their end."""
        with self._lock:
            self.ended = True
            self._exhaust(reason)

    def give_back(self) -> None:
        """Say that an attempt that was taken was not made."""
        with self._lock:
            self.spent -= 1

    async def reserve(self) -> None:
        """Take one attempt and keep back what it may need, once that is certain to be there; end with `release`.

        Raises:
            BudgetExhausted: there is none left.

        """
        await self._slots.acquire()
        try:
            with self._lock:
                if not self.exhausted and (short := self._short_of()) is not None:
                    self._exhaust(short)
                self.take()
        except BudgetExhausted:
            self._slots.release()
            raise

    def release(self) -> None:
        """End a reservation."""
        self._slots.release()

    def settle(self, spent: Spent) -> None:
        """Count what an answer took; one that does not say ends a budget in tokens or money."""
        tokens = spent.tokens
        if tokens is None and not self.prices and not self.is_metered:
            return  # nothing is known, and nothing hangs on it
        with self._lock:
            if tokens is not None:
                self.tokens = (self.tokens or 0) + tokens
            if self.prices:
                self._settle_cost(spent)
            if self.is_metered:
                self._note_size(spent)
                self._settle_limits(tokens)

    def _settle_cost(self, spent: Spent) -> None:
        bill = billed(spent, self.prices or {})
        self.cost = None if bill.cost is None or self.cost is None else self.cost + bill.cost
        self.cost_remarks = tuple(dict.fromkeys((*self.cost_remarks, *bill.remarks)))
        if bill.cost is None and self.max_cost is not None:
            self._exhaust(_not_kept(self._name("max_cost"), bill))

    def _note_size(self, spent: Spent) -> None:
        """Learn how much one call may take; an answer from a cache, which took nothing, says nothing of the next."""
        if not spent.tokens:
            return
        for name, size in (("tokens", spent.tokens), ("cost", billed(spent, self.prices or {}).cost)):
            if size is not None:
                self._largest[name] = max(size, self._largest.get(name, 0.0))

    def _name(self, limit: str) -> str:
        return self.named.get(limit, limit)

    def _settle_limits(self, tokens: int | None) -> None:
        if tokens is None and self.max_tokens is not None:
            self._exhaust(_not_kept(self._name("max_tokens"), Billed(None, (UNREPORTED,))))
        self._resize()

    def _limits(self) -> list[tuple[str, float, float, float | None]]:
        """Return name, limit, what was spent of it and the most one call took, of the limits besides calls."""
        every = (("tokens", self.max_tokens, self.tokens), ("cost", self.max_cost, self.cost))
        return [
            (name, limit, spent or 0.0, self._largest.get(name)) for name, limit, spent in every if limit is not None
        ]

    def _short_of(self) -> str | None:
        """Return which limit leaves no room for one more call."""
        for name, limit, spent, largest in self._limits():
            if spent >= limit or spent + (largest or 0.0) > limit:
                took = f"{spent:g} spent, and a call took up to {largest or 0:g}"
                return f"{self._name('max_' + name)}={limit:g} reached: {took}"
        return None

    def _resize(self) -> None:
        """Let as many attempts be in flight as there is certainly room for; everybody, to be told that it is over."""
        most = sys.maxsize
        if not self.exhausted and self._short_of() is None:
            for _, limit, spent, largest in self._limits():
                most = min(most, 1 if largest is None else int((limit - spent) / largest) if largest else most)
        self._slots.resize(most)

    def _exhaust(self, reason: str) -> None:
        """End the budget; the first reason stays. The lock is held."""
        if not self.exhausted:
            self.exhausted, self.reason = True, reason
            self._resize()


def _not_kept(limit: str, bill: Billed) -> str:
    instead = "; limit the calls instead" if bill.remarks[0].endswith(UNREPORTED) else ""
    return f"{limit} cannot be kept: {bill.remarks[0]}{instead}"
