"""Gates on calibrations of several judges on the same labels, where any one that passes lets one choose."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from support.gated import case
from support.measured import VALID, calibration

from judgeharness_integrations.analysis.calibration import CalibrationReport, Judged, LabelledItem, measure_calibration
from judgeharness_integrations.analysis.calibration.candidates import calibrated_beside, rivals_on_labels, widened
from judgeharness_integrations.analysis.calibration.items import simultaneous_level
from judgeharness_integrations.analysis.gates import GateCheck, check_gates
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.reading import _only

GATES = ("precision", "recall", "specificity", "balanced_accuracy", "kappa", "lift")


def calibrated(
    right: int = 54, *, prefix: str = "l", kept: bool = True, seed: int = 1, **changes: Any
) -> CalibrationReport:
    """A calibration on sixty cases of both kinds, of which so many are decided right."""
    golds = ["PASS", "FAIL"] * 30
    wrong = set(random.Random(seed).sample(range(60), 60 - right))  # noqa: S311 - a planted judge
    said = [{"PASS": "FAIL", "FAIL": "PASS"}[gold] if n in wrong else gold for n, gold in enumerate(golds)]
    items = [
        LabelledItem(case_id=f"{prefix}{n}", criterion="verdict", gold=gold, verdict=one, status="decided")
        for n, (gold, one) in enumerate(zip(golds, said, strict=True))
    ]
    count = changes.get("candidates") or 1
    judged = [Judged(gold=one.gold or "", verdict=one.verdict, status=one.status) for one in items]
    found = {"verdict": measure_calibration(judged, candidates=count)}
    return calibration(criteria=found, items=tuple(items) if kept else (), **changes)


def run_of(**reports: CalibrationReport) -> RunReport:
    """A run of judges with these calibrations."""
    return run_report(
        [
            replace(
                case(f"c{n}", ["PASS"] * 3, judge=judge), calibration=replace(one, judge=judge), calibration_state=VALID
            )
            for judge, one in reports.items()
            for n in range(5)
        ]
    )


def checks(report: RunReport, gate: str) -> list[GateCheck]:
    return list(check_gates(report, [gate]).checks)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", GATES)
def test_each_of_several_judges_on_the_same_labels_has_a_simultaneous_interval(name: str) -> None:
    (alone,) = checks(run_of(a=calibrated()), f"{name}>=0.1")
    first, second, third = checks(run_of(a=calibrated(), b=calibrated(50), c=calibrated(55)), f"{name}>=0.1")
    assert alone.confidence == 0.95
    assert {one.confidence for one in (first, second, third)} == {simultaneous_level(3)}
    assert (first.low or 0) < (alone.low or 0)
    assert first.value == alone.value
    assert "one of 3 judges on these labels" in first.reason
    assert "at 98.30 %, as one of several candidates," in first.reason


def test_a_judge_may_pass_alone_and_not_as_one_of_several() -> None:
    gate = "precision>=0.78"
    assert [one.status for one in checks(run_of(a=calibrated()), gate)] == ["passed"]
    several = {f"j{n}": calibrated(seed=n + 1) for n in range(8)}
    assert checks(run_of(**several), gate)[0].status == "failed"


def test_judges_on_other_labels_are_no_rivals() -> None:
    found = checks(run_of(a=calibrated(), b=calibrated(prefix="other")), "precision>=0.1")
    assert [one.confidence for one in found] == [0.95, 0.95]
    assert all("one of" not in one.reason for one in found)


def test_the_largest_count_of_candidates_holds_for_all_judges_on_the_labels() -> None:
    found = checks(run_of(a=calibrated(), b=calibrated(candidates=5)), "precision>=0.1")
    assert {one.confidence for one in found} == {simultaneous_level(5)}


def test_what_cannot_be_made_anew_is_said() -> None:
    changed = calibrated()
    held = changed.criteria["verdict"]
    odd = replace(changed, criteria={"verdict": replace(held, precision=None)})
    words = "one of 2 judges on these labels, of which the best may be best by luck: its interval is for fewer"
    first, second = checks(run_of(a=odd, b=calibrated()), "recall>=0.1")
    assert (words in first.reason, words in second.reason) == (True, False)
    assert (first.confidence, second.confidence) == (0.95, simultaneous_level(2))
    assert widened(replace(changed, items=changed.items[1:]), "verdict", 2) is None
    assert widened(calibrated(kept=False), "verdict", 2) is None
    scores = tuple(replace(one, gold=3 if n else "PASS") for n, one in enumerate(changed.items))
    assert widened(replace(changed, items=scores), "verdict", 2) is None
    assert rivals_on_labels({"a": calibrated(kept=False)}) == {("a", "verdict"): (1, "")}


def test_judges_of_a_run_that_are_not_shown_are_rivals_all_the_same() -> None:
    report = run_of(a=calibrated())
    beside = calibrated_beside({"a": (calibrated(), None), "b": (calibrated(), None)}, {"a"})
    (check,) = checks(replace(report, calibrated_beside=beside), "precision>=0.1")
    assert check.confidence == simultaneous_level(2)
    several = run_of(a=calibrated(), b=calibrated(), c=calibrated())
    (narrowed,) = checks(_only(several, ["a"]), "precision>=0.1")
    assert narrowed.confidence == simultaneous_level(3)
    assert _only(run_report([case("c1", ["PASS"] * 3, judge=judge) for judge in "ab"]), ["a"]).calibrated_beside == {}
