"""Decisions of judges tested against people's labels."""

from __future__ import annotations

from typing import Any

import pytest
from support import report_scenes
from support.measured import measured
from support.rows import sampled

from judgeharness_integrations import JudgeHarnessError
from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.agreement import Panel, alt_test
from judgeharness_integrations.analysis.agreement.panelfiles import annotated
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.reporting.html.judgecards import annotators_section
from judgeharness_integrations.verdictlog.row import VerdictRow

HUMANS = ["annotator_*"]


def decided(labels: dict[str, str | float | None], judge: str = "judge") -> list:
    rule = "median" if any(isinstance(label, float) for label in labels.values()) else "majority"
    return [
        measured(sampled([label] * 2, case_id=case, judge=judge), case_id=case, judge=judge, rule_name=rule)
        for case, label in labels.items()
    ]


def people(labels: dict[str, str | float], count: int = 3) -> Panel:
    return Panel.from_annotations({f"annotator_{number}": labels for number in range(count)})


def cases(*cycle: str | float, count: int = 40) -> dict:
    return {f"c{number}": cycle[number % len(cycle)] for number in range(count)}


def test_it_is_the_test_of_the_decisions_as_a_panel_would_hold_them() -> None:
    report = run_report(report_scenes.graded(60, reasons=0))
    panel = report_scenes.people(list(report.results))
    found = annotated(report, panel, humans=HUMANS, epsilon=(0.1, 0.2)).annotators
    names = dict(zip(panel.raters, panel.raters, strict=True))
    said = {name: {} for name in names}
    for rater, item, value in zip(panel.rater, panel.item, panel.values, strict=True):
        said[panel.raters[rater]][panel.items[item]] = panel.labels[value]
    said["gpt-4o"] = {one.case_id: one.verdict for one in report.results if one.status == "decided"}
    wanted = alt_test(Panel.from_annotations(said), humans=HUMANS, candidates=["gpt-4o"], epsilons=(0.1, 0.2))
    assert found is not None
    assert found.candidates == wanted.candidates
    undecided = sum(one.status != "decided" for one in report.results)
    assert undecided
    assert f"gpt-4o answered {60 - undecided} of 60 items; {undecided} answers without a verdict" in " ".join(
        found.scope.sentences()
    )


def test_words_of_people_for_pass_and_fail_are_taken_for_these() -> None:
    report = run_report(decided(cases("PASS", "FAIL")))
    for yes, no in (("yes", "no"), (1, 0)):
        found = annotated(report, people(cases(yes, no)), humans=HUMANS).annotators
        assert found is not None
        assert found.candidates[0].passed
        assert found.candidates[0].rho == 1


def test_scores_and_sets_of_labels_are_tested_as_what_they_are() -> None:
    scored = annotated(run_report(decided(cases(3.0, 5.0, 4.0))), people(cases(3, 5, 4)), humans=HUMANS).annotators
    assert scored is not None
    assert (scored.candidates[0].score, scored.candidates[0].passed) == ("neg_rmse", True)
    sets = [
        measured(sampled([frozenset({"spam", str(number % 3)})] * 2, case_id=f"c{number}"), case_id=f"c{number}")
        for number in range(40)
    ]
    said = {f"c{number}": ["spam", str(number % 3)] for number in range(40)}
    labelled = annotated(run_report(sets), people(said), humans=HUMANS).annotators
    assert labelled is not None
    assert (labelled.candidates[0].score, labelled.candidates[0].passed) == ("jaccard", True)


