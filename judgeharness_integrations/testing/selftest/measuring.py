"""Simulates one point of a check, and counts."""

from __future__ import annotations

import numpy as np

from judgeharness_integrations.testing.selftest.check import (
    AlarmCheck,
    Check,
    FailureCheck,
    IntervalCheck,
    PowerCheck,
    SizeCheck,
)
from judgeharness_integrations.testing.selftest.report import PointFound

__all__ = ["measured"]


def measured(check: Check, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
    """Return what `replicates` of the point at this place of a check show."""
    if isinstance(check, IntervalCheck):
        return _covered(check, place, replicates, generator)
    if isinstance(check, SizeCheck):
        return _rejected(check, place, replicates, generator)
    if isinstance(check, PowerCheck):
        return _named(check, place, replicates, generator)
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


def _broken(check: FailureCheck, place: int) -> PointFound:
    tried, broken = check.sequences(check.points[place])
    return PointFound(
        point=check.points[place],
        replicates=tried,
        undefined=0,
        rate=len(broken) / tried if tried else None,
        example=broken[0] if broken else "",
    )
