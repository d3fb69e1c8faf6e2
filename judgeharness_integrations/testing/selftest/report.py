"""The self-test: simulates every check at its points, and reports which of them keep their promise.

All checks but those of commands: of intervals and tests, reports on simulated judges, rules and workflows.

To add one, declare it beside the function that simulates it, and name it here.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.statistics import POWER

from .agreement import ALT_TESTS, CATEGORIES, KAPPAS
from .check import (
    LEVEL,
    AlarmCheck,
    Check,
    FailureCheck,
    IntervalCheck,
    Kind,
    PointFound,
    PowerCheck,
    PromiseCheck,
    Verdict,
    point_text,
)
from .judges import CLEAN, FAULTS, RANKINGS
from .looking import CERTIFYING, DRIFTING, LOOKING
from .proportions import CORRECTED_RATES, EXCESSES, PROPORTIONS, SCORES
from .rules import FAILURES
from .workflows import CHOOSING, LABELLING, PLANNING


@dataclass(frozen=True, kw_only=True)
class CheckFound:
    """One check: its points, the mean rate and the worst point, and what the rule made of them.

    `conservative` and `narrow` intervals cover more or less than their nominal 95 %, and are documented so. `unclear`:
    what was found is beyond a limit, but by less than so few replicates may err; `full` tells.

    A workflow is `kept`, `broken` or `not told` at this number of studies; `promise` says what it is about, and
    `at_least` whether that is to happen at least so often as promised, or at most.
    """

    name: str
    kind: Kind
    points: tuple[PointFound, ...]
    mean: float | None
    worst: PointFound
    verdict: Verdict
    reason: str
    note: str = ""
    promise: str = ""
    at_least: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "verdict": self.verdict,
            "reason": self.reason,
            "mean": self.mean,
            "worst": {"point": dict(self.worst.point), "rate": self.worst.rate},
            "points": [point.to_dict() for point in self.points],
            "note": self.note,
            **({"promise": self.promise, "at_least": self.at_least} if self.promise else {}),
        }


@dataclass(frozen=True, kw_only=True)
class SelftestReport:
    """Every check of a self-test; `replicates` a point at most, drawn from `seed`."""

    full: bool
    seed: int
    replicates: int
    checks: tuple[CheckFound, ...]

    @property
    def passed(self) -> bool:
        """Whether no check misses, and no workflow breaks its promise."""
        return all(check.verdict not in {"miss", "broken"} for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it (`judgeharness.selftest/1`)."""
        return {
            "schema": "judgeharness.selftest/1",
            "full": self.full,
            "seed": self.seed,
            "replicates": self.replicates,
            "passed": self.passed,
            "checks": [check.to_dict() for check in self.checks],
        }


_ORDER: Final = ("kept", "not told", "broken")


def most_broken(points: Sequence[PointFound]) -> PointFound:
    """Return the point that speaks most against the promise."""
    return max(
        points, key=lambda point: (_ORDER.index(point.verdict or "not told"), -(1.0 if point.p is None else point.p))
    )


def broken_promises(points: Sequence[PointFound], *, at_least: bool) -> str:
    """Return a sentence with every point at which the promise is not shown to be kept; empty without any."""
    word = "least" if at_least else "most"
    parts = []
    for point in points:
        if point.verdict == "kept" or point.promised is None:
            continue
        if point.rate is None or point.low is None or point.high is None:
            parts.append(f"nothing was promised in {point.replicates} studies at {point}")
            continue
        studies = point.replicates - point.undefined
        parts.append(
            f"{point.verdict}: {point.rate:.4f} [{point.low:.4f}, {point.high:.4f}] of {studies} studies at {point}, "
            f"promised at {word} {point.promised:g}"
        )
    return "; ".join(parts)


_MEAN = (0.935, 0.97)  # where the mean coverage of a nominal 95 % interval is to lie
_WORST = 0.91  # what no point may fall below
_SIZE = 0.065  # what a test at nominal 5 % may reject at most
_TIMID = 0.03  # a test that rejects less often than that on average is called conservative
_ALARMS = 0.05  # how often a report may fail what is without a fault
_NOISE = 3.0  # power falls when it falls by more than so many standard errors of a difference
CRITERIA: dict[Kind, str] = {
    "coverage": f"mean {100 * _MEAN[0]:g} to {100 * _MEAN[1]:g} %, no point below {100 * _WORST:g} %",
    "size": f"no point above {100 * _SIZE:g} %",
    "power": f"named by {100 * POWER:g} % of reports where marked *, not less often as the fault grows, and other "
    f"properties failed by at most {100 * _ALARMS:g} %",
    "false_alarms": f"no judge failed by more than {100 * _ALARMS:g} % of reports",
    "failures": "no sequence breaks the promise",
    "promises": "kept where what was promised happened often enough, broken where a binomial test tells that it did "
    f"not (p up to {LEVEL:g}), else not told at this number of studies",
}
_Beyond = tuple[Verdict, str]


