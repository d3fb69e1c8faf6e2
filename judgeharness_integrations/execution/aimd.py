"""How many attempts may be in flight: additive increase, multiplicative decrease, and a memory of what was too much.

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
from typing import NamedTuple

__all__ = ["Admission", "Aimd"]

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
