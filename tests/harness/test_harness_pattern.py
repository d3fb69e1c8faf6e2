"""The pattern's own example, through the public API: the whole object and the ten lines."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from judgeharness_integrations import (
    AnswerCase,
    CalibrationReport,
    CalibrationSet,
    HarnessResult,
    JudgeHarness,
    Perturbation,
    VerdictRow,
)
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.aggregation.statistics import Independence
from judgeharness_integrations.analysis.calibration import CalibrationState, CriterionCalibration, LabelledItem, Rate
from judgeharness_integrations.analysis.calibration.controls import Control, Controls
from judgeharness_integrations.analysis.calibration.population import CriterionPopulation, Population
from judgeharness_integrations.analysis.calibration.rates import ClassRates, RiskCoverage, RiskPoint
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.result import CriterionResult, PerturbationSummary
from judgeharness_integrations.analysis.statistics.means import Estimate
from judgeharness_integrations.analysis.usage import Usage

NOW = datetime(2026, 11, 1, tzinfo=UTC)
VERDICTS = ("PASS", "PASS", "PASS", "FAIL", "PASS", "FAIL", "PASS", "FAIL", "PASS")
CASE = AnswerCase(case_id="case-1", input="What is 2 + 2?", output="The answer is 4.")
LABELLED = replace(CASE, case_id="labelled-1")
ONE_OF_ONE = Rate(successes=1, trials=1, low=pytest.approx(0.2065, abs=1e-4), high=1.0)
ONE_AGAINST_ONE = Estimate(value=0.0, low=pytest.approx(-0.7935, abs=1e-4), high=pytest.approx(0.7935, abs=1e-4), n=1)
ONE_AGAINST_A_COIN = Estimate(value=0.5, low=pytest.approx(-0.2935, abs=1e-4), high=0.5, n=1)
ONE_ANSWER = "it compares two answers, and these cases hold one"


class SequencedJudge:
    """The pattern's judge: nine verdicts, cycling."""

    def __init__(self) -> None:
        self._verdicts = itertools.cycle(VERDICTS)
        self.asked: list[str] = []

    def __call__(self, case: AnswerCase) -> str:
        self.asked.append(case.case_id)
        return next(self._verdicts)


def identity(case: AnswerCase) -> AnswerCase:
    return case


def measured(aggregation_rule: str) -> tuple[HarnessResult, SequencedJudge]:
    judge = SequencedJudge()
    harness = JudgeHarness(
        perturbations=[Perturbation("paraphrase", identity), Perturbation("format_change", identity)],
        repetitions=4,
        aggregation_rule=aggregation_rule,
        calibration_set=CalibrationSet("human_labeled_set_v1", ((LABELLED, "PASS"),)),
        max_concurrency=1,
        clock=lambda: NOW,
    )
    return harness.evaluate(judge, CASE, judge_model="gpt-4o"), judge