def judged(check: Check, points: tuple[PointFound, ...], *, errors: float) -> CheckFound:
    """Return what a check found; what is beyond a limit by less than `errors` standard errors is unclear."""
    rates = [point.rate for point in points if point.rate is not None]
    mean = math.fsum(rates) / len(rates) if rates else None
    promised: dict[str, Any] = {}
    if isinstance(check, PromiseCheck):
        worst, promised = most_broken(points), {"promise": check.promise, "at_least": check.at_least}
        verdict, reason = worst.verdict or "not told", broken_promises(points, at_least=check.at_least)
    else:
        worst = next((point for point in points if point.rate is None), None) or _worst(check, points)
        verdict, reason = _judged(check, points, mean, worst, errors=errors)
    return CheckFound(
        name=check.name,
        kind=check.kind,
        points=points,
        mean=mean,
        worst=worst,
        verdict=verdict,
        reason=reason,
        note=check.note,
        **promised,
    )


def _judged(
    check: Check, points: tuple[PointFound, ...], mean: float | None, worst: PointFound, *, errors: float
) -> _Beyond:
    if mean is None or worst.rate is None:
        return _miss(f"nothing is defined at {worst}")
    verdict, reason = _beyond(check, points, mean, worst, errors=errors)
    if verdict != "miss" and errors:
        strictly, told = _beyond(check, points, mean, worst, errors=0.0)
        if strictly == "miss":
            return "unclear", f"{told}, but so few replicates cannot tell: see --full"
    return verdict, reason


def _worst(check: Check, points: tuple[PointFound, ...]) -> PointFound:
    if isinstance(check, PowerCheck):
        return min((point for point in points if point.declared), key=_rate)
    return min(points, key=_rate) if isinstance(check, IntervalCheck) else max(points, key=_rate)


def _rate(found: PointFound) -> float:
    return found.rate or 0.0


def _beyond(check: Check, points: tuple[PointFound, ...], mean: float, worst: PointFound, *, errors: float) -> _Beyond:
    if isinstance(check, IntervalCheck):
        return _coverage(check, mean, worst, total=sum(point.replicates for point in points), errors=errors)
    if isinstance(check, PowerCheck):
        return _power(points, worst, errors=errors)
    if isinstance(check, AlarmCheck):
        return _alarms(worst, errors=errors)
    return _failures(worst) if isinstance(check, FailureCheck) else _size(mean, worst, errors=errors)


def _coverage(check: IntervalCheck, mean: float, worst: PointFound, *, total: int, errors: float) -> _Beyond:
    low, high = _MEAN[0] - errors * _error(_MEAN[0], total), _MEAN[1] + errors * _error(_MEAN[1], total)
    least = _WORST - errors * _error(_WORST, worst.replicates - worst.undefined)
    if check.narrow:
        return _narrow(mean, worst)
    if mean < low:
        return _miss(f"mean coverage {mean:.4f} is below {low:.4f}")
    if _rate(worst) < least:
        return _miss(f"coverage {worst.rate:.4f} at {worst} is below {least:.4f}")
    if mean > high and not check.conservative:
        return _miss(f"mean coverage {mean:.4f} is above {high:.4f}, and it is not declared conservative")
    return ("conservative", "covers more than its nominal 95 %") if mean > _MEAN[1] else ("ok", "")


def _narrow(mean: float, worst: PointFound) -> _Beyond:
    if mean >= _MEAN[0] and _rate(worst) >= _WORST:
        return _miss("it is declared narrow and covers what it says")
    return "narrow", "covers less than its nominal 95 %"


def _size(mean: float, worst: PointFound, *, errors: float) -> _Beyond:
    most = _SIZE + errors * _error(_SIZE, worst.replicates)
    if _rate(worst) > most:
        return _miss(f"rejects {worst.rate:.4f} at {worst}, more than {most:.4f}")
    return ("conservative", "rejects less often than its nominal 5 %") if mean < _TIMID else ("ok", "")


def _power(points: tuple[PointFound, ...], worst: PointFound, *, errors: float) -> _Beyond:
    least = POWER - errors * _error(POWER, worst.replicates)
    if _rate(worst) < least:
        return _miss(f"named by {worst.rate:.4f} of reports at {worst}, less than {least:.4f}")
    for weaker, stronger in pairwise(points):
        if _rate(stronger) < _rate(weaker) - _NOISE * _error_of_difference(weaker, stronger):
            return _miss(f"named by {weaker.rate:.4f} of reports at {weaker}, by {stronger.rate:.4f} at {stronger}")
    return _beside(points, errors=errors)


