from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

import pytest
from support.gated import case, labelled, passes
from support.measured import EXPIRED, VALID, calibration, measured, shapes
from support.report_scenes import all_failed, gates, hostile, informal, pairs, scored, several_criteria, typical
from support.rows import sampled

from judgeharness_integrations.analysis.gates import check_gates
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.reporting.runsection import markdown_report
from judgeharness_integrations.reporting.sections import escaped

# what stands in a report without being anybody's text
OWN_TAGS = {"<details>", "</details>", "<summary>", "</summary>", "<br>", "<pre>", "</pre>"}
NO_WIDTH = "\u200b"
REPORTS = {
    "typical": lambda: typical(cases=30),
    "scores": scored,
    "informal": informal,
    "criteria": several_criteria,
    "pairs": pairs,
    "failed": all_failed,
    "hostile": lambda: hostile()[0],
    "shapes": lambda: run_report(shapes().values()),
    "nothing": lambda: run_report([]),
}


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_holds_together(name: str) -> None:
    report = REPORTS[name]()
    text = markdown_report(report, gates=hostile()[1], every=True)
    assert set(re.findall(r"<[^>]*>", text)) <= OWN_TAGS
    for tag in ("details", "summary", "pre"):
        assert text.count(f"<{tag}>") == text.count(f"</{tag}>")
    columns = 0
    for line in text.splitlines():
        cells = line.count("|")
        assert not cells or not columns or cells == columns, line
        columns = cells
    assert all(character.isprintable() or character == "\n" for character in text)
    assert not re.search(r"(?<![&\w])[@#](?=\w)(?!#)", re.sub(r"^#+ ", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |",
        "`code` and ```fence```",
        "<img src=x onerror=alert(1)>",
        "![image](https://example.com/x.png)",
        "[link](javascript:alert(1))",
        "@octocat and octo-org/repo#12, #34, GH-56",
        "https://example.com www.example.com me@example.com",
        ":tada: **bold** _it_ ~~no~~ $x^2$ &lt;b&gt;",
        "# heading",
        "- item",
        "+ item",
        "1. item",
        "2) item",
        "> quote",
        "a\\|b",
        "<!-- comment",
        "&copy;",
    ],
)
def test_a_text_stands_for_itself(text: str) -> None:
    shown = escaped(text, 200)
    assert not set(shown) & set("|`<>*_[]()~$\\!{}^=\"'")
    assert html.unescape(shown).replace(NO_WIDTH, "") == text  # people read what was written
    read = html.unescape(shown)  # what GitHub looks through after Markdown was read
    assert not re.search(r"@\w|#\d|GH-\d|://|:\w+:|www\.\w", read)
    assert not re.match(r"[-+#>]|\d+[.)]", shown)


def test_line_breaks_controls_and_direction_marks_are_taken_out_and_long_texts_cut() -> None:
    assert escaped("a\n\n# b\r\x00\u202ec", 80) == "a #&#8203;b c".replace("#&#8203;b", "# b")
    assert len(escaped("x" * 500, 40)) == 40


def test_the_first_screen_says_what_came_out() -> None:
    report = passes(93, 7)
    text = markdown_report(report, gates=check_gates(report, ["pass_rate>=0.9", "coverage>=0.9"]))
    first = text.partition("<details>")[0]
    assert "### gates: 1 of 2 gate checks did not pass" in first.replace(NO_WIDTH, "")
    assert "PASS 93.0 of 100<br>&#91;86.3, 96.6&#93;" in first
    assert first.index("**FAILED**") < first.index("| passed |")
    assert len(first.splitlines()) < 40
    assert "every gate passed" in markdown_report(report, gates=check_gates(report, ["pass_rate>=0.5"]))
    assert "**NOT MEASURED**" in markdown_report(report, gates=gates())
    points = check_gates(report, ["pass_rate>=0.5"])
    assert "on point estimates" not in markdown_report(report, gates=points)
    assert "gate" not in report.to_markdown()


