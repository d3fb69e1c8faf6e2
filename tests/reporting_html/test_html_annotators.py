"""The section about annotators: an answer, what it stands on, and what speaks against it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from scipy import stats
from support import report_scenes

from judgeharness_integrations.analysis.agreement import Panel
from judgeharness_integrations.analysis.agreement.alttestreport import AnnotatorTest
from judgeharness_integrations.analysis.agreement.panelfiles import annotated
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.reporting.html.judgecards import AnnotatorsSection, Answer, annotators_section
from judgeharness_integrations.verdictlog.row import VerdictRow


@cache
def with_people(right: float = 0.85, **options: Any) -> RunReport:
    results = report_scenes.graded(80, reasons=0)
    panel = report_scenes.people(results, right=right)
    return annotated(run_report(results), panel, humans=["annotator_*"], **options)


def only(report: RunReport) -> Answer:
    (answer,) = annotators_section(report).answers
    return answer


def test_a_judge_that_passes_may_and_the_answer_says_for_how_many_of_them() -> None:
    answer = only(with_people())
    assert answer.verdict == "yes"
    ruled_out = "it is ruled out that the judge is worse than they are by 0.2 or more"
    assert answer.sentence == f"For 5 of 5 annotators {ruled_out}; it takes 3 to pass."
    measures = {one.name: one for one in answer.measures}
    assert measures["Winning rate (omega)"].value == "1.00"
    assert measures["Omega by Tango's test"].note == "says the same"
    assert "Omega by clusters" not in measures
    assert any("ties" in caveat for caveat in answer.caveats)


def test_a_judge_that_fails_may_not() -> None:
    answer = only(with_people(right=1.0, epsilon=0.0))
    assert (answer.verdict, answer.lines[0].rejected) == ("no", False)
    assert "no better than they are" in answer.sentence


@pytest.mark.parametrize("multiplicative", [False, True])
def test_the_line_of_an_annotator_is_the_t_interval_beside_minus_epsilon(*, multiplicative: bool) -> None:
    report = with_people(epsilon=0.1, multiplicative=multiplicative)
    assert report.annotators is not None
    for line, one in zip(only(report).lines, report.annotators.candidates[0].annotators, strict=True):
        d = [1.0] * one.n_candidate_win + [0.0] * one.n_tie + [-1.0] * one.n_human_win
        low, high = stats.t.interval(0.95, one.n - 1, loc=sum(d) / one.n, scale=stats.sem(d))
        assert line.interval == f"[{100 * low:.1f}, {100 * high:.1f}]"
        assert line.difference == f"{100 * sum(d) / one.n:+.1f}"
        ends = [float(str(end).rstrip("%")) for end in (line.whisker.mark, line.whisker.low, line.whisker.high)]
        edge = -0.1 * (one.rho_h if multiplicative else 1)
        assert (ends[0] - ends[1]) / (ends[2] - ends[1]) == pytest.approx((edge - low) / (high - low), abs=0.01)


def test_tango_is_left_out_where_it_does_not_apply() -> None:
    answer = only(with_people(multiplicative=True))
    assert "of each annotator's own rate" in answer.test
    assert {line.tango_p for line in answer.lines} == {"\u2013"}


def test_an_annotator_without_spread_has_no_interval() -> None:
    report = with_people()
    assert report.annotators is not None
    test = report.annotators.candidates[0]
    flat: AnnotatorTest = replace(test.annotators[0], n_candidate_win=0, n_human_win=0, n_tie=test.annotators[0].n)
    alone = replace(flat, n=1, n_tie=0, n_candidate_win=1)
    changed = replace(test, annotators=(flat, alone))
    lines = only(replace(report, annotators=replace(report.annotators, candidates=(changed,)))).lines
    assert [(line.interval, line.whisker.low) for line in lines] == [("", None), ("", None)]


def test_clusters_stand_beside_and_say_when_they_disagree() -> None:
    results = report_scenes.graded(60, reasons=0)
    rows = [
        VerdictRow(
            case_id=one.case_id,
            judge=f"annotator_{who}",
            verdict=one.rows[0].gold,
            attributes={"text": f"t{number // 6}"},
        )
        for who in range(3)
        for number, one in enumerate(results)
    ]
    report = annotated(run_report(results), Panel.from_rows(rows, cluster="text"), humans=["annotator_*"])
    answer = only(report)
    measures = {one.name: one for one in answer.measures}
    assert answer.clustered
    assert measures["Omega by clusters"].value is not None
    assert report.annotators is not None
    test = replace(
        report.annotators.candidates[0],
        omega_clustered=0.0,
        passed=True,
        clustered_reason="too few",
        interval_reason="x",
    )
    other = only(replace(report, annotators=replace(report.annotators, candidates=(test,))))
    assert next(one for one in other.measures if one.name == "Omega by clusters").note == "says the opposite"
    assert other.caveats[-2:] == ("clustered by text nothing can be told: too few", "no interval of rho: x")


def test_a_test_of_nobody_is_not_measured_and_the_others_still_are() -> None:
    report = with_people()
    assert report.annotators is not None
    test = report.annotators.candidates[0]
    nobody = replace(
        test, passed=None, omega=None, rho=None, rho_human=None, rho_interval=None, reason="too few", annotators=()
    )
    both = replace(report, annotators=replace(report.annotators, candidates=(test, nobody)))
    section: AnnotatorsSection = annotators_section(both)
    assert section.measured
    assert [answer.verdict for answer in section.answers] == ["yes", "unmeasured"]
    assert section.answers[1].sentence == "too few"
    assert section.answers[1].measures == ()
    assert "Not measured" in both.to_html()
    silent = replace(nobody, reason=None)
    assert only(replace(report, annotators=replace(report.annotators, candidates=(silent,)))).sentence == (
        "nobody could be tested"
    )


def test_ties_without_other_comparisons_and_a_missing_interval_are_said() -> None:
    report = with_people()
    assert report.annotators is not None
    test = replace(report.annotators.candidates[0], decisive_rate=None, rho_interval=None, omega_tango=None)
    answer = only(replace(report, annotators=replace(report.annotators, candidates=(test,))))
    measures = {one.name: one for one in answer.measures}
    assert measures["Ties"].note == "there is no other comparison"
    assert measures["Advantage (rho) of the judge"].interval == ""
    assert "Omega by Tango's test" not in measures


def test_a_crowd_is_cut_and_says_how_many_are_not_shown() -> None:
    report = with_people()
    assert report.annotators is not None
    test = report.annotators.candidates[0]
    crowd = replace(test, annotators=test.annotators * 20, skipped=tuple(f"a{n}" for n in range(25)))
    changed = replace(report, annotators=replace(report.annotators, candidates=(crowd,)))
    answer = only(changed)
    assert (len(answer.lines), answer.more_lines) == (60, 40)
    html = changed.to_html()
    assert "40 more annotators" in html
    assert "and 5 more" in html


def test_without_labels_of_people_the_page_says_what_it_takes() -> None:
    section = annotators_section(replace(report_scenes.scored(), arguments=("scores.csv", "--rule", "mean(pass_at=7)")))
    assert section.reason == "No labels of single annotators were given."
    assert section.command == (
        "judgeharness report scores.csv --rule 'mean(pass_at=7)' --annotations labels.csv --humans 'annotator_*' "
        "--html report.html"
    )
    hostile = annotators_section(replace(report_scenes.scored(), arguments=("a; rm -rf b",)))
    assert "report 'a; rm -rf b' --annotations" in hostile.command


def test_where_no_command_reads_the_results_again_the_page_names_none() -> None:
    report = report_scenes.scored()
    assert annotators_section(report).command == ""
    page = report.to_html()
    assert "<code>label</code>.</p>" in " ".join(page.split()).replace(". </p>", ".</p>")
    assert "judgeharness report" not in page
    assert "</code>. Then:" in replace(report, arguments=("scores.csv",)).to_html()


def test_omega_takes_half_of_the_annotators_rounded_up() -> None:
    report = with_people()
    assert report.annotators is not None
    test = report.annotators.candidates[0]
    for tested_humans in (3, 4, 7):
        changed = replace(test, m_tested=tested_humans, n_rejected=0)
        answer = only(replace(report, annotators=replace(report.annotators, candidates=(changed,))))
        assert f"it takes {math.ceil(tested_humans / 2)} to pass" in answer.sentence
