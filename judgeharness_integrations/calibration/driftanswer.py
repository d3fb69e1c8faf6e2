"""Changes of anchors -> stable, drifted or inconclusive, with what so few anchors can tell at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from judgeharness_integrations.aggregation.holm import holm
from judgeharness_integrations.aggregation.statistics import sign_test
from judgeharness_integrations.calibration import paired
from judgeharness_integrations.calibration.changes import Change, Kind, distances, kind_of, rights
from judgeharness_integrations.verdictlog.row import is_number

__all__ = ["Answer", "compared"]

Answer: TypeAlias = Literal["stable", "drifted", "inconclusive"]
Interval: TypeAlias = "tuple[float, float] | None"

_SAME = 1e-9


@dataclass(frozen=True, kw_only=True)
class _Paired:
    """What of a criterion's changes the answer follows from."""

    kind: Kind
    n: int
    worse: int
    better: int
    correct: tuple[int | None, int | None]
    difference: float | None
    interval: Interval
    unit: float  # what a margin of 1 is in units of the difference
    spread: float  # standard deviation of the change, in units of the difference
    answered: Interval  # of the change in the share of anchors that have a score

    @property
    def p(self) -> float:
        """The exact sign test; 1 where nothing changed for better or worse."""
        p = sign_test(self.worse, self.better)
        return 1.0 if p is None else p

    @property
    def exchange(self) -> float:
        """The share that changes in either direction all the same."""
        return min(self.worse, self.better) / self.n


def compared(changes: Mapping[str, Sequence[Change]], *, margin: float, alpha: float) -> dict[str, dict[str, Any]]:
    """Return criterion -> the fields of `CriterionDrift`."""
    found = {name: _paired(mine) for name, mine in changes.items()}
    adjusted = holm([one.p for one in found.values()])
    level = alpha / len(found)  # Holm's first step: what a single criterion has to reach
    return {
        name: _facts(name, changes[name], found[name], p_adjusted=p, margin=margin, alpha=alpha, level=level)
        for name, p in zip(found, adjusted, strict=True)
    }


def _paired(changes: Sequence[Change]) -> _Paired:
    return _scores(changes) if kind_of(changes) == "numbers" else _labels(changes)


def _labels(changes: Sequence[Change]) -> _Paired:
    before, now = rights(changes)
    n = len(changes)
    worse = sum(was and not is_ for was, is_ in zip(before, now, strict=True))
    better = sum(is_ and not was for was, is_ in zip(before, now, strict=True))
    difference = (better - worse) / n
    return _Paired(
        kind="labels",
        n=n,
        worse=worse,
        better=better,
        correct=(sum(before), sum(now)),
        difference=difference,
        interval=paired.tango_interval(better, worse, n),
        unit=1.0,
        spread=math.sqrt(max(0.0, (better + worse) / n - difference**2)),
        answered=None,
    )


def _scores(changes: Sequence[Change]) -> _Paired:
    before, now = (np.array(values) for values in distances(changes))
    both = np.isfinite(before) & np.isfinite(now)
    change = now[both] - before[both]
    apart = ~np.isclose(before, now, rtol=_SAME, atol=_SAME)  # two infinite distances are the same
    seen = (value for c in changes for value in (c.gold, c.before.verdict, c.now.verdict))
    numbers = [float(value) for value in seen if is_number(value)]  # type: ignore[arg-type]
    span = max(numbers) - min(numbers) or 1.0
    lost, gained = (
        int(np.sum(~np.isfinite(now) & np.isfinite(before))),
        int(np.sum(~np.isfinite(before) & np.isfinite(now))),
    )
    return _Paired(
        kind="numbers",
        n=len(changes),
        worse=int(np.sum(apart & (now > before))),
        better=int(np.sum(apart & (now < before))),
        correct=(None, None),
        difference=float(change.mean()) if change.size else None,
        interval=_mean_interval(change, span),
        unit=span,
        spread=float(change.std(ddof=1)) if change.size > 1 else 0.0,
        answered=paired.tango_interval(gained, lost, len(changes)),
    )


