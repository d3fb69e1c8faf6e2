"""Simulates every check at its points and says which of them keep their promise."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.testing.selftest.check import Check, IntervalCheck, Point, point_text
from judgeharness_integrations.testing.selftest.report import CheckFound, Kind, PointFound, SelftestReport, Verdict

__all__ = ["CRITERIA", "FAST_REPLICATES", "FULL_REPLICATES", "run_selftest"]

FULL_REPLICATES = 4_000
FAST_REPLICATES = 400
_MEAN = (0.935, 0.97)  # where the mean coverage of a nominal 95 % interval is to lie
_WORST = 0.91  # what no point may fall below
_SIZE = 0.065  # what a test at nominal 5 % may reject at most
_TIMID = 0.03  # a test that rejects less often than that on average is called conservative
_ERRORS = 3.0  # the fast version calls no miss what is within so many standard errors of a binomial share

CRITERIA: dict[Kind, str] = {
    "coverage": f"mean {100 * _MEAN[0]:g} to {100 * _MEAN[1]:g} %, no point below {100 * _WORST:g} %",
    "size": f"no point above {100 * _SIZE:g} %",
}


def run_selftest(
    checks: Sequence[Check] | None = None,
    *,
    full: bool = False,
    only: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> SelftestReport:
    """Simulate intervals and tests on planted truths; the same seed gives the same report.

    Args:
        checks: what to check, all that are registered when None.
        full: 4,000 replicates at every point; otherwise at most 400 at a few points, where what is beyond a limit by
            less than three standard errors of so few is unclear.
        only: parts of names; the checks whose name holds one of them.
        seed: of the generators; a point has one of its own, whatever else is simulated.
        progress: called with a line before each point.

    Raises:
        UsageError: no check is of such a name, or the seed is negative.

    """
    if checks is None:
        from judgeharness_integrations.testing.selftest.registry import CHECKS  # noqa: PLC0415 - loads every room

        checks = CHECKS
    if seed < 0:
        raise UsageError(f"a seed is a whole number of at least 0, not {seed}.")
    chosen = _chosen(checks, only)
    found = tuple(_found(check, full=full, seed=seed, progress=progress or (lambda _: None)) for check in chosen)
    return SelftestReport(full=full, seed=seed, replicates=FULL_REPLICATES if full else FAST_REPLICATES, checks=found)


def _chosen(checks: Sequence[Check], only: Sequence[str]) -> Sequence[Check]:
    for part in only:
        if not any(part.casefold() in check.name.casefold() for check in checks):
            raise UnknownNameError("check", part, [check.name for check in checks])
    wanted = [part.casefold() for part in only]
    return [check for check in checks if not wanted or any(part in check.name.casefold() for part in wanted)]


def _found(check: Check, *, full: bool, seed: int, progress: Callable[[str], None]) -> CheckFound:
    points = check.points if full else check.points[: check.fast]
    replicates = FULL_REPLICATES if full else min(FAST_REPLICATES, check.fast_replicates)
    measured: list[PointFound] = []
    for place, point in enumerate(points):
        progress(f"{check.name}: {point_text(point)}")
        # of the name and not the place among the checks: --only and new checks change nothing
        generator = np.random.default_rng([seed, zlib.crc32(check.name.encode()), place])
        measured.append(_point(check, point, replicates, generator))
    return _judged(check, tuple(measured), errors=0.0 if full else _ERRORS)


def _point(check: Check, point: Point, replicates: int, generator: np.random.Generator) -> PointFound:
    if isinstance(check, IntervalCheck):
        low, high, truth = check.simulate(point, replicates, generator)
        undefined = int(np.count_nonzero(np.isnan(low) | np.isnan(high)))
        hits = int(np.count_nonzero((low <= truth) & (truth <= high)))
        tried = replicates - undefined
    else:
        p_values = check.simulate(point, replicates, generator)
        undefined = int(np.count_nonzero(np.isnan(p_values)))
        hits = int(np.count_nonzero(p_values <= 0.05))  # noqa: PLR2004 - the nominal level
        tried = replicates  # what is not tested is not rejected
    return PointFound(
        point=point, replicates=replicates, undefined=undefined, rate=hits / tried if undefined < replicates else None
    )


def _judged(check: Check, points: tuple[PointFound, ...], *, errors: float) -> CheckFound:
    rates = [one.rate for one in points if one.rate is not None]
    mean = math.fsum(rates) / len(rates) if rates else None
    coverage = isinstance(check, IntervalCheck)
    unmeasured = next((one for one in points if one.rate is None), None)
    sign = 1.0 if coverage else -1.0
    worst = unmeasured or min(points, key=lambda one: sign * (one.rate or 0.0))
    if mean is None or unmeasured is not None:
        verdict, reason = _miss(f"nothing is defined at {worst}")
    else:
        total = sum(one.replicates for one in points)
        verdict, reason = _beyond(check, mean, worst, total=total, errors=errors)
        if verdict != "miss" and errors:
            strictly, told = _beyond(check, mean, worst, total=total, errors=0.0)
            if strictly == "miss":
                verdict, reason = "unclear", f"{told}, but so few replicates cannot tell: see --full"
    kind = "coverage" if coverage else "size"
    return CheckFound(
        name=check.name,
        kind="coverage" if kind == "coverage" else "size",
        points=points,
        mean=mean,
        worst=worst,
        verdict=verdict,
        reason=reason,
        note=check.note,
    )


def _beyond(check: Check, mean: float, worst: PointFound, *, total: int, errors: float) -> tuple[Verdict, str]:
    if isinstance(check, IntervalCheck):
        return _coverage(check, mean, worst, total=total, errors=errors)
    return _size(mean, worst, errors=errors)


def _coverage(
    check: IntervalCheck, mean: float, worst: PointFound, *, total: int, errors: float
) -> tuple[Verdict, str]:
    low, high = _MEAN[0] - errors * _error(_MEAN[0], total), _MEAN[1] + errors * _error(_MEAN[1], total)
    least = _WORST - errors * _error(_WORST, worst.replicates - worst.undefined)
    if check.narrow:
        return _narrow(mean, worst)
    if mean < low:
        return _miss(f"mean coverage {mean:.4f} is below {low:.4f}")
    if worst.rate is not None and worst.rate < least:
        return _miss(f"coverage {worst.rate:.4f} at {worst} is below {least:.4f}")
    if mean > high and not check.conservative:
        return _miss(f"mean coverage {mean:.4f} is above {high:.4f}, and it is not declared conservative")
    return ("conservative", "covers more than its nominal 95 %") if mean > _MEAN[1] else ("ok", "")


def _narrow(mean: float, worst: PointFound) -> tuple[Verdict, str]:
    if mean >= _MEAN[0] and (worst.rate or 0.0) >= _WORST:
        return _miss("it is declared narrow and covers what it says")
    return "narrow", "covers less than its nominal 95 %"


def _size(mean: float, worst: PointFound, *, errors: float) -> tuple[Verdict, str]:
    most = _SIZE + errors * _error(_SIZE, worst.replicates)
    if worst.rate is not None and worst.rate > most:
        return _miss(f"rejects {worst.rate:.4f} at {worst}, more than {most:.4f}")
    return ("conservative", "rejects less often than its nominal 5 %") if mean < _TIMID else ("ok", "")


def _miss(reason: str) -> tuple[Verdict, str]:
    return "miss", reason


def _error(share: float, trials: int) -> float:
    """Return the standard error of a share over independent trials."""
    return math.sqrt(share * (1 - share) / max(trials, 1))
