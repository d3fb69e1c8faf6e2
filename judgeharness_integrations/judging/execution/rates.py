"""Requests and tokens a minute, pauses a server asked for, and how many attempts may be in flight.

Requests and tokens a minute, and pauses a server asked for: when may the next attempt begin? Pure: the time is always
given. Two leaky buckets. A server that counts any 60 seconds must never see more than the rate, so a bucket holds a
second's worth at most and drains slower than the rate by that much; a minute is taken to be 61 s long, because a call
may arrive up to a second later than the one after it.

How many attempts may be in flight: additive increase, multiplicative decrease, and a memory of what was too much.
Pure: the time is always given. A server with room for C attempts refuses those that are one too many; another one
refuses a few of a hundred whatever is in flight, and must not be slowed down for that. What tells them apart is the
*level* of an attempt: how many were in flight when it began, itself included. Beyond its room a server refuses nearly
every attempt of a level, within it as few as at any other level. So a refusal counts as too much when the levels from
some k upwards are refused far more often than those below (a likelihood ratio, see `_Levels`).

Then the capacity is halved and grows by one after each round of answers, up to a ceiling a tenth below k: calls that
were given up or are on their way make the server's count differ from ours. The ceiling holds for a minute and is lifted
by 1, then 2, 4, ... a minute as long as that goes well; every time it does not, the next try comes twice as late, up to
16 minutes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple

from judgeharness_integrations._errors import PlanError

__all__ = ["Rates"]


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


_FIRST_PATIENCE_S, _LONGEST_PATIENCE_S = 60.0, 960.0
_HEADROOM = 0.9


class Admission(NamedTuple):
    """An attempt that was let through: its level, the decreases before it, the tokens it reserved."""

    level: int
    decreases: int = 0
    reserved: float = 0.0


class Aimd:
    """The state of one judge model; `limit` is what its runs allow, `in_flight` what is under way."""

    def __init__(self, limit: int = 1) -> None:
        """Start with everything that is allowed."""
        self.limit = limit
        self.in_flight = 0
        self._window = self._ceiling = math.inf
        self._decreases = self._answered = 0
        self.is_adapting = False  # until anything is refused
        self._levels = _Levels()
        self._step, self._patience_s, self._lift_at = 1, _FIRST_PATIENCE_S, 0.0

    @property
    def capacity(self) -> int:
        """How many attempts may be in flight."""
        return int(min(self._window, self._ceiling, self.limit))

    def begin(self, reserved: float = 0.0) -> Admission:
        """Count an attempt as in flight."""
        self.in_flight = level = self.in_flight + 1
        self._levels.begun(level)
        return Admission(level, self._decreases, reserved)

    def answered(self, admission: Admission, now: float) -> None:
        """Note an attempt that was answered."""
        self.in_flight -= 1
        if not self.is_adapting or admission.decreases != self._decreases:
            return
        if 2 * admission.level > self.capacity:  # a capacity that is not used proves nothing
            self._answered += 1
            if self._answered >= self.capacity:
                self._answered = 0
                self._grow(now)

    def refused(self, admission: Admission, now: float) -> None:
        """Note an attempt that was refused; those that began before the last decrease do not count again."""
        self.in_flight -= 1
        if admission.decreases != self._decreases:
            return
        self.is_adapting = True
        self._levels.refused(admission.level)
        if self.capacity > 1 and (too_many := self._levels.too_many()) is not None:
            self._shrink(too_many, now)

    def failed(self, admission: Admission) -> None:
        """Note an attempt that ended in any other way: it says nothing about the server's room."""
        del admission
        self.in_flight -= 1

    def _grow(self, now: float) -> None:
        if self._window < min(self._ceiling, self.limit):
            self._window += 1
        elif self._ceiling < self.limit and now >= self._lift_at:
            self._ceiling += self._step
            self._step *= 2
            self._lift_at = now + self._patience_s

    def _shrink(self, too_many: int, now: float) -> None:
        was_lifted = self._step > 1
        self._patience_s = min(2 * self._patience_s, _LONGEST_PATIENCE_S) if was_lifted else _FIRST_PATIENCE_S
        self._step, self._lift_at = 1, now + self._patience_s
        self._window = max(1, self.capacity // 2)
        self._ceiling = max(1, math.ceil(_HEADROOM * max(self._window, too_many - 1)))
        self._levels.forget(too_many)
        self._decreases += 1
        self._answered = 0


class _Levels:
    """How often attempts of each level were tried and refused; of each about the last 50 count.

    Against every k: attempts from level k on are refused with the probability p0 of the levels below it (5 to 10 %), or
    with five times that. k is too many when the second is e^4.5 = 90 times as likely: three refusals of three, or 9
    of 50 after a long time without any.
    """

    _MEMORY = 0.98
    _FEWEST, _MOST = 0.05, 0.1
    _TIMES = 5.0
    _ENOUGH = 4.5

    def __init__(self) -> None:
        self._tried: list[float] = [0.0]
        self._refused: list[float] = [0.0]

    def begun(self, level: int) -> None:
        """Count an attempt when it begins: refusals come back sooner than answers, and would be all there is."""
        if level >= len(self._tried):
            more = [0.0] * (level + 1 - len(self._tried))
            self._tried += more
            self._refused += more
        self._tried[level] = self._tried[level] * self._MEMORY + 1
        self._refused[level] *= self._MEMORY

    def refused(self, level: int) -> None:
        """Note that an attempt that had begun was refused."""
        self._refused[level] += 1

    def too_many(self) -> int | None:
        """Return the highest level from which on it is clear that there are too many; None: it is of no level."""
        tried, refused = sum(self._tried), sum(self._refused)  # below k
        above_tried = above_refused = 0.0
        for level in range(len(self._tried) - 1, 0, -1):
            if not self._tried[level]:
                continue
            above_tried, above_refused = above_tried + self._tried[level], above_refused + self._refused[level]
            tried, refused = tried - self._tried[level], refused - self._refused[level]
            usual = min(self._MOST, max(self._FEWEST, (refused + 1) / (tried + 20)))
            answered_weight = math.log((1 - self._TIMES * usual) / (1 - usual))
            evidence = above_refused * math.log(self._TIMES) + (above_tried - above_refused) * answered_weight
            if evidence > self._ENOUGH:
                return level
        return None

    def forget(self, level: int) -> None:
        """Forget what happened from a level on: the next time it is tried counts anew."""
        del self._tried[level:], self._refused[level:]
