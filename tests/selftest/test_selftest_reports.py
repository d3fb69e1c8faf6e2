"""Whole reports on simulated judges: planted faults are named, judges without one are left alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from judgeharness_integrations.analysis.checking.conformance import check_rows
from judgeharness_integrations.testing.checking.judge import check_judge
from judgeharness_integrations.testing.selftest import AlarmCheck, PowerCheck, judges, run_selftest
from judgeharness_integrations.testing.selftest.judges import (
    CLEAN,
    FAULTS,
    NARROWEST,
    WIDEST,
    failed,
    named,
    varied_cases,
)
from judgeharness_integrations.testing.simulated import SimulatedJudge
from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES

BY_NAME: dict[str, Any] = {check.name: check for check in (*FAULTS, *CLEAN)}


def reported(check: Any, place: int, replicates: int = 1) -> Any:
    """Return what reports on one of a check's judges say."""
    return check.simulate(check.points[place], replicates, np.random.default_rng(1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", ["fault: position", "fault: every attack at once", "fault: sentinel.off_topic, scores"]
)
def test_a_strong_fault_is_named_and_nothing_else(name: str) -> None:
    names, others = reported(BY_NAME[name], -1)
    assert (names.tolist(), others.tolist()) == ([True], [False])


@pytest.mark.parametrize("check", BY_NAME.values(), ids=lambda check: check.name)
def test_every_point_is_a_judge_of_its_own(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[SimulatedJudge, int]] = []

    def failed_nothing(judge: SimulatedJudge, n: int) -> tuple[str, ...]:
        asked.append((replace(judge, seed=0), n))
        return ()

    monkeypatch.setattr(judges, "failed", failed_nothing)
    for place in range(len(check.points)):
        reported(check, place)
    assert len(asked) == len(check.points)
    assert all(one not in asked[:place] for place, one in enumerate(asked))


@pytest.mark.slow
@pytest.mark.parametrize("check", FAULTS, ids=lambda check: check.name)
def test_every_fault_is_named_at_its_strongest_and_nothing_else(check: Any) -> None:
    names, others = reported(check, -1, replicates=2)
    assert (names.tolist(), others.tolist()) == ([True] * 2, [False] * 2)


@pytest.mark.slow
@pytest.mark.parametrize("check", CLEAN, ids=lambda check: check.name)
def test_every_judge_without_a_fault_can_be_reported_on(check: Any) -> None:
    for place in range(len(check.points)):
        assert reported(check, place).shape == (1,)


def test_every_property_that_is_tested_has_a_fault_of_its_own() -> None:
    planted = {name.removeprefix("fault: ").partition(",")[0] for name in BY_NAME}
    assert set(PROBE_PROPERTIES) <= planted
    assert {"position", "names", "format", "wording", "repetition", "unread answers", "refusals"} <= planted


def test_each_fault_is_planted_at_several_strengths_and_declared_at_some() -> None:
    assert all(isinstance(check, PowerCheck) and 1 <= check.declared <= len(check.points) for check in FAULTS)
    assert {len(check.points) for check in FAULTS if check.name != "fault: repetitions that are copies"} == {3}
    assert all(isinstance(check, AlarmCheck) for check in CLEAN)


@pytest.mark.slow
def test_what_follows_from_a_fault_is_no_other_one() -> None:
    """A judge that prefers what stands first prefers it among equal answers as well."""
    simulate = named(lambda _: {"noise": 0.1, "position": 3.0}, ("position",))
    names, others = simulate({"n": 30}, 1, np.random.default_rng(0))
    assert (names.tolist(), others.tolist()) == ([True], [True])
    assert failed(SimulatedJudge(noise=0.1, position=3.0), 30) == ("position", "sentinel.copy")


def test_cases_differ_in_how_clear_they_are() -> None:
    for kind in ("pairwise", "graded", "scores"):
        sizes = [float(case.attributes["quality_difference"]) for case in varied_cases(20, kind)]
        assert sorted(map(abs, sizes)) == pytest.approx(np.linspace(NARROWEST, WIDEST, 20))
        assert sum(size > 0 for size in sizes) == 10
        golds = {case.gold for case, size in zip(varied_cases(20, kind), sizes, strict=True) if size > 0}
        assert golds <= {"A", "PASS", 8, 7}


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        pytest.param({"obeys": {"injection.role_play": 1.0}}, "injection.role_play", id="obedient"),
        pytest.param({"copies": True}, "collapse", id="copies", marks=pytest.mark.slow),
    ],
)
def test_a_report_on_rows_is_the_one_of_a_judge_that_is_asked(fault: dict[str, Any], name: str) -> None:
    """End to end: the same judge behind a real harness, asked in two stages."""
    judge = SimulatedJudge(noise=0.1, seed=3, **fault)
    asked = check_judge(judge, varied_cases(16, "pairwise"), rewriter=str.upper)
    assert asked.failed == failed(judge, 16) == (name,)


@pytest.mark.slow
def test_a_check_that_fails_too_easily_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a level of nine tenths, and with no tolerance to speak of, judges without a fault are failed."""
    clean = replace(BY_NAME["no alarm: pairwise"], points=({"n": 20, "noise": 0.75},), fast_replicates=2)
    assert run_selftest([clean]).passed
    monkeypatch.setattr(judges, "check_rows", partial(check_rows, alpha=0.9, tolerance=0.001))
    [found] = run_selftest([clean]).checks
    assert (found.verdict, found.kind) == ("miss", "false_alarms")


@pytest.mark.slow
def test_a_check_that_fails_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "check_rows", partial(check_rows, alpha=1e-200))
    [found] = run_selftest([replace(BY_NAME["fault: position"], points=({"n": 20, "share": 0.5},), declared=1)]).checks
    assert (found.verdict, found.worst.rate) == ("miss", 0.0)


@pytest.mark.slow
def test_a_report_that_names_something_else_as_well_is_caught() -> None:
    both = PowerCheck(
        name="planted",
        points=({"n": 30},),
        fast_replicates=2,
        simulate=named(lambda _: {"noise": 0.1, "position": 3.0}, ("sentinel.copy",)),
    )
    [found] = run_selftest([both]).checks
    assert (found.verdict, found.worst.rate, found.worst.others) == ("miss", 1.0, 1.0)
    assert "fail another property" in found.reason
