"""What runs of a log came to, one beside the other: measured by each run's own rule, shown latest first, with bars."""

from __future__ import annotations

from typing import Any

import pytest

from judgeharness_integrations.analysis.runs.reading import changed_parts, run_measures
from judgeharness_integrations.reporting.runlist import runs_finding, runs_section, sparkline
from judgeharness_integrations.reporting.terminal import section_lines
from judgeharness_integrations.verdictlog import VerdictRow

MAJORITY = {"harness": {"aggregation_rule": "majority", "min_valid": None, "tolerance": 1.0}}


def rows(*, judge: str = "house") -> list[VerdictRow]:
    """Two cases with gold: one right, one divided."""
    said = {"one": "AAA", "two": "AB"}
    return [
        VerdictRow(run="r", judge=judge, case_id=case, repetition=n, verdict=verdict, gold="A")
        for case, verdicts in said.items()
        for n, verdict in enumerate(verdicts)
    ]


def test_a_run_is_measured_by_its_own_rule_and_cases_without_rows_are_not_graded() -> None:
    (found,) = run_measures(rows(), MAJORITY, cases=3) or ()
    assert found == {
        "judge": "house",
        "criterion": "verdict",
        "cases": 3,
        "decided": 1,
        "abstained": 1,
        "not_graded": 1,
        "decided_with_gold": 1,
        "accuracy": 1.0,
        "consistency_rate": pytest.approx(0.75),
    }
    (alone,) = run_measures(rows(), MAJORITY) or ()
    assert (alone["cases"], alone["not_graded"]) == (2, 0)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ([], MAJORITY),
        (rows(), {}),
        (rows(), MAJORITY | {"certificate": {"file": "c.json"}}),
        (rows(), {"harness": {"aggregation_rule": "my_rules:veto"}}),
    ],
)
def test_what_its_rows_do_not_tell_is_none(given: list[VerdictRow], parts: dict[str, Any]) -> None:
    assert run_measures(given, parts) is None


def test_parts_that_differ_are_named_and_unknown_ones_are_not() -> None:
    assert changed_parts({"cases": 1, "judges": 1, "harness": 1}, {"cases": 2, "judges": 1, "harness": 3}) == [
        "cases",
        "harness",
    ]
    assert changed_parts({}, {"cases": 2}) == changed_parts({"cases": 2}, {}) == []


def test_bars_go_from_the_lowest_to_the_highest_at_least_ten_points_apart() -> None:
    assert sparkline([0.2, None, 1.0]) == "▁ █ 100.0"
    assert sparkline([0.5, 0.5]) == "▄▄ 50.0" or sparkline([0.5, 0.5]) == "▅▅ 50.0"
    assert sparkline([1.0, 1.0]) == "██ 100.0"
    assert sparkline([0.0, 0.0]) == "▁▁ 0.0"
    assert sparkline([None]) == "-"
    assert len(sparkline([0.5] * 30).split()[0]) == 20


def measured(**changed: Any) -> dict[str, Any]:
    return {
        "judge": "house",
        "criterion": "verdict",
        "cases": 24,
        "decided": 20,
        "abstained": 4,
        "not_graded": 0,
        "decided_with_gold": 16,
        "accuracy": 1.0,
        "consistency_rate": 0.875,
    } | changed


def entry(run: str, *came_to: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {
        "run": run,
        "begun": "2026-11-28T10:04:00+00:00",
        "state": "complete",
        "planned_calls": 144,
        "answered_calls": 144,
        "saved_calls": None,
        "failed_rows": 0,
        "reused": 0,
        "input_tokens": None,
        "output_tokens": None,
        "cost": None,
        "rule": "majority",
        "measured": list(came_to) or None,
    } | changed


def document(*runs: dict[str, Any]) -> dict[str, Any]:
    return {"log": "log.sqlite", "runs": list(runs)}


def test_the_latest_run_stands_beside_the_one_before_and_compare_comes_next() -> None:
    found = runs_finding(
        document(entry("a", measured()), entry("b", measured(abstained=8, accuracy=0.9375))), changed=["cases"]
    )
    assert found.answer == (
        "b: house abstained on 8 of 24 cases (before: 4 of 24), right on 93.8 % of 16 decided cases with gold "
        "(before: 100.0 % of 16)"
    )
    assert found.reasons == ("b has other cases than the run before it",)
    assert found.next == ("judgeharness compare log.sqlite log.sqlite --run-a a --run-b b --rule majority")


def test_a_run_alone_or_of_another_rule_is_read_in_its_report() -> None:
    report = "judgeharness report log.sqlite --run b --rule majority"
    assert runs_finding(document(entry("b", measured()))).next == report
    other = entry("a", measured(accuracy=None), rule="median")
    found = runs_finding(document(other, entry("b", measured())))
    assert found.next == report
    assert "(before: -)" in found.answer
    assert "right on" not in runs_finding(document(entry("b", measured(accuracy=None)))).answer


def test_of_many_judges_three_have_a_sentence() -> None:
    many = [measured(judge=f"j{n}") for n in range(5)]
    found = runs_finding(document(entry("b", *many)))
    assert len(found.reasons) == 3
    assert found.reasons[-1] == "2 more judges or criteria are below"


def test_nothing_measured_is_said() -> None:
    told = document(*(entry(name) for name in "abcd"))
    assert runs_finding(told).answer == "4 runs; none is measured here"
    text = "\n".join(section_lines(runs_section(told)))
    assert "not measured here: a, b, c and 1 more; " in text
    assert "trends" not in text
    assert "\nmeasured\n" not in text


def test_the_list_shows_trends_measures_and_the_columns_that_tell_something() -> None:
    runs = document(
        entry("a", measured(), measured(judge="other", cases=0, abstained=0, accuracy=None, consistency_rate=None)),
        entry("b", measured(abstained=8), cost=0.5, input_tokens=10, saved_calls=4),
        entry("c", state=None, begun=None, planned_calls=None, answered_calls=0),
    )
    text = "\n".join(section_lines(runs_section(runs), width=80))
    (trend,) = (line for line in text.partition("trends")[2].partition("measured")[0].splitlines() if "house" in line)
    assert trend.split() == ["house", "2", "██", "100.0", "▁█", "33.3", "▄▄", "87.5"] or "▁█" in trend
    assert "other  " not in text.partition("\nmeasured\n")[0]
    table = text.partition("\nruns\n")[2]
    assert "100.0 of 144 (4 saved)" in table
    assert "imported" in table
    assert "0.5000" in table
    assert "failed" not in table
    assert "re-" not in table
    assert "not measured here" not in text
