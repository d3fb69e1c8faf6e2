"""Simulates every check at its points and says which of them keep their promise."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.testing.selftest.check import (
    AlarmCheck,
    Check,
    FailureCheck,
    IntervalCheck,
    PowerCheck,
    PromiseCheck,
    SizeCheck,
    point_text,
)
from judgeharness_integrations.testing.selftest.report import CheckFound, PointFound, SelftestReport, judged, kept


def measured(check: Check, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
    """Return what `replicates` of the point at this place of a check show."""
    if isinstance(check, IntervalCheck):
        return _covered(check, place, replicates, generator)
    if isinstance(check, SizeCheck):
        return _rejected(check, place, replicates, generator)
    if isinstance(check, PowerCheck):
        return _named(check, place, replicates, generator)
    if isinstance(check, PromiseCheck):
        return _delivered(check, place, replicates, generator)
    return _alarmed(check, place, replicates, generator) if isinstance(check, AlarmCheck) else _broken(check, place)


def _covered(check: IntervalCheck, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
    low, high, truth = check.simulate(check.points[place], replicates, generator)
    undefined = int(np.count_nonzero(np.isnan(low) | np.isnan(high)))
    hits = int(np.count_nonzero((low <= truth) & (truth <= high)))
    tried = replicates - undefined
    rate = hits / tried if tried else None
    return PointFound(point=check.points[place], replicates=replicates, undefined=undefined, rate=rate)


def _rejected(check: SizeCheck, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
    p_values = check.simulate(check.points[place], replicates, generator)
    undefined = int(np.count_nonzero(np.isnan(p_values)))
    hits = int(np.count_nonzero(p_values <= 0.05))  # noqa: PLR2004 - the nominal level
    rate = hits / replicates if undefined < replicates else None  # what is not tested is not rejected
    return PointFound(point=check.points[place], replicates=replicates, undefined=undefined, rate=rate)


def _named(check: PowerCheck, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
    named, others = check.simulate(check.points[place], replicates, generator)
    return PointFound(
        point=check.points[place],
        replicates=replicates,
        undefined=0,
        rate=float(named.mean()),
        others=float(others.mean()),
        declared=place >= len(check.points) - check.declared,
    )


def _alarmed(check: AlarmCheck, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
    failed = check.simulate(check.points[place], replicates, generator)
    return PointFound(point=check.points[place], replicates=replicates, undefined=0, rate=float(failed.mean()))


def _delivered(check: PromiseCheck, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
    point = check.points[place]
    happened = check.simulate(point, replicates, generator)
    undefined = int(np.count_nonzero(np.isnan(happened)))
    hits = int(np.count_nonzero(happened == 1))
    return kept(point, hits, replicates, undefined=undefined, promised=check.promised(point), at_least=check.at_least)


def _broken(check: FailureCheck, place: int) -> PointFound:
    tried, broken = check.sequences(check.points[place])
    return PointFound(
        point=check.points[place],
        replicates=tried,
        undefined=0,
        rate=len(broken) / tried if tried else None,
        example=broken[0] if broken else "",
    )


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
        from judgeharness_integrations.testing.selftest.registry import CHECKS  # noqa: PLC0415 - loads every room

        checks = CHECKS
    if seed < 0:
        raise UsageError(f"a seed is a whole number of at least 0, not {seed}.")
    chosen = [check for check in _chosen(checks, only) if full or only or check.fast]
    found = tuple(_found(check, full=full, seed=seed, progress=progress or (lambda _: None)) for check in chosen)
    return SelftestReport(full=full, seed=seed, replicates=FULL_REPLICATES if full else FAST_REPLICATES, checks=found)


def _chosen(checks: Sequence[Check], only: Sequence[str]) -> Sequence[Check]:
    for part in only:
        if not any(part.casefold() in check.name.casefold() for check in checks):
            raise UnknownNameError("check", part, [check.name for check in checks])
    wanted = [part.casefold() for part in only]
    return [check for check in checks if not wanted or any(part in check.name.casefold() for part in wanted)]


def _found(check: Check, *, full: bool, seed: int, progress: Callable[[str], None]) -> CheckFound:
    replicates = _replicates(check, full=full)
    found: list[PointFound] = []
    for place in _places(check, full=full):
        progress(f"{check.name}: {point_text(check.points[place])}")
        # of the name and not the place among the checks: --only and new checks change nothing
        generator = np.random.default_rng([seed, zlib.crc32(check.name.encode()), place])
        found.append(measured(check, place, replicates, generator))
    return judged(check, tuple(found), errors=0.0 if full else _ERRORS)


def _places(check: Check, *, full: bool) -> range:
    """Return which points are simulated: the first few in the fast version, of a fault the strongest few."""
    last = len(check.points)
    few = last if full else min(last, max(1, check.fast))
    return range(last - few, last) if isinstance(check, PowerCheck) else range(few)


def _replicates(check: Check, *, full: bool) -> int:
    if isinstance(check, FailureCheck):
        return 0  # nothing is drawn
    if isinstance(check, PromiseCheck):
        return check.full_replicates if full else check.fast_replicates
    if full:
        return check.full_replicates if isinstance(check, (PowerCheck, AlarmCheck)) else FULL_REPLICATES
    return min(FAST_REPLICATES, check.fast_replicates)
