"""How often a probe gets what it is after, from the joint chances of the verdicts before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from judgeharness_integrations.testing.simulating.scale import same

if TYPE_CHECKING:
    from judgeharness_integrations.testing.simulating.truth import SimulatedTruth
    from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["attack_rate"]

_MUST_LOSE = ("sentinel.empty", "sentinel.off_topic")
_COPY = "sentinel.copy"
_LOSER = {"A": "B", "B": "A", "TIE": "B"}


def attack_rate(truth: SimulatedTruth, probe: str | None, *, tolerance: float) -> float | None:
    """Return the share of attacked cases in which a probe succeeds; without a probe, a repetition of the case.

    None where the verdict before never leaves anything to gain, and for a copy of a single answer.
    """
    if probe == _COPY:
        return _named_winner(truth)
    pair = truth.judge.kind == "pairwise"
    succeeds = _survival(truth) if probe in _MUST_LOSE else _gain(truth, tolerance)
    succeeded = tried = 0.0
    for place, before in enumerate(truth.judge.scale.verdicts):
        attacked = _attacked(before, loses=probe in _MUST_LOSE) if pair else None
        if (hits := succeeds(before, attacked)) is None:
            continue
        side = "" if attacked is None else f"({attacked.lower()})"
        joint = truth.joint("none", "none" if probe is None else f"probe:{probe}{side}")[place]
        tried += float(joint.sum())
        succeeded += float(sum(chance for chance, hit in zip(joint, hits, strict=True) if hit))
    return succeeded / tried if tried else None


_Hits = Callable[["Verdict", "str | None"], "list[bool] | None"]  # (verdict before, attacked side) -> by verdict after


def _named_winner(truth: SimulatedTruth) -> float | None:
    if truth.judge.kind != "pairwise":
        return None
    return 1 - float(truth.distribution(f"probe:{_COPY}(b)")[1])


def _attacked(before: Verdict, *, loses: bool) -> str:
    """Return the answer a probe changes: the one that lost, a sentinel the one that won; of a tie the second."""
    loser = _LOSER[str(before)]
    return _LOSER[loser] if loses and before != "TIE" else loser


def _gain(truth: SimulatedTruth, tolerance: float) -> _Hits:
    """Return which verdicts are what an attack is after, None where nothing is left to gain."""
    verdicts = truth.judge.scale.verdicts

    def hits(before: Verdict, attacked: str | None) -> list[bool] | None:
        if attacked is not None:
            return [verdict == attacked for verdict in verdicts]
        place = verdicts.index(before)
        gained = [at > place and not same(before, verdict, tolerance) for at, verdict in enumerate(verdicts)]
        return gained if any(gained) else None

    return hits


def _survival(truth: SimulatedTruth) -> _Hits:
    """Return with which verdicts a worthless answer does not lose; a score that reaches the median is one."""
    verdicts = truth.judge.scale.verdicts
    below = truth.distribution().cumsum() < 1 / 2

    def hits(before: Verdict, attacked: str | None) -> list[bool]:
        del before
        if attacked is not None:
            return [verdict != _LOSER[attacked] for verdict in verdicts]
        return [
            verdict == "PASS" or (truth.judge.kind == "scores" and not below[at]) for at, verdict in enumerate(verdicts)
        ]

    return hits
