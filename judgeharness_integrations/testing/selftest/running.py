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
    PowerCheck,
    point_text,
)
from judgeharness_integrations.testing.selftest.criteria import judged
from judgeharness_integrations.testing.selftest.measuring import measured
from judgeharness_integrations.testing.selftest.report import CheckFound, PointFound, SelftestReport

__all__ = ["FAST_REPLICATES", "FULL_REPLICATES", "run_selftest"]

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
    """Simulate intervals, tests and whole reports on planted truths; the same seed gives the same report.

    Args:
        checks: what to check, all that are registered when None.
        full: every check at every point, with 4,000 replicates, 100 reports on a judge with a fault and 400 on one
            without; otherwise few at a few points, where what is beyond a limit by less than three standard errors of
            so few is unclear.
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
    few = last if full else max(1, check.fast)
    return range(last - few, last) if isinstance(check, PowerCheck) else range(few)


def _replicates(check: Check, *, full: bool) -> int:
    if isinstance(check, FailureCheck):
        return 0  # nothing is drawn
    if full:
        return check.full_replicates if isinstance(check, (PowerCheck, AlarmCheck)) else FULL_REPLICATES
    return min(FAST_REPLICATES, check.fast_replicates)
