"""Events that must be rare whatever the noise: their share of cases against the tolerance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from judgeharness_integrations.checking.properties.finding import Finding, Speaking, worst_cases
from judgeharness_integrations.checking.properties.words import percent, whole_hits
from judgeharness_integrations.checking.report import PropertyCheck
from judgeharness_integrations.checking.statistics.exact import above_test
from judgeharness_integrations.checking.statistics.intervals import clopper_pearson
from judgeharness_integrations.checking.statistics.power import cases_to_settle_above, smallest_above
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["above_finding", "hit_shares"]


def above_finding(
    shares: Mapping[str, float],
    *,
    name: str,
    criterion: str,
    tolerance: float,
    told: str,
    asked: int,
    valid: int,
    calls: float = 1.0,
    speaking: Sequence[Speaking] = (),
) -> Finding:
    """Return what was found of an event that must be rare.

    Args:
        shares: case -> share of its samples with the event; at least one case.
        name: the property.
        criterion: the criterion.
        tolerance: largest share that passes.
        told: what was seen, with its denominator: `3 of 48 cases did not lose`.
        asked: samples.
        valid: those of them that are verdicts.
        calls: what one more case costs.
        speaking: the samples with the event.

    """
    cases, hits = len(shares), sum(shares[case] for case in sorted(shares))
    rate, interval = hits / cases, clopper_pearson(hits, cases)
    check = PropertyCheck(
        name=name,
        criterion=criterion,
        status="inconclusive",
        reason=f"{told}: {percent(rate)} [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]",
        tolerance=tolerance,
        cases=cases,
        asked=asked,
        valid=valid,
        hits=whole_hits(shares.values()),
        rate=rate,
        interval=interval,
        p_value=above_test(hits, cases, tolerance),
        worst=worst_cases(speaking),
    )
    return Finding(
        check=check,
        proven=interval[1] <= tolerance,
        advice=f"neither within {percent(tolerance)} nor clearly above",
        fault=f"above {percent(tolerance)}, not by chance",
        smallest=lambda alpha: smallest_above(cases, tolerance, alpha=alpha),
        settle=lambda alpha: cases_to_settle_above(cases, rate=rate, share=tolerance, alpha=alpha),
        calls=calls,
    )


def hit_shares(groups: Mapping[str, Sequence[VerdictRow]], hit: Callable[[VerdictRow], bool]) -> dict[str, float]:
    """Return case -> share of its samples with the event."""
    return {case: sum(map(hit, rows)) / len(rows) for case, rows in groups.items()}
