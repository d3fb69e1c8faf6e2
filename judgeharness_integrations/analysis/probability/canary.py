"""A canary: a few frozen states, asked again on a schedule, tell whether the model behind a name has moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError

from ..sequential import move_evidence
from .forecasts import Floats
from .maps import distance

CANARY_ALPHA: Final = 0.05  # of all looks of a year, and beyond, at a model that has not moved
CANARY_STATES: Final = 20
_SAME: Final = 1e-9

Day: TypeAlias = Mapping[str, Mapping[str, float] | None]


@dataclass(frozen=True, kw_only=True)
class CanaryReport:
    """What `days` rounds of the same `states` say of a model.

    `evidence` has one number a round after the first, `needed` is what they are held against, and `alarm` the first
    round, counted from 0, in which it was reached; None where it never was. `moved` names the states whose last answer
    lies further from the median of two or more earlier ones than any of those did. `varied` says whether any answer
    ever changed: one that never does adds no evidence. `alpha` is the level for all looks together, however many.
    """

    days: int
    states: int
    evidence: tuple[float, ...]
    needed: float
    alpha: float
    alarm: int | None
    moved: tuple[str, ...]
    varied: bool


CANARY_SCHEMA: Final = "judgeharness.canary/1"


@dataclass(frozen=True, kw_only=True)
class CanaryCheck:
    """What the frozen states of a passport say, asked once more.

    `elsewhere` says that the answers came from another model than those of the passport; empty where they did not. Such
    answers are no round of it: `questions`, question -> report, is empty then. `checked_at` is an ISO 8601 time.
    """

    passport: str
    judge: str
    checked_at: str
    elsewhere: str
    questions: Mapping[str, CanaryReport]

    @property
    def moved(self) -> tuple[str, ...]:
        """The questions whose answers left the band in which they vary."""
        return tuple(name for name, report in self.questions.items() if report.alarm is not None)

    @property
    def alarm(self) -> bool:
        """Whether the judge is not what it was."""
        return bool(self.elsewhere or self.moved)

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON keeps it (`schemas/canary-1.json`)."""
        return {
            "schema": CANARY_SCHEMA,
            "passport": self.passport,
            "judge": self.judge,
            "checked_at": self.checked_at,
            "alarm": self.alarm,
            "elsewhere": self.elsewhere or None,
            "questions": {name: asdict(report) for name, report in self.questions.items()},
        }


def watch(days: Sequence[Day], *, alpha: float = CANARY_ALPHA) -> CanaryReport:
    """Return whether answers to frozen states left the band in which they vary; see `sequential.move_evidence`.

    A change is told from noise by earlier repeats: ask the states two or three times at the beginning, each a round of
    its own. States are taken to err independently within a round.

    Args:
        days: state -> option -> probability, oldest round first; None, or left out, where a state was not answered.
        alpha: how often a model that has not moved may ever raise an alarm.

    Raises:
        UsageError: there are fewer than two rounds, no state was answered, or `alpha` is out of range.

    """
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie between 0 and 1, not {alpha:g}.")
    states = list(dict.fromkeys(name for day in days for name, answer in day.items() if answer is not None))
    if len(days) < 2 or not states:  # noqa: PLR2004 - one to compare with
        raise UsageError("a canary takes two rounds of answers or more: ask its states again.")
    answers = _array(days, states)
    evidence = move_evidence(answers)
    reached = np.flatnonzero(evidence >= 1 / alpha)
    return CanaryReport(
        days=len(days),
        states=len(states),
        evidence=tuple(evidence.tolist()),
        needed=1 / alpha,
        alpha=alpha,
        alarm=int(reached[0]) + 1 if reached.size else None,
        moved=tuple(name for name in states if _beyond([day[name] for day in days if day.get(name) is not None])),
        varied=bool((np.nanmax(answers, axis=0) - np.nanmin(answers, axis=0) > _SAME).any()),
    )


def _array(days: Sequence[Day], states: Sequence[str]) -> Floats:
    """Return (days, states, options): a row for each state's own options, not a number where it was not answered."""
    options = {name: list(dict.fromkeys(option for day in days for option in (day.get(name) or ()))) for name in states}
    found = np.full((len(days), len(states), max(map(len, options.values()))), np.nan)
    for number, day in enumerate(days):
        for place, name in enumerate(states):
            answer = day.get(name)
            if answer is not None:
                found[number, place] = 0.0
                found[number, place, : len(options[name])] = [answer.get(option, 0.0) for option in options[name]]
    return found


def _beyond(answers: Sequence[Mapping[str, float] | None]) -> bool:
    """Whether the last answer lies further from the middle of the earlier ones than any of them does."""
    *earlier, last = [answer for answer in answers if answer is not None]
    if len(earlier) < 2:  # noqa: PLR2004 - one answer has no band
        return False
    options = dict.fromkeys(option for answer in earlier for option in answer)
    middle = {option: float(np.median([answer.get(option, 0.0) for answer in earlier])) for option in options}
    usual = max(distance(answer, middle) for answer in earlier)
    return distance(last, middle) > usual + _SAME
