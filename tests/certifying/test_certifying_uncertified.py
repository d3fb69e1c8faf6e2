"""What a certificate certifies nothing about, and the day from which on it certifies nothing at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from judgeharness_integrations import AnswerCase, JudgeHarness, JudgeIdentity
from judgeharness_integrations.analysis.calibration.saved import DEFAULT_MAX_AGE
from judgeharness_integrations.analysis.certifying import Certificate, Wanted, certify
from judgeharness_integrations.analysis.certifying.applying import UncertifiedCases
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog import VerdictRow

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def judge() -> ScriptedJudge:
    return ScriptedJudge(["PASS"], name="known", identity=JudgeIdentity(name="known", model="m"))


def harness(**options: object) -> JudgeHarness:
    return JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority", **options)  # type: ignore[arg-type]


def certificate(measured_at: datetime) -> Certificate:
    rows = [
        VerdictRow(case_id=f"c{n}", judge="known", verdict=gold, gold=gold, repetition=place, perturbation="none")
        for n in range(40)
        for gold in ("PASS" if n % 2 else "FAIL",)
        for place in range(2)
    ]
    design = harness().design_for(judge())
    return certify(
        rows,
        design.rule,
        Wanted(agreement=0.9, delta=0.1),
        Labels(name="people", source="human"),
        parts=fingerprint_parts(judge(), design, None),
        measured_at=measured_at.isoformat(),
    )


def test_it_holds_on_its_last_day_and_says_why_on_the_next() -> None:
    held = certificate(NOW - DEFAULT_MAX_AGE)
    case = AnswerCase(case_id="c", output="Hi")
    last = harness(certificate=held, clock=lambda: NOW).evaluate(judge(), case)
    assert (last.status, [line for line in last.warnings if "certificate" in line]) == ("decided", [])
    after = harness(certificate=held, clock=lambda: NOW + timedelta(seconds=1)).evaluate(judge(), case)
    assert (after.status, "the certificate on people is expired: " in after.reason) == ("abstained", True)
    assert "the certificate on people is expired: 30 days old, allowed 30 days: its decisions abstain" in after.warnings


def test_a_criterion_without_labels_is_not_counted_among_strata() -> None:
    found = UncertifiedCases()
    found.add(certificate(NOW), "tone", [VerdictRow(case_id="c", judge="known", verdict="PASS", criterion="tone")])
    found.add(certificate(NOW), "verdict", [VerdictRow(case_id="c", judge="known", verdict="PASS")])
    assert found.warnings == []
