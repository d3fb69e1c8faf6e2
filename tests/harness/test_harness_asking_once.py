"""A judge of which one unperturbed call says all is asked once a case, whatever the design."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness, JudgeIdentity
from judgeharness_integrations.analysis.aggregation.rules import of_both_kinds, rule
from judgeharness_integrations.judging.judge import Answer, Judgment, Probe
from judgeharness_integrations.verdictlog.row import Verdict

CASES = [AnswerCase(case_id=str(n), output="It is **Paris**, of course.") for n in range(3)]
SENTENCE = "equal asks no model: called once, unperturbed"


class Equal:
    name, identity, criteria = "equal", JudgeIdentity(name="equal"), None
    asked_once = "asks no model"

    def __init__(self, verdict: Verdict = "PASS", **facts: str) -> None:
        self.verdict, self.facts, self.probes = verdict, facts, list[Probe]()

    async def judge(self, probe: Probe) -> Judgment:
        self.probes.append(probe)
        return Judgment(answers=(Answer(verdict=self.verdict),), facts=self.facts)


class Sampled(Equal):
    asked_once = None  # type: ignore[assignment]


class Down(Equal):
    async def judge(self, probe: Probe) -> Judgment:
        raise ValueError("no reference")


@pytest.mark.parametrize(
    "harness",
    [
        JudgeHarness.standard("labels"),
        JudgeHarness.standard("pairwise"),
        JudgeHarness.thorough("scores"),
        JudgeHarness.standard("labels", min_valid=4, curtail=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("verdict", ["PASS", 0.5])
def test_one_call_a_case(harness: JudgeHarness, verdict: Verdict) -> None:
    judge = Equal(verdict)
    assert harness.plan(judge, CASES).total == 3
    results = list(harness.watched_by().evaluate_many(judge, CASES))
    assert [(probe.perturbation.name, probe.repetition) for probe in judge.probes] == [("none", 0)] * 3
    for result in results:
        assert (result.verdict, result.status, result.informal) == (verdict, "decided", True)
        assert (result.warnings, result.design) == ((SENTENCE,), harness.design_for(judge))
        assert (result.perturbations, result.repetitions) == (("none",), 1)


def test_others_are_sampled_as_designed() -> None:
    judge, harness = Sampled(), JudgeHarness.standard("labels")
    result = harness.evaluate(judge, CASES[0])
    assert (len(judge.probes), result.warnings, result.design) == (6, (), harness.design)


def test_what_the_call_said_stands_before_it_and_a_failure_says_it_too() -> None:
    harness = JudgeHarness.standard("labels", max_attempts=1)
    assert harness.evaluate(Equal(warning="cut off"), CASES[0]).warnings == (f"cut off; {SENTENCE}",)
    failed = harness.evaluate(Down(), CASES[0])
    assert (failed.status, failed.warnings) == ("not_graded", (SENTENCE,))


def test_its_calibration_is_that_of_one_call(tmp_path: Path) -> None:
    labels = CalibrationSet("people", tuple((case, "PASS") for case in CASES))
    judge = Equal()
    report = JudgeHarness.standard("labels").calibrate(judge, labels)
    assert len(judge.probes) == 3
    for harness in (
        JudgeHarness.thorough("labels", calibration=report, aggregation_rule="supermajority(2/3)"),
        JudgeHarness.standard("labels", calibration=report.save(tmp_path / "calibration.json")),
        JudgeHarness.standard("labels", calibration_set=labels),
    ):
        assert harness.evaluate(judge, CASES[0]).calibration_valid
    sampled = JudgeHarness.standard("labels", calibration=report).evaluate(Sampled(), CASES[0])
    assert not sampled.calibration_valid


def judged(case: Any) -> str:
    return "PASS"


@pytest.mark.parametrize(
    ("given", "both"),
    [
        ("supermajority(2/3)", "supermajority(2/3) | median"),
        ("median(pass_at=7)", "majority | median(pass_at=7)"),
        ("swap_consensus", "majority | median"),
        ("majority | mean", "majority | mean"),
        (judged, "judged"),
    ],
)
def test_a_rule_of_both_kinds(given: Any, both: str) -> None:
    found = of_both_kinds(rule(given))
    assert (found.name, found.kind) == (both, "any")
    assert callable(given) or rule(found.name) == found