def _beside(points: tuple[PointFound, ...], *, errors: float) -> _Beyond:
    """Judge what else reports on a fault fail, over all its strengths."""
    total = sum(point.replicates for point in points)
    share = sum((point.others or 0.0) * point.replicates for point in points) / total
    most = _ALARMS + errors * _error(_ALARMS, total)
    if share > most:
        return _miss(f"{share:.4f} of reports fail another property, more than {most:.4f}")
    return "ok", ""


def _alarms(worst: PointFound, *, errors: float) -> _Beyond:
    most = _ALARMS + errors * _error(_ALARMS, worst.replicates)
    if _rate(worst) > most:
        return _miss(f"{worst.rate:.4f} of reports fail a judge without a fault at {worst}, more than {most:.4f}")
    return "ok", ""


def _failures(worst: PointFound) -> _Beyond:
    if _rate(worst):
        return _miss(f"broken by {worst.rate:.4f} of sequences at {worst}: {worst.example}")
    return "ok", ""


def _miss(reason: str) -> _Beyond:
    return "miss", reason


def _error(share: float, trials: int) -> float:
    """Return the standard error of a share over independent trials."""
    return math.sqrt(share * (1 - share) / max(trials, 1))


def _error_of_difference(one: PointFound, other: PointFound) -> float:
    """Return the standard error of two shares' difference, were they the same share."""
    total = one.replicates + other.replicates
    share = (_rate(one) * one.replicates + _rate(other) * other.replicates) / total
    return math.sqrt(share * (1 - share) * (1 / one.replicates + 1 / other.replicates))


FULL_REPLICATES = 4_000
FAST_REPLICATES = 400
_ERRORS = 3.0  # the fast version calls no miss what is within so many standard errors of a binomial share


def run_selftest(
    checks: Sequence[Check] | None = None,
    *,
    full: bool = False,
    only: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> SelftestReport:
    """Simulate intervals, tests, reports and workflows on planted truths; the same seed gives the same report.

    Args:
        checks: what to check; when None all that are registered, which the command joins with checks of commands.
        full: every check at every point, with 4,000 replicates or studies, 100 reports on a judge with a fault and 400
            on one without; otherwise few at a few points, where what is beyond a limit by less than three standard
            errors of so few is unclear.
        only: parts of names; the checks whose name holds one of them, also those that are for the full version alone.
        seed: of the generators; a point has one of its own, whatever else is simulated.
        progress: called with a line before each point.

    Raises:
        UsageError: no check is of such a name, or the seed is negative.

    """
    if checks is None:
        checks = CHECKS
    if seed < 0:
        raise UsageError(f"a seed is a whole number of at least 0, not {seed}.")
    chosen = [check for check in _chosen(checks, only) if full or only or check.fast]
    found = tuple(_simulated(check, full=full, seed=seed, progress=progress or (lambda _: None)) for check in chosen)
    return SelftestReport(full=full, seed=seed, replicates=FULL_REPLICATES if full else FAST_REPLICATES, checks=found)


def _chosen(checks: Sequence[Check], only: Sequence[str]) -> Sequence[Check]:
    for part in only:
        if not any(part.casefold() in check.name.casefold() for check in checks):
            raise UnknownNameError("check", part, [check.name for check in checks])
    wanted = [part.casefold() for part in only]
    return [check for check in checks if not wanted or any(part in check.name.casefold() for part in wanted)]


def _simulated(check: Check, *, full: bool, seed: int, progress: Callable[[str], None]) -> CheckFound:
    replicates = check.full_replicates if full else check.fast_replicates
    found: list[PointFound] = []
    for place in check.places(full=full):
        progress(f"{check.name}: {point_text(check.points[place])}")
        # of the name and not the place among the checks: --only and new checks change nothing
        generator = np.random.default_rng([seed, zlib.crc32(check.name.encode()), place])
        found.append(check.measured(place, replicates, generator))
    return judged(check, tuple(found), errors=0.0 if full else _ERRORS)


WORKFLOWS: tuple[Check, ...] = (*PLANNING, *LABELLING, *CHOOSING, *DRIFTING, *LOOKING, *CERTIFYING)
CHECKS: tuple[Check, ...] = (
    *PROPORTIONS,
    *KAPPAS,
    *CATEGORIES,
    *SCORES,
    *CORRECTED_RATES,
    *ALT_TESTS,
    *RANKINGS,
    *EXCESSES,
    *FAULTS,
    *CLEAN,
    *FAILURES,
    *WORKFLOWS,
)
