from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from support.gated import case, labelled
from support.measured import VALID, calibration, measured, shapes
from support.report_scenes import hostile, informal, pairs, scored, several_criteria, typical
from support.rows import sampled

from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.reporting.rundocument import CASE_COLUMNS
from judgeharness_integrations.verdictlog.row import verdict_to_json

REPORTS = {
    "typical": lambda: typical(cases=12),
    "scores": scored,
    "informal": informal,
    "criteria": several_criteria,
    "pairs": pairs,
    "hostile": lambda: hostile()[0],
    "shapes": lambda: run_report(shapes().values()),
}


def lines(report: RunReport) -> list[dict[str, str]]:
    """The table as a reader finds it, quotes of spreadsheets taken off."""
    reader = csv.DictReader(io.StringIO(report.to_csv(), newline=""))
    assert tuple(reader.fieldnames or ()) == CASE_COLUMNS
    return [{name: cell.removeprefix("'") for name, cell in row.items()} for row in reader]


@pytest.mark.parametrize("name", REPORTS)
def test_every_case_and_criterion_is_a_line_that_reads_back(name: str) -> None:
    report = REPORTS[name]()
    found = lines(report)
    expected = [(result, one) for result in report.results for one in result.criteria.values()]
    assert len(found) == len(expected)
    for line, (result, one) in zip(found, expected, strict=True):
        assert (line["judge"], line["case_id"], line["criterion"]) == (result.judge, result.case_id, one.criterion)
        assert (line["status"], line["reason"], int(line["valid"])) == (one.status, one.reason, one.valid)
        assert _verdict(line["verdict"], one) == verdict_to_json(one.verdict)
        assert json.loads(line["distribution"]) == [
            {"verdict": verdict_to_json(verdict), "count": count} for verdict, count in one.sample_distribution.items()
        ]
        assert json.loads(line["flip_rates"]) == {**one.flip_rates, **one.prompt_sensitivity}
        assert (float(line["sd"]) if line["sd"] else None) == one.sd


def _verdict(cell: str, one: Any) -> Any:
    if not cell:
        return None
    if isinstance(one.verdict, frozenset):
        return json.loads(cell)
    return cell if isinstance(one.verdict, str) else float(cell)


def test_no_cell_is_a_formula() -> None:
    report = run_report([case("=1+1", ["@SUM"] * 3, judge="-2", gold="+1"), case("'q", ["PASS"] * 3)])
    raw = [*csv.reader(io.StringIO(report.to_csv(), newline=""))][1:]
    assert [row[:4] for row in raw] == [["-2", "'=1+1", "verdict", "'@SUM"], ["judge", "''q", "verdict", "PASS"]]
    assert [line["case_id"] for line in lines(report)] == ["=1+1", "'q"]


def test_what_a_case_cost_stands_on_one_line_of_it() -> None:
    report = several_criteria()
    paid = [line for line in lines(report) if line["calls"]]
    assert len(paid) == len(report.results)
    assert sum(int(line["calls"]) for line in paid) == sum(section.usage.calls for section in report.judges)


def test_gold_outcome_and_calibration_are_there() -> None:
    anchored = {"calibration": calibration(("PASS", "PASS"), ("FAIL", "PASS")), "calibration_state": VALID}
    report = run_report([case("c", ["PASS"] * 3, gold="FAIL", **anchored), case("n", [None] * 3)])
    first, second = lines(report)
    assert (first["gold"], first["outcome"], first["calibration"], first["calibrated_precision"]) == (
        "FAIL",
        "passed",
        "valid",
        "0.5",
    )
    assert (second["outcome"], second["verdict"], second["calibration"], second["calibrated_recall"]) == (
        "not_graded",
        "",
        "none",
        "",
    )


def test_of_a_single_sample_nothing_was_folded() -> None:
    line = lines(informal())[0]
    assert (line["informal"], line["aggregation_rule"], line["consistency_rate"]) == ("true", "", "")


def test_a_set_of_labels_is_a_list() -> None:
    report = run_report([measured(sampled([frozenset({"b", "a"})] * 3), perturbations=("none",), repetitions=3)])
    assert json.loads(lines(report)[0]["verdict"]) == ["a", "b"]


def test_without_cases_the_columns_remain() -> None:
    assert run_report([]).to_csv() == ",".join(CASE_COLUMNS) + "\n"
    assert len(lines(run_report(labelled({"PASS": 3})))) == 3