def test_clusters_and_what_was_counted_of_people_are_kept() -> None:
    rows = [
        VerdictRow(case_id=f"c{n}", judge=f"annotator_{who}", verdict="PASS", attributes={"text": f"t{n // 2}"})
        for who in range(3)
        for n in range(40)
    ]
    again: dict[str, Any] = {"repetition": 1, "attributes": {"text": "t0"}}
    rows.append(VerdictRow(case_id="c0", judge="annotator_0", verdict="PASS", **again))
    rows.append(VerdictRow(case_id="c1", judge="annotator_1", verdict=None, outcome="unparsed", **again))
    panel = Panel.from_rows(rows, cluster="text")
    found = annotated(run_report(decided(cases("PASS"))), panel, humans=HUMANS).annotators
    assert found is not None
    assert (found.scope.cluster, found.scope.clusters) == ("text", 20)
    turnout = {one.rater: (one.folded, one.failed) for one in found.scope.raters}
    assert turnout["annotator_0"] == (1, 0)
    assert turnout["annotator_1"] == (1, 1)


def test_a_judge_of_other_cases_is_left_out_and_named() -> None:
    report = run_report([*decided(cases("PASS")), *decided({"elsewhere": "PASS"}, judge="stranger")])
    found = annotated(report, people(cases("PASS")), humans=HUMANS)
    assert found.annotators is not None
    assert [test.candidate for test in found.annotators.candidates] == ["judge"]
    assert found.annotators_reason == "stranger judged none of the cases people labelled"
    assert annotators_section(found).reason == "Stranger judged none of the cases people labelled."


@pytest.mark.parametrize(
    ("labels", "count", "reason"),
    [
        (cases("PASS"), 2, "the test needs labels of 3 people at least, not of 2"),
        ({"other": "PASS"}, 3, "people labelled none of the cases, which are named as 'c0' here and as 'other' there"),
        (cases("PASS", count=20), 3, "no annotator shares 30 instances with judge and another human (at most 20)"),
    ],
)
def test_what_cannot_be_tested_says_why(labels: dict, count: int, reason: str) -> None:
    found = annotated(run_report(decided(cases("PASS"))), people(labels, count), humans=HUMANS)
    assert found.annotators is None
    assert (found.annotators_reason or "").startswith(reason)
    section = annotators_section(found)
    assert not section.measured
    assert section.reason.startswith(reason[0].upper())


def test_a_report_without_results_has_nothing_to_test() -> None:
    assert (
        annotated(run_report([]), people(cases("PASS")), humans=HUMANS).annotators_reason
        == "the report holds no result"
    )


def test_of_several_criteria_one_is_chosen() -> None:
    report: RunReport = report_scenes.several_criteria()
    panel = people({f"r{number}": "PASS" for number in range(12)})
    with pytest.raises(UsageError, match="the report has 3 criteria"):
        annotated(report, panel, humans=HUMANS)
    with pytest.raises(UnknownNameError, match="tone"):
        annotated(report, panel, humans=HUMANS, criterion="tones")
    found = annotated(report, panel, humans=HUMANS, criterion="tone", min_instances=10).annotators
    assert found is not None
    assert found.scope.kept == {"judge": 12}


def test_a_case_without_the_criterion_is_no_decision() -> None:
    half = measured(sampled(["PASS"], case_id="c0", criterion="other"), case_id="c0")
    report = run_report([half, *decided(cases("PASS"))])
    found = annotated(report, people(cases("PASS")), humans=HUMANS, criterion="verdict").annotators
    assert found is not None
    assert found.scope.kept == {"judge": 40}


def test_callers_errors_are_one_sentence() -> None:
    report = run_report(decided(cases("PASS")))
    wrong = [
        {"humans": ["nobody"]},
        {"humans": HUMANS, "epsilon": 2},
        {"humans": HUMANS, "score": "accurate"},
        {"humans": HUMANS, "min_instances": 0},
    ]
    for options in wrong:
        with pytest.raises(JudgeHarnessError) as caught:
            annotated(report, people(cases("PASS")), **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="'annotator_0' is both a judge of the report and one of the humans"):
        annotated(run_report(decided(cases("PASS"), "annotator_0")), people(cases("PASS")), humans=HUMANS)
    with pytest.raises(UsageError, match="use one kind"):
        annotated(report, people(cases(7.5, 8.5)), humans=HUMANS)
