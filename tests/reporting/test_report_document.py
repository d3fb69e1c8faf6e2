from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator
from support.report_scenes import (
    all_failed,
    hostile,
    informal,
    pairs,
    scored,
    several_criteria,
    several_judges,
    typical,
)

from judgeharness_integrations.analysis.gates import Gates, check_gates
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.reporting.rundocument import report_document
from judgeharness_integrations.reporting.schemas import schema

REPORTS = {
    "typical": lambda: typical(cases=12),
    "scores": scored,
    "informal": informal,
    "criteria": several_criteria,
    "pairs": pairs,
    "judges": several_judges,
    "failed": all_failed,
    "hostile": lambda: hostile()[0],
    "nothing": lambda: run_report([]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", REPORTS)
def test_every_report_follows_the_schema(name: str) -> None:
    report = REPORTS[name]()
    gates = check_gates(report, Gates(fail_under=("coverage>=0.5", "not_graded<=0.5"), require_calibration=True))
    document = report_document(report, gates=gates, results=True)
    written = json.loads(json.dumps(document, allow_nan=False))
    assert written == document
    assert [error.message for error in Draft202012Validator(schema("report-1")).iter_errors(written)] == []
    assert [error.message for error in Draft202012Validator(schema("gates-1")).iter_errors(written["gates"])] == []
    if name == "hostile":
        return  # its results hold what no harness writes: fingerprints that are none
    results = Draft202012Validator(schema("result-1"))
    assert [error.message for one in written["results"] for error in results.iter_errors(one)] == []


def test_gates_and_results_are_null_without() -> None:
    document = report_document(pairs())
    assert (document["gates"], document["results"], document["annotators"]) == (None, None, None)


def test_rates_are_those_of_the_summary() -> None:
    report = typical(cases=30)
    (judge,) = report_document(report)["judges"]
    (criterion,), (summary,) = judge["criteria"], report.summaries
    assert summary.positive_rate is not None
    assert criterion["positive_rate"] == {
        "value": summary.positive_rate.value,
        "low": summary.positive_rate.low,
        "high": summary.positive_rate.high,
        "n": 34,
    }
    assert (judge["cases"], judge["not_asked"], judge["calibrated"]) == (30, 4, True)
    assert criterion["calibrated_precision"]["n"] > 0
    assert criterion["decided"] + criterion["abstained"] + criterion["not_graded"] == criterion["cases"] == 34


def test_rates_of_a_calibration_that_does_not_hold_are_left_out() -> None:
    by_judge = {judge["judge"]: judge for judge in report_document(several_judges())["judges"]}
    assert by_judge["gpt-4o"]["criteria"][0]["calibrated_recall"] is not None
    assert by_judge["claude"]["calibration"]["status"] == "expired"
    assert by_judge["claude"]["criteria"][0]["calibrated_recall"] is None
