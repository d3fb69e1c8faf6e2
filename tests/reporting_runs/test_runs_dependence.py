"""What results of one judge have to do with each other: cases measured again, designs side by side, noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.gated import case, labelled
from support.measured import EXPIRED, VALID, calibration, measured
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.summarising import designs_apart
from judgeharness_integrations.reporting.calibrationtext import anchor_text
from judgeharness_integrations.reporting.rundocument import report_document
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, VerdictRow

ANCHORED: dict[str, Any] = {"calibration": calibration(), "calibration_state": VALID}
TWICE = "again: each counts in shares, intervals take the results of one case for one"


def test_a_case_that_is_measured_again_tells_no_more_of_others() -> None:
    once = labelled({"PASS": 9, "FAIL": 3})
    [apart], [again] = run_report(once).summaries, run_report([*once, *once, *once]).summaries
    assert apart.positive_rate is not None
    assert again.positive_rate is not None
    assert again.positive_rate.value == apart.positive_rate.value
    assert again.positive_rate.high - again.positive_rate.low >= apart.positive_rate.high - apart.positive_rate.low
    assert (apart.repeated, again.repeated) == (0, 24)


def test_that_cases_were_measured_again_is_a_warning_of_the_judge() -> None:
    once = labelled({"PASS": 3})
    assert run_report(once).judges[0].warnings == ()
    assert run_report([*once, once[0]]).judges[0].warnings == (f"1 result measures a case {TWICE}",)
    assert run_report([*once, *once]).judges[0].warnings == (f"3 results measure a case {TWICE}",)
    document = report_document(run_report([*once, *once]))["judges"][0]
    assert document["criteria"][0]["repeated"] == 3


def test_several_criteria_of_a_result_are_one_measurement_of_its_case() -> None:
    rows = [*sampled(["PASS"] * 3, criterion="tone"), *sampled(["PASS"] * 3, criterion="facts")]
    again = run_report([measured(rows, repetitions=3)] * 2)
    assert again.judges[0].warnings == (f"1 result measures a case {TWICE}",)
    other = measured(rows, repetitions=3, rule_name="strict_majority")
    assert run_report([measured(rows, repetitions=3), other]).judges[0].warnings == ()


def test_a_calibration_of_one_design_vouches_for_no_other() -> None:
    calibrated, other = case("a", ["PASS"] * 3, **ANCHORED), case("b", ["PASS"] * 3, rule_name="strict_majority")
    for results in ([calibrated, other], [other, calibrated]):
        [section] = run_report(results).judges
        assert not section.calibrated
    assert run_report([calibrated, calibrated]).judges[0].calibrated


def test_a_case_without_any_answer_is_about_the_criteria_its_judge_was_heard_on() -> None:
    heard = measured([*sampled(["PASS"] * 3, criterion="tone"), *sampled(["FAIL"] * 3, criterion="facts")])
    failed = VerdictRow(case_id="c2", criterion=EVERY_CRITERION, verdict=None, outcome="error", error="down")
    silent = measured([failed], case_id="c2", planned=3)
    assert list(silent.criteria) == ["verdict"]
    for results in ([heard, silent], [silent, heard]):
        report = run_report(results)
        found = [(one.criterion, one.cases, one.replay.not_graded) for one in report.summaries]
        assert sorted(found) == [("facts", 2, 1), ("tone", 2, 1)]
    [alone] = run_report([silent]).summaries
    assert (alone.criterion, alone.replay.not_graded) == ("verdict", 1)


def test_a_score_as_gold_makes_no_label_right_or_wrong() -> None:
    """3 is a score; 1 and 0 alone are words for PASS and FAIL, as calibrations always read them."""
    results = [case(f"c{n}", ["PASS"] * 3, gold=3) for n in range(4)]
    [mixed] = run_report(results).summaries
    assert (mixed.accuracy, mixed.replay.correct, mixed.replay.labelled) == (None, None, 0)
    [some] = run_report([*results, case("x", ["PASS"] * 3, gold="PASS")]).summaries
    assert some.accuracy is not None
    assert (some.accuracy.successes, some.accuracy.trials) == (1, 1)
    assert (some.replay.correct, some.replay.labelled) == (1, 1)
    [scores] = run_report([case(f"c{n}", [n] * 3, gold="PASS", rule_name="median") for n in range(4)]).summaries
    assert (scores.accuracy, scores.replay.correct) == (None, None)


def swapped(case_id: str, shown: str, other: str, **facts: Any) -> Any:
    rows = both_orders(shown, other, case_id=case_id)
    return measured(
        rows,
        case_id=case_id,
        perturbations=("none", "position_swap"),
        repetitions=3,
        rule_name="swap_consensus",
        **facts,
    )


def test_beside_a_flip_rate_stands_how_often_two_samples_differ_without_a_change() -> None:
    [summary] = run_report([swapped("a", "AB", "AB"), swapped("b", "AA", "AA"), swapped("c", "ABB", "BAA")]).summaries
    [flip] = summary.flips
    assert summary.noise is not None
    assert flip.value == pytest.approx((0.5 + 0 + (1 * 1 + 2 * 2) / 9) / 3)
    assert summary.noise.value == pytest.approx((1 + 0 + 2 / 3) / 3)  # 1 - agreement of pairs of each case
    assert (summary.noise.perturbation, summary.noise.cases) == ("none", 3)
    assert summary.noise.low < summary.noise.value < summary.noise.high


def test_without_a_second_sample_or_a_change_there_is_no_noise_to_tell() -> None:
    [single] = run_report([swapped("a", "A", "B")]).summaries
    assert (len(single.flips), single.noise) == (1, None)
    [unchanged] = run_report(labelled({"PASS": 3})).summaries
    assert unchanged.noise is None
    part = run_report([swapped("a", "A", "B", min_valid=1), swapped("b", "A", "B", min_valid=1)])
    assert part.summaries[0].noise is None


def test_noise_of_scores_is_more_than_the_tolerance() -> None:
    rows = [*sampled([1.0, 1.5, 4.0]), *sampled([1, 1, 1], perturbation="format_change")]
    [summary] = run_report([measured(rows, repetitions=3, rule_name="median")]).summaries
    assert summary.noise is not None
    assert summary.noise.value == pytest.approx(2 / 3)


def designs(report: RunReport) -> list[tuple[Any, ...]]:
    return [(one.design.min_valid, one.design.tolerance, one.cases) for one in report.summaries]


def test_results_of_another_quorum_or_tolerance_are_summed_up_apart() -> None:
    usual = labelled({"PASS": 3})
    strict = [case(f"s{n}", ["PASS", None, None], min_valid=1) for n in range(2)]
    report = run_report([*usual, *strict])
    assert designs(report) == [(None, 1.0, 3), (1, 1.0, 2)]
    assert [one.replay.decided for one in report.summaries] == [3, 2]
    near = [replace(one, design=replace(one.design, tolerance=2.0)) for one in usual]
    assert designs(run_report([*usual, *near])) == [(None, 1.0, 3), (None, 2.0, 3)]
    curtailed = [replace(one, design=replace(one.design, curtail=True)) for one in usual]
    assert len(run_report([*usual, *curtailed]).summaries) == 2


def test_designs_are_named_by_what_tells_them_apart() -> None:
    one = measured(sampled(["PASS"] * 4)).design
    assert list(designs_apart([one, one]).values()) == [""]
    assert list(designs_apart([one, replace(one, repetitions=2)]).values()) == [
        "majority, none + format_change x 4",
        "majority, none + format_change x 2",
    ]
    several = [one, replace(one, min_valid=3), replace(one, curtail=True, rule_fixed="after")]
    shared = "majority, none + format_change x 4, chosen"
    assert list(designs_apart(several).values()) == [
        f"{shared} before the samples, half of the samples, tolerance 1",
        f"{shared} before the samples, at least 3 valid, tolerance 1",
        f"{shared} after the samples, half of the samples, tolerance 1, early stopping",
    ]
    alike = designs_apart([one, replace(one, wordings=("w",))]).values()
    assert [text.rpartition(" ")[2] for text in alike] == ["(1)", "(2)"]
    assert designs_apart([]) == {}


def test_shares_of_any_label_are_of_dependent_cases_where_they_are() -> None:
    once = labelled({"good": 6, "bad": 3})
    [apart], [again] = run_report(once).summaries, run_report([*once, *once]).summaries
    first, second = apart.rate_of("bad"), again.rate_of("bad")
    assert first is not None
    assert second is not None
    assert (second.successes, second.trials, second.value) == (6, 18, first.value)
    assert second.high - second.low >= first.high - first.low
    shown = f"[{100 * second.low:.1f}, {100 * second.high:.1f}] of 18"
    told = run_report([*once, *once]).to_markdown()
    assert f"bad 33.3 of 18<br>{shown}".replace("[", "&#91;").replace("] of 18", "&#93;") in told
    assert f"| decided bad | 33.3 % {shown} |" in told.replace("&#91;", "[").replace("&#93;", "]")


def test_a_score_has_a_share_too() -> None:
    [summary] = run_report([case(f"c{n}", [4 if n else 5] * 3, rule_name="mode") for n in range(4)]).summaries
    assert summary.shares == {}
    assert str(summary.rate_of(4)).endswith("(3/4)")
    assert str(summary.rate_of(9)).endswith("(0/4)")


def test_what_anchors_a_judge_in_words() -> None:
    assert anchor_text(None, None) == "uncalibrated: how often this rule is right was not measured"
    assert anchor_text(calibration(), EXPIRED) == (
        "uncalibrated: the calibration on human_labeled_set_v1 is expired: rule changed"
    )
