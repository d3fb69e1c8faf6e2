"""What differs between two runs before anything is compared, and whether they judged the same answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.comparisons import a_run, rows_of
from support.measured import calibration

from judgeharness_integrations.analysis.calibration import CalibrationState
from judgeharness_integrations.analysis.comparison import ComparisonReport, CriterionComparison, compare
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.reading import results_of_log

P = "PASS"


def only(report: ComparisonReport) -> CriterionComparison:
    assert len(report.criteria) == 1
    return report.criteria[0]


def test_configurations_that_differ_come_first() -> None:
    before = run_report(results_of_log(rows_of("a", [P, P], model="gpt-4"), "majority"))
    after = run_report(results_of_log(rows_of("a", [P, P, P], model="gpt-5"), "strict_majority", rule_fixed="before"))
    parts = {d.part: (d.before, d.after) for d in compare(before, after).configuration}
    assert parts == {
        "model": ("gpt-4", "gpt-5"),
        "rule": ("majority", "strict_majority"),
        "rule chosen": ("after the samples", "before the samples"),
        "repetitions": ("2", "3"),
    }


def test_another_calibration_is_a_difference() -> None:
    run = a_run({"a": [P, P]})
    section = run.judges[0]
    report, expired = calibration(), CalibrationState(status="expired", reason="rule changed")
    unknown = replace(run, judges=(replace(section, calibration=report),))
    old = replace(run, judges=(replace(section, calibration=report, calibration_state=expired),))
    told = [[(d.part, d.before, d.after) for d in compare(run, other).configuration] for other in (unknown, old)]
    assert told == [
        [("calibration", "none", "human_labeled_set_v1")],
        [("calibration", "none", "human_labeled_set_v1 (expired)")],
    ]


def test_what_was_judged_is_told_by_texts_and_hashes() -> None:
    def run(digest: str | None, fingerprint: str | None = None, **facts: Any) -> RunReport:
        found = a_run({"a": [P, P]}, **facts)
        rows = tuple(replace(row, probe_hash=digest) for row in found.results[0].rows)
        return replace(found, results=(replace(found.results[0], rows=rows, fingerprint=fingerprint),))

    def question(before: RunReport, after: RunReport) -> str:
        return compare(before, after).judged.question

    assert question(run("x"), run("x")) == "same answers"
    assert question(run("x", "f"), run("y", "f")) == "new answers"
    assert question(run("x", "f"), run("y", "g")) == "unknown"
    assert question(run("x"), run("y")) == "unknown"
    assert question(run(None), run("y")) == "unknown"
    one, other = ({"cases_digest": digest} for digest in ("1", "2"))
    assert question(run("x", "f", **one), run("y", "g", **one)) == "same answers"
    assert question(run("x", "f", **one), run("y", "f", **other)) == "new answers"
    assert question(run("x", "f", **one), run("y", "g", **other)) == "unknown"
    old, new = ({"case_texts": {"a": {"output": text}}} for text in ("old", "new"))
    assert question(run("x", **old), run("y", **old)) == "same answers"
    assert question(run("x", **old), run("x", **new)) == "new answers"
    assert question(run("x", **old, **one), run("x", **new, **one)) == "new answers"
    texts = [{"case_texts": {"a": {"output": "1"}, "b": {"output": two}}} for two in "23"]
    both = [a_run({"a": [P], "b": [P]}, **one) for one in texts]
    assert question(*both) == "mixed"
    assert "may be theirs or the judge's" in compare(*both).judged.sentence


def test_new_answers_are_not_held_against_the_old_ones_gold() -> None:
    def run(text: str) -> RunReport:
        return a_run({"a": [P, P]}, gold=P, case_texts={"a": {"output": text}})

    assert only(compare(run("old"), run("new"))).main.measure == "positive_rate"
    assert only(compare(run("old"), run("old"))).main.measure == "right_of_labelled"