def test_results_are_shown_by_kind() -> None:
    assert "mean 7" in scored().to_markdown()
    assert "nothing was measured" in run_report([]).to_markdown()
    assert "informal: verdicts as they came" in informal().to_markdown()
    labels = run_report(labelled({"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}))
    row = next(line for line in labels.to_markdown().splitlines() if line.startswith("| judge | a "))
    assert "a 33.3 of 15" in row
    assert "<br>…" in row
    few = run_report(labelled({"x": 5, "y": 4})).to_markdown()
    assert "x 55.6 of 9" in few
    assert "…" not in next(line for line in few.splitlines() if line.startswith("| judge | x "))
    constant = run_report([case(f"c{n}", [4] * 3, rule_name="median") for n in range(5)]).to_markdown()
    assert "mean 4.000<br>no interval<br>of 5" in constant
    assert "exploratory" in passes(5, 5, rule_fixed="after").to_markdown()


def test_the_cases_that_matter_are_listed_the_most_divided_first_and_capped() -> None:
    cases = [
        *[case(f"f{n}", ["FAIL"] * 3) for n in range(25)],
        case("torn", ["PASS", "FAIL", None]),
        case("lost", [None, None, "PASS"]),
        case("split", ["PASS", "PASS", "FAIL"]),
        case("sure", ["PASS"] * 3),
    ]
    text = run_report(cases).to_markdown()
    assert "<summary>Failed: 25 cases</summary>" in text
    assert "and 5 more" in text
    assert "| f19 |" in text
    assert "| f20 |" not in text
    for title in ("Not graded: 1 case<", "Abstained: 1 case<", "Decided, but divided: 1 case<"):
        assert title in text
    assert "| sure |" not in text
    everything = markdown_report(run_report(cases), every=True)
    assert "| sure |" in everything
    assert "| f24 |" in everything
    assert "more\n" not in everything


def test_reasons_texts_and_gold_of_a_case_are_shown() -> None:
    rows = [
        *sampled(["FAIL", "FAIL"], reasoning="too short", gold="PASS"),
        *sampled(["PASS"], perturbation="format_change", reasoning="kind", gold="PASS"),
    ]
    report = run_report([measured(rows, repetitions=2)], case_texts={"c1": {"output": "Hello *you*"}, "c2": {}})
    text = report.to_markdown()
    assert "FAIL: too short<br>PASS: kind" in text
    assert "output: Hello &#42;you&#42;" in text
    assert "| PASS | FAIL: too short" in text


@pytest.mark.slow
def test_a_judge_is_shown_in_full() -> None:
    text = html.unescape(typical().to_markdown()).replace(NO_WIDTH, "")
    for words in (
        "every measure of gpt-4o (gpt-4o-2024-08-06)",
        "verdicts differ between none and format_change in ",
        "; between two samples of none in ",
        "- calibrated on human_labeled_set_v1",
        "precision",
        "cost 1.2840 by the prices given",
        "4 of 124 cases were never asked",
        "### not measured",
        "may the judges replace annotators?",
    ):
        assert words in text
    assert "failed samples: " in all_failed().to_markdown().replace(NO_WIDTH, "")
    assert "uncalibrated" in passes(3, 3).to_markdown()
    expired = passes(3, 3, calibration=calibration(), calibration_state=EXPIRED).to_markdown()
    assert "the calibration on human&#95;labeled&#95;set&#95;v1 is expired: rule changed" in expired.replace(
        NO_WIDTH, ""
    )
    assert "what labels say" not in expired
    assert "warning: " in several_criteria().to_markdown().replace(NO_WIDTH, "")
    assert "tokens unknown" in passes(3, 3).to_markdown()


def test_why_people_were_not_compared_is_said() -> None:
    text = run_report(labelled({"PASS": 3}), annotators_reason="too few people").to_markdown()
    assert "annotators: too few people" in text


def test_answers_that_were_paid_for_before_are_counted() -> None:
    rows = sampled(["PASS"] * 3, attributes={"reused_from": "r0"}, latency_s=1.0, input_tokens=3, output_tokens=1)
    text = run_report([measured(rows, perturbations=("none",), repetitions=3)]).to_markdown()
    assert "3 answers re-used" in text
    assert "3.0 s of waiting for the judge" in text


def test_where_nothing_is_left_open_nothing_is_listed() -> None:
    report = passes(3, 3)
    closed = replace(report, judges=tuple(replace(section, not_measured={}) for section in report.judges))
    assert "not measured" in report.to_markdown()
    assert "not measured" not in closed.to_markdown()


def test_a_calibration_cannot_bring_markup() -> None:
    report = passes(3, 3, calibration=calibration(name="</pre><h1>"), calibration_state=VALID)
    assert "calibrated on &#60;/pre&#62;&#60;h1&#62;" in report.to_markdown()
    assert "<h1>" not in report.to_markdown()


def test_how_far_scores_lie_off_gold_is_shown() -> None:
    text = run_report([case(f"c{n}", [n] * 3, gold=n + 2, rule_name="median") for n in range(5)]).to_markdown()
    assert "off by 2.000<br>of 5" in text
    assert "| mean absolute error of decided with gold | 2.000 of 5 |" in text


def test_every_share_says_of_what_it_is() -> None:
    text = " ".join(passes(5, 5).to_markdown().split())
    assert "a mean score is of decided cases, right is of decided cases with gold" in text
    assert "in every denominator" not in text


def test_several_designs_are_named_in_tables_and_parts() -> None:
    report = run_report([*labelled({"PASS": 3}), *labelled({"FAIL": 3}, rule_name="strict_majority")])
    text = report.to_markdown()
    assert "| judge · majority, none x 3 |" in text
    assert "every measure of judge · strict&#95;majority, none x 3" in text


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, "- uncalibrated: how often this rule is right was not measured"),
        ({"calibration": calibration(), "calibration_state": EXPIRED}, "- uncalibrated: the calibration on human"),
        ({"calibration": calibration(), "calibration_state": VALID}, "- calibrated on human_labeled_set_v1"),
        ({"calibration": calibration(criteria={}), "calibration_state": VALID}, "holds no labels of verdict"),
        (
            {"calibration": calibration(source="model:o3"), "calibration_state": VALID},
            "uncalibrated: agreement with o3",
        ),
    ],
)
def test_no_more_is_said_of_a_calibration_than_there_is(facts: dict[str, Any], words: str) -> None:
    assert words in html.unescape(passes(3, 3, **facts).to_markdown()).replace(NO_WIDTH, "")


