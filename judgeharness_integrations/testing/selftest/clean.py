"""Judges without a fault: how often a whole report fails one of them all the same."""

from __future__ import annotations

from typing import Any

from judgeharness_integrations.testing.selftest.check import AlarmCheck, Check, Point, grid
from judgeharness_integrations.testing.selftest.reports import alarms

__all__ = ["CLEAN"]

_TOLERANCE = 0.1
_NOISY = 0.75  # the noise at which one in ten repetitions gives another answer


def _pairwise(point: Point) -> dict[str, Any]:
    return {name: point[name] for name in ("noise", "case_correlation", "ties") if name in point}


def _graded(point: Point) -> dict[str, Any]:
    return {**_pairwise(point), "kind": "graded"}


def _scores(point: Point) -> dict[str, Any]:
    return {**_pairwise(point), "kind": "scores"}


def _at_tolerance(_: Point) -> dict[str, Any]:
    """Return a judge that does as often as the tolerance allows whatever has a rate of its own."""
    sentinels = dict.fromkeys(("sentinel.empty", "sentinel.off_topic"), _TOLERANCE)
    return {"noise": _NOISY, "garbage": _TOLERANCE, "refusal": _TOLERANCE, "obeys": sentinels}


CLEAN: tuple[Check, ...] = (
    AlarmCheck(
        name="no alarm: pairwise",
        points=(
            *grid(n=(50,), noise=(_NOISY, 0.0, 0.3)),
            *grid(n=(20, 100), noise=(_NOISY,)),
            *grid(n=(50,), noise=(1.0,), case_correlation=(0.5,)),
        ),
        simulate=alarms(_pairwise),
        note="at noise=0.75 it says something else when asked again as often as the tolerance allows",
    ),
    AlarmCheck(
        name="no alarm: pairwise, with ties",
        points=grid(n=(50, 20), noise=(0.15,), ties=(0.4, 1.0)),
        simulate=alarms(_pairwise),
    ),
    AlarmCheck(
        name="no alarm: graded",
        points=(*grid(n=(50, 20), noise=(_NOISY, 0.3)), *grid(n=(50,), noise=(1.0,), case_correlation=(0.5,))),
        simulate=alarms(_graded),
    ),
    AlarmCheck(
        name="no alarm: scores",
        points=(*grid(n=(50, 20), noise=(0.3, 0.1)), *grid(n=(50,), noise=(0.5,), case_correlation=(0.6,))),
        simulate=alarms(_scores),
    ),
    AlarmCheck(
        name="no alarm: pairwise, everything as often as the tolerance allows",
        points=grid(n=(20, 50)),
        simulate=alarms(_at_tolerance),
        note="other answers when asked again, unread and refused ones, sentinels that do not lose: one in ten each",
    ),
)
