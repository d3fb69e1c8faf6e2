"""How the self-test judges faults, judges without one and promises: what is beyond its limits is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from judgeharness_integrations.testing.selftest import AlarmCheck, FailureCheck, PowerCheck, run_selftest

STRENGTHS = ({"n": 50, "strength": 0.1}, {"n": 50, "strength": 0.2}, {"n": 50, "strength": 0.4})


def exactly(share: float, replicates: int) -> Any:
    """Return reports of which this share holds, not one more or less."""
    return np.arange(replicates) < round(share * replicates)


def power_check(*powers: float, others: float = 0.0, **options: Any) -> PowerCheck:
    """Return the check of a fault that is named so often at each strength, beside so many other properties."""

    def simulate(point: Any, replicates: int, _: np.random.Generator) -> Any:
        place = STRENGTHS.index(point)
        return exactly(powers[place], replicates), exactly(others, replicates)

    return PowerCheck(**{"name": "planted", "points": STRENGTHS, "simulate": simulate, "declared": 2} | options)


def alarm_check(share: float, **options: Any) -> AlarmCheck:
    """Return the check of a judge without a fault that this share of reports fails."""
    return AlarmCheck(
        **{
            "name": "clean",
            "points": ({"n": 50}, {"n": 20}),
            "simulate": lambda _point, replicates, _generator: exactly(share, replicates),
        }
        | options
    )


def found_by(check: Any, *, full: bool = True) -> Any:
    """Return what the only check found."""
    [found] = run_selftest([check], full=full).checks
    return found


def test_a_fault_that_is_named_as_often_as_declared_is_ok() -> None:
    found = found_by(power_check(0.3, 0.8, 1.0, others=0.05))
    assert (found.kind, found.verdict, found.reason) == ("power", "ok", "")
    assert [(point.rate, point.declared, point.others) for point in found.points] == [
        (0.3, False, 0.05),
        (0.8, True, 0.05),
        (1.0, True, 0.05),
    ]
    assert (str(found.worst), {point.replicates for point in found.points}) == ("n=50, strength=0.2", {100})


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (power_check(0.3, 0.79, 1.0), "named by 0.7900 of reports at n=50, strength=0.2, less than 0.8000"),
        (
            power_check(0.95, 0.8, 0.8, declared=1),
            "named by 0.9500 of reports at n=50, strength=0.1, by 0.8000 at n=50, strength=0.2",
        ),
        (
            power_check(0.9, 1.0, 0.85),
            "named by 1.0000 of reports at n=50, strength=0.2, by 0.8500 at n=50, strength=0.4",
        ),
        (
            power_check(0.3, 0.8, 1.0, others=0.06),
            "0.0600 of reports fail another property, more than 0.0500",
        ),
    ],
    ids=["too seldom", "falls", "falls at the end", "others as well"],
)
def test_a_fault_that_is_named_too_seldom_or_with_others_is_a_miss(check: Any, reason: str) -> None:
    found = found_by(check)
    assert (found.verdict, found.reason) == ("miss", reason)


def test_a_fall_that_may_be_noise_is_none() -> None:
    assert found_by(power_check(0.85, 0.83, 1.0)).verdict == "ok"


def test_the_fast_version_takes_the_strongest_few_and_tells_a_miss_from_what_is_unclear() -> None:
    [blind, unclear, ok] = (
        found_by(power_check(1.0, 1.0, power, fast_replicates=4), full=False) for power in (0.0, 0.5, 1.0)
    )
    assert [(one.verdict, len(one.points)) for one in (blind, unclear, ok)] == [("miss", 1), ("unclear", 1), ("ok", 1)]
    assert str(ok.worst) == "n=50, strength=0.4"
    assert unclear.reason.endswith("but so few replicates cannot tell: see --full")


@pytest.mark.parametrize(("share", "verdict"), [(0.0, "ok"), (0.05, "ok"), (0.055, "miss")])
def test_a_judge_without_a_fault_fails_in_at_most_one_of_twenty_reports(share: float, verdict: str) -> None:
    found = found_by(alarm_check(share))
    assert (found.kind, found.verdict) == ("false_alarms", verdict)
    if verdict == "miss":
        assert found.reason == "0.0550 of reports fail a judge without a fault at n=50, more than 0.0500"
        assert {point.replicates for point in found.points} == {400}


def test_few_reports_cannot_tell_a_few_alarms_from_none() -> None:
    verdicts = [found_by(alarm_check(share), full=False).verdict for share in (0.0, 0.2, 0.5)]
    assert verdicts == ["ok", "unclear", "miss"]


def test_a_check_for_the_full_version_alone_is_done_when_it_is_asked_for() -> None:
    checks = [power_check(0.3, 0.8, 1.0, fast=0), alarm_check(0.0)]
    assert [check.name for check in run_selftest(checks).checks] == ["clean"]
    [named] = run_selftest(checks, only=["planted"]).checks
    assert [point.declared for point in named.points] == [True]
    assert len(run_selftest(checks, full=True).checks) == 2


def test_a_promise_about_nothing_is_a_miss() -> None:
    points = ({"rule": "majority", "n": 2},)
    found = found_by(FailureCheck(name="empty", points=points, sequences=lambda _: (0, []), fast=1))
    assert (found.verdict, found.reason) == ("miss", "nothing is defined at rule=majority, n=2")


def test_the_document_says_which_points_are_declared_and_what_else_was_failed() -> None:
    [power, alarm] = run_selftest([power_check(0.3, 0.8, 1.0, others=0.02), alarm_check(0.0)], full=True).to_dict()[
        "checks"
    ]
    assert [(point["declared"], point["others"]) for point in power["points"]] == [
        (False, 0.02),
        (True, 0.02),
        (True, 0.02),
    ]
    assert [(point["declared"], point["others"]) for point in alarm["points"]] == [(False, None)] * 2