def test_gates_of_the_run_are_called_so() -> None:
    report = passes(9, 1)
    own = replace(report, gates=check_gates(report, ["pass_rate>=0.5"]))
    told, given = (one.replace(NO_WIDTH, "") for one in (own.to_markdown(), own.to_markdown(gates=own.gates)))
    assert "### gates of the run, as they were at its end: every gate passed" in told
    assert "### gates: every gate passed" in given


def test_intervals_of_several_judges_on_the_same_labels_are_said_once_to_hold_one_by_one() -> None:
    report = run_report(
        [case(f"c{n}", ["PASS"] * 3, gold="PASS", judge=judge) for judge in ("one", "two", "three") for n in range(20)]
    )
    told = (
        "each interval of right, and of a lead over controls, holds 95 % by itself: each is one of 3 judges on these "
        "labels, and the best of them may be best by luck, so a gate on accuracy uses 98.30 %"
    )
    for text in (markdown_report(report), report.to_html()):
        assert html.unescape(text).count(told) == 1
    (check, *_) = check_gates(report, ["accuracy>=0.5"]).checks
    assert "in the share right on the same 20 decided cases at 95 %, as if it were the only candidate" in check.reason
    without = run_report([result for result in report.results if result.judge == "one"])
    assert "intervals of right" not in markdown_report(without) + without.to_html()


def test_of_cases_of_a_test_suite_the_test_is_named() -> None:
    split = measured(sampled(["PASS", "FAIL"] * 2, case_id="c"), case_id="c")
    assert "| test |" not in run_report([split]).to_markdown()
    told = run_report([replace(split, test="tests/test_a.py"), replace(split, judge="other")]).to_markdown()
    assert "| reasons | test |" in told
    assert re.search(r"\| c \| judge .*\| tests/test&#95;a\.py \|", told)
    assert re.search(r"\| c \| other .*\| - \|", told)