def _mean_interval(change: np.ndarray[Any, np.dtype[np.float64]], span: float) -> Interval:
    if not change.size:
        return None
    found = paired.mean_interval(change)
    if found is not None:
        return found
    center, unseen = float(change[0]), paired.unchanged_bound(change.size) * span
    return center - unseen, center + unseen


def _facts(
    criterion: str,
    changes: Sequence[Change],
    found: _Paired,
    *,
    p_adjusted: float,
    margin: float,
    alpha: float,
    level: float,
) -> dict[str, Any]:
    answer = _answer(found, p_adjusted=p_adjusted, margin=margin, alpha=alpha)
    smallest = paired.minimum_detectable(found.n, exchange=found.exchange, alpha=level)
    needed = _needed(found, margin=margin, level=level) if answer == "inconclusive" else None
    low, high = found.interval or (None, None)
    return {
        "criterion": criterion,
        "kind": found.kind,
        "answer": answer,
        "reason": _reason(found, answer, margin=margin, alpha=alpha, p_adjusted=p_adjusted),
        "n": found.n,
        "correct_before": found.correct[0],
        "correct_now": found.correct[1],
        "changed": sum(change.changed for change in changes),
        "worse": found.worse,
        "better": found.better,
        "difference": found.difference,
        "low": low,
        "high": high,
        "margin": margin * found.unit,
        "p": found.p,
        "p_adjusted": p_adjusted,
        "minimum_detectable": smallest,
        "anchors_needed": needed,
        "abstained_before": sum(change.before.status == "abstained" for change in changes),
        "abstained_now": sum(change.now.status == "abstained" for change in changes),
        "not_graded_before": sum(change.before.status == "not_graded" for change in changes),
        "not_graded_now": sum(change.now.status == "not_graded" for change in changes),
    }


def _inside(interval: Interval, margin: float) -> bool:
    return interval is not None and -margin <= interval[0] and interval[1] <= margin


def _answer(found: _Paired, *, p_adjusted: float, margin: float, alpha: float) -> Answer:
    if p_adjusted <= alpha:
        return "drifted"
    near = _inside(found.interval, margin * found.unit) and (found.kind == "labels" or _inside(found.answered, margin))
    return "stable" if near else "inconclusive"


def _reason(found: _Paired, answer: Answer, *, margin: float, alpha: float, p_adjusted: float) -> str:
    allowed = f"-+{margin * found.unit:.3g}"
    if answer == "drifted":
        small = f", by less than {allowed} all the same" if _inside(found.interval, margin * found.unit) else ""
        return f"p {p_adjusted:.3g} is at most {alpha:g}{small}"
    if answer == "stable":
        return f"the 95 % interval of the difference lies within {allowed}"
    if found.interval is None:
        return "no anchor has a score before and now"
    if _inside(found.interval, margin * found.unit):
        return f"too few anchors have a score to tell that as many have one as before, within {allowed}"
    return f"the 95 % interval of the difference reaches beyond {allowed}, and p {p_adjusted:.3g} is above {alpha:g}"


def _needed(found: _Paired, *, margin: float, level: float) -> int | None:
    """Return how many anchors would find a change of `margin`, and show an unchanged judge to be stable."""
    to_find = paired.items_needed(margin, exchange=found.exchange, alpha=level)
    if to_find is None:
        return None
    needed = max(to_find, paired.items_to_confirm(margin, exchange=found.exchange))
    allowed = margin * found.unit
    if found.kind == "numbers":
        needed = max(needed, paired.items_for_mean(allowed, found.spread))
    if needed <= found.n:  # enough for a clear case, but this one lies near the margin
        gap = max(abs(allowed - abs(found.difference or 0.0)), allowed / 100)
        needed = max(found.n + 1, paired.items_for_mean(gap, found.spread))
    return needed if needed <= paired.MOST_ITEMS else None
