"""Requests and tokens a minute, and pauses a server asked for: when may the next attempt begin?

Pure: the time is always given. Two leaky buckets. A server that counts any 60 seconds must never see more than the
rate, so a bucket holds a second's worth at most and drains slower than the rate by that much; a minute is taken to be
61 s long, because a call may arrive up to a second later than the one after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

from judgeharness_integrations._errors import PlanError

__all__ = ["Bucket", "RateGate", "Rates"]

_MINUTE_S = 61.0
_LONGEST_PAUSE_S = 300.0
_ASSUMED_TOKENS = 1_000.0  # of a call, until the first answer says more; until then there is one at a time
_LOOK_AGAIN_S = 0.02  # whether it has come
_MEAN_OVER = 100  # calls
_ROUNDING = 1e-6  # of a bucket: else a wait could end a rounding error too early, again and again


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What a provider allows a minute; None: no limit declared.

    Raises:
        PlanError: a rate is not above 0.

    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        """Refuse rates at which nothing could ever be asked."""
        for field in fields(self):
            rate = getattr(self, field.name)
            number = isinstance(rate, (int, float)) and not isinstance(rate, bool)
            if rate is not None and not (number and 0 < rate < math.inf):
                raise PlanError(f"{field.name} must be a number above 0, not {rate!r}; leave it out for no limit.")

    @classmethod
    def strictest(cls, every: Iterable[Rates]) -> Rates:
        """Return the lowest of each declared rate."""
        declared = list(every)
        requests = [r.requests_per_minute for r in declared if r.requests_per_minute is not None]
        tokens = [r.tokens_per_minute for r in declared if r.tokens_per_minute is not None]
        return cls(requests_per_minute=min(requests, default=None), tokens_per_minute=min(tokens, default=None))


@dataclass
class Bucket:
    """Fills with what is asked, drains at `per_s`; what fits stays within `capacity`, or goes into the empty bucket."""

    capacity: float = math.inf
    per_s: float = math.inf
    level: float = 0.0
    drained_at: float = -math.inf

    def wait_s(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` fits."""
        if self.level > 0 and now > self.drained_at:
            self.level = max(0.0, self.level - (now - self.drained_at) * self.per_s)
        self.drained_at = now
        room = max(self.capacity, amount)
        missing = self.level + amount - room
        return missing / self.per_s if missing > _ROUNDING * room else 0.0

    def add(self, amount: float) -> None:
        """Fill in what was asked, or correct it."""
        self.level = max(0.0, self.level + amount)


class RateGate:
    """The pause of one model and its two buckets."""

    def __init__(self) -> None:
        """Start open."""
        self.is_open = True  # neither rates nor a pause: nothing to take into account
        self._rates = Rates()
        self._requests, self._tokens = Bucket(), Bucket()
        self._paused_until = -math.inf
        self._mean_tokens, self._answers = _ASSUMED_TOKENS, 0
        self._is_trying = False  # an attempt is out that will say how many tokens a call takes

    def declare(self, rates: Rates) -> None:
        """Keep to these rates from now on; what was asked under the former ones is not forgotten."""
        self._rates = rates
        if (requests := rates.requests_per_minute) is not None:
            burst = max(1.0, requests // 60)
            # of whole calls, one more than capacity + drained never fits into the minute
            self._requests.capacity, self._requests.per_s = burst, (requests - burst + 1) / _MINUTE_S
        self._size_tokens()
        self._settle_state()

    def _size_tokens(self) -> None:
        if (tokens := self._rates.tokens_per_minute) is not None:
            burst = max(tokens / 60, self._mean_tokens)
            self._tokens.capacity, self._tokens.per_s = burst, max(tokens - burst, tokens / 2) / _MINUTE_S

    def _settle_state(self) -> None:
        self.is_open = self._rates == Rates() and self._paused_until == -math.inf

    @property
    def reserved(self) -> float:
        """Tokens the next attempt takes until its answer says how many they were: the mean of the last calls."""
        return self._mean_tokens if self._rates.tokens_per_minute is not None else 0.0

    def pause(self, seconds: float, now: float) -> None:
        """Let nothing pass for `seconds`, at most 300; never shortens a pause."""
        if seconds > 0:
            self._paused_until = max(self._paused_until, now + min(seconds, _LONGEST_PAUSE_S))
            self.is_open = False

    def pause_s(self, now: float) -> float:
        """Return how long the pause a server asked for still lasts."""
        return max(0.0, self._paused_until - now)

    def take(self, now: float) -> float:
        """Take one attempt and return 0, or return the seconds after which to ask again."""
        if now < self._paused_until:
            return self._paused_until - now
        self._paused_until = -math.inf
        self._settle_state()
        requests, tokens = self._rates.requests_per_minute is not None, self._rates.tokens_per_minute is not None
        if tokens and self._is_trying:
            return _LOOK_AGAIN_S
        wait = max(
            self._requests.wait_s(1.0, now) if requests else 0.0,
            self._tokens.wait_s(self._mean_tokens, now) if tokens else 0.0,
        )
        if wait <= 0:
            self._requests.add(1.0 if requests else 0.0)
            self._tokens.add(self.reserved)
            self._is_trying = tokens and not self._answers
        return wait

    def tried(self) -> None:
        """Say that an attempt ended without an answer: the next one may tell its tokens."""
        self._is_trying = False

    def untold(self) -> None:
        """Say that an answer did not tell its tokens: nobody need wait for those of others."""
        self._answers += 1
        self._is_trying = False

    def settle(self, reserved: float, tokens: int) -> None:
        """Correct what an attempt reserved by what it took."""
        self._answers += 1
        self._is_trying = False
        self._mean_tokens += (tokens - self._mean_tokens) / min(self._answers, _MEAN_OVER)
        if reserved:
            self._tokens.add(tokens - reserved)
            # a debt of more than a minute would make later minutes pay for what a short one got
            self._tokens.level = min(self._tokens.level, max(self._rates.tokens_per_minute or 0.0, float(tokens)))
            self._size_tokens()