def expected_row(number: int, row: VerdictRow) -> VerdictRow:
    perturbation, repetition = ("paraphrase", "format_change")[number // 4], number % 4
    return VerdictRow(
        case_id="case-1",
        verdict=VERDICTS[number],
        judge="SequencedJudge",
        perturbation=perturbation,
        repetition=repetition,
        model="gpt-4o",
        attempts=1,
        latency_s=row.latency_s,
        asked_at=row.asked_at,
        attributes={"characters": len(CASE.output), "text_digest": row.attributes["text_digest"]},
    )


def expected_criterion(verdict: str, status: str, reason: str) -> CriterionResult:
    return CriterionResult(
        criterion="verdict",
        verdict=verdict,
        status=status,
        reason=reason,
        numeric=False,
        sample_distribution={"PASS": 5, "FAIL": 3},
        outcomes={"ok": 8, "unparsed": 0, "refused": 0, "error": 0},
        planned=8,
        consistency_rate=0.625,
        chance_consistency=pytest.approx(0.637, abs=5e-4),
        agreement=pytest.approx((5 * 4 + 3 * 2) / (8 * 7)),
        label_count=2,
        sd=None,
        tolerance=None,
        perturbations=(
            PerturbationSummary(
                name="paraphrase", asked=4, valid=4, sample_distribution={"PASS": 3, "FAIL": 1}, flip_rate=None
            ),
            PerturbationSummary(
                name="format_change", asked=4, valid=4, sample_distribution={"PASS": 2, "FAIL": 2}, flip_rate=None
            ),
        ),
        independence=Independence(status="cannot tell", effective=8),
    )


def expected_calibration(rule_name: str) -> CalibrationReport:
    return CalibrationReport(
        name="human_labeled_set_v1",
        judge="SequencedJudge",
        source="human",
        consensus="majority",
        excluded_ties=0,
        criteria={
            "verdict": CriterionCalibration(
                criterion="verdict",
                n=1,
                positive="PASS",
                confusion={"PASS": {"PASS": 1}},
                precision=ONE_OF_ONE,
                recall=ONE_OF_ONE,
                accuracy=ONE_OF_ONE,
                coverage=ONE_OF_ONE,
                base_rate=ONE_OF_ONE,
                kappa=None,
                sensitivity=ONE_OF_ONE,
                ac1=Estimate(value=1.0, low=ONE_OF_ONE.low, high=1.0, n=1),
                per_class={"PASS": ClassRates(precision=ONE_OF_ONE, recall=ONE_OF_ONE, support=1)},
                macro_f1=Estimate(value=1.0, low=None, high=None, n=1),
                risk_coverage=RiskCoverage(
                    points=(
                        # verdicts 9 to 16 of the cycle: six of them PASS
                        RiskPoint(threshold=0.75, n=1, coverage=1.0, accuracy=1.0, low=ONE_OF_ONE.low, high=1.0),
                    ),
                    aurc=0.0,
                    n=1,
                    unordered=0,
                ),
                undefined={
                    "balanced_accuracy": "every label is 'PASS', and of other items they say nothing",
                    "macro_f1_interval": "every label and decision is 'PASS': nothing tells how the others fare",
                },
                controls=Controls(
                    value=1.0,
                    n=1,
                    scored=False,
                    listed=(
                        Control(name="constant", says="always PASS", value=1.0, n=1, advantage=ONE_AGAINST_ONE),
                        Control(name="coin", says="a coin", value=0.5, n=1, advantage=ONE_AGAINST_A_COIN),
                        Control(name="longest answer", says="the longer answer", reason=ONE_ANSWER),
                        Control(name="first slot", says="the first answer", reason=ONE_ANSWER),
                    ),
                ),
            )
        },
        measured_at=NOW.isoformat(),
        parts=None,
        design={
            "perturbations": ["paraphrase", "format_change"],
            "repetitions": 4,
            "rule": rule_name,
            "failure policy": "failures count in shares; quorum half of the planned samples",
        },
        items=(LabelledItem(case_id="labelled-1", criterion="verdict", gold="PASS", verdict="PASS", status="decided"),),
        population=Population(
            cases=1,
            copies=1.0,
            criteria={"verdict": CriterionPopulation(decisions={"PASS": 1}, consistency={"0.7": 1})},
            lengths={"characters": {"8": 1}},
        ),
    )


@pytest.mark.parametrize(
    ("given", "name", "verdict", "status", "reason"),
    [
        ("majority", "majority", "PASS", "decided", "5 of 8 samples"),
        (
            "supermajority",
            "supermajority(2/3)",
            "ABSTAIN",
            "abstained",
            "highest count 5 of 8 samples is below 2/3",
        ),
    ],
)
def test_the_pattern_gives_the_whole_expected_object(
    given: str, name: str, verdict: str, status: str, reason: str
) -> None:
    result, _ = measured(given)
    assert result.design.rule.name == rule(given).name == name
    assert all(row.latency_s is not None and row.latency_s < 5 for row in result.rows)
    assert [row.asked_at for row in result.rows] == sorted(row.asked_at or "" for row in result.rows)
    assert result == HarnessResult(
        case_id="case-1",
        judge="SequencedJudge",
        judge_model="gpt-4o",
        criteria={"verdict": expected_criterion(verdict, status, reason)},
        design=Design(perturbations=("paraphrase", "format_change"), repetitions=4, rule=result.design.rule),
        usage=Usage(
            calls=8,
            attempts=8,
            rewrites=0,
            input_tokens=None,
            output_tokens=None,
            latency_s=sum(row.latency_s or 0 for row in result.rows),
        ),
        rows=tuple(expected_row(number, row) for number, row in enumerate(result.rows)),
        fingerprint=None,
        calibration=expected_calibration(name),
        calibration_state=CalibrationState(status="valid"),
        state="complete",
        skipped={},
        warnings=(),
        model_families=("openai",),
    )


@pytest.mark.parametrize(
    ("given", "name", "verdict"),
    [("majority", "majority", "PASS"), ("supermajority", "supermajority(2/3)", "ABSTAIN")],
)
def test_the_report_begins_with_the_patterns_ten_lines(given: str, name: str, verdict: str) -> None:
    result, _ = measured(given)
    assert result.report().splitlines()[:10] == [
        "judge_model: gpt-4o",
        "perturbations: paraphrase, format_change",
        "repetitions_per_perturbation: 4",
        f"aggregation_rule: {name}",
        "sample_distribution: {PASS: 5, FAIL: 3}",
        f"verdict: {verdict}",
        "consistency_rate: 0.625",
        "calibration_source: human_labeled_set_v1",
        "calibrated_precision: 1.0",
        "calibrated_recall: 1.0",
    ]
    assert "n=1" in result.report()


def test_the_case_is_sampled_first_and_the_calibration_set_after_it() -> None:
    _, judge = measured("majority")
    assert judge.asked == ["case-1"] * 8 + ["labelled-1"] * 8


def test_the_threshold_of_the_supermajority_is_an_exact_fraction() -> None:
    result, _ = measured("supermajority(5/8)")
    assert Fraction(5, 8) == Fraction(result.consistency_rate or 0)
    assert (result.verdict, result.calibrated_precision, result.calibrated_recall) == ("PASS", 1.0, 1.0)
