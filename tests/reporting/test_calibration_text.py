"""The calibration card as text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.measured import calibration
from support.report_scenes import typical

from judgeharness_integrations.analysis.calibration import CriterionCalibration, Judged, measure_calibration
from judgeharness_integrations.reporting.calibrationtext import calibrated_rates, calibration_section
from judgeharness_integrations.reporting.terminal import section_lines
from judgeharness_integrations.verdictlog.row import Verdict

HOSTILE = "\x1b[31mloud\n"


def card(measured: CriterionCalibration) -> list[str]:
    """Return the lines, single spaces between cells."""
    lines = section_lines(calibration_section(calibration(criteria={"verdict": measured})))
    return [" ".join(line.split()) for line in lines]


def judged(gold: Verdict, verdict: Verdict, confidence: float | None = None, cluster: str | None = None) -> Judged:
    return Judged(gold=gold, verdict=verdict, status="decided", confidence=confidence, cluster=cluster)


def test_a_graded_criterion_has_specificity_and_no_rates_of_each_class() -> None:
    lines = card(measure_calibration([judged("PASS", "PASS"), judged("FAIL", "PASS"), judged("FAIL", "FAIL")]))
    assert "verdict, 3 labelled cases" in lines
    assert "measure value 95 % of" in lines
    assert "specificity 0.500 [0.095, 0.905] 1 of 2" in lines
    assert "AC1 0.333 [-0.994, 0.998] n=3" in lines
    assert "by label" not in lines
    assert lines[lines.index("decisions by gold label") :][3:] == ["PASS PASS 1", "FAIL PASS 1, FAIL 1"]
    few = "1 labelled items are 'PASS': fewer than 5 give no interval"
    assert "macro F1 0.667 - n=3" in lines
    assert f"- macro F1: over 2 labels, no interval: {few}" in lines


def test_several_labels_have_rates_of_each_class() -> None:
    lines = card(measure_calibration([judged("A", "A"), judged("B", "A"), judged(HOSTILE, HOSTILE)]))
    assert "A 0.500 [0.095, 0.905] 1 of 2 1.000 [0.207, 1.000] 1 of 1" in lines
    assert "B - - - 0.000 [0.000, 0.793] 0 of 1" in lines
    assert any(line.startswith("[31mloud 1.000") for line in lines)
    assert "macro F1 0.556 - n=3" in lines
    assert any(line.startswith("- macro F1: over 3 labels, no interval: 1 labelled items are") for line in lines)
    assert "\x1b" not in "".join(lines)


@pytest.mark.slow
def test_many_classes_are_counted() -> None:
    lines = card(measure_calibration([judged(f"label {number:02}", f"label {number:02}") for number in range(25)]))
    by_label = lines[lines.index("by label") :]
    assert sum(line.startswith("label ") for line in by_label[2:]) == 20
    assert "and 5 more labels, in the JSON" in by_label
    assert "by label" not in card(measure_calibration([judged(frozenset(), frozenset())]))
    empty = card(measure_calibration([judged(frozenset(), frozenset()), judged(frozenset(), frozenset("a"))]))
    alone = "every label and decision is 'a': nothing tells how the others fare"
    assert f"- macro F1: over 1 label, no interval: {alone}" in empty
    enough = card(measure_calibration([judged(label, label) for label in "AB" for _ in range(5)]))
    assert any(line.startswith("macro F1 1.000 [") and line.endswith("1.000] n=10") for line in enough)
    assert "- macro F1: over 2 labels" in enough


def test_a_positive_label_among_none_has_no_macro_f1() -> None:
    lines = card(measure_calibration([]))
    assert lines[1].startswith("judge ")
    assert lines[2:] == ["verdict, 0 labelled cases"]


@pytest.mark.parametrize(("steps", "shown"), [(3, 3), (5, 5), (9, 5)])
def test_a_few_points_of_the_curve_are_shown(steps: int, shown: int) -> None:
    items = [judged("PASS", "PASS" if step % 2 else "FAIL", step / 16) for step in range(1, steps + 1)]
    lines = card(measure_calibration([*items, judged("FAIL", "FAIL"), judged("FAIL", "FAIL")]))
    head = next(place for place, line in enumerate(lines) if line.startswith("risk-coverage: AURC "))
    apart = "2 decisions without a consistency not covered"
    assert f"over {steps} decisions of {steps + 2} items, {apart}" in lines[head]
    points = lines[head + 3 : head + 3 + shown]
    assert points[0].startswith(f"{steps / 16:.3f} 1 of {steps + 2} {1 / (steps + 2):.3f}")
    assert f"{steps} of {steps + 2} {steps / (steps + 2):.3f} 0." in points[-1]
    assert lines[head + 4 + shown].startswith("- a threshold read off here keeps no promise")


def test_the_curve_says_that_a_threshold_read_off_it_keeps_no_promise() -> None:
    two = [judged("PASS", "PASS", 1.0), judged("PASS", "FAIL", 0.5)]
    assert "a threshold read off here keeps no promise: in 41 % of studies" in " ".join(card(measure_calibration(two)))
    assert not any("threshold" in line for line in card(measure_calibration(two[:1])))


def test_clusters_are_counted_and_one_of_them_has_no_error() -> None:
    rows = [("PASS", "PASS"), ("FAIL", "FAIL"), ("PASS", "FAIL")]
    lines = card(measure_calibration([judged(*row, cluster="c") for row in rows]))
    assert "verdict, 3 labelled cases in 1 cluster" in lines
    assert "- kappa: no standard error" in lines


def test_scores_say_which_measure_is_undefined_and_why() -> None:
    lines = card(measure_calibration([judged(0.5, 8), judged(0.1, 3), judged(0.9, 7)]))
    assert "quadratic kappa - -" in lines
    assert "- quadratic kappa: gold scores lie in 0.1 to 0.9, decisions in 3 to 8: no common scale" in lines
    assert any(line.startswith("Spearman 0.500 [") for line in lines)
    constant = card(measure_calibration([judged(1, 3), judged(2, 3)]))
    assert "- Spearman: the decided scores never vary" in constant
    assert "- Kendall tau-b: the decided scores never vary" in constant
    one = card(measure_calibration([judged(1, 3)]))
    assert "mean absolute error 2.000 - n=1" in one
    assert "bias +2.000 - n=1" in one


def test_rates_of_a_calibration_are_of_what_was_judged_alone() -> None:
    (section,) = typical().judges
    assert section.calibration is not None
    labels = [Judged(gold=gold, verdict=None, status="abstained") for gold in ("PASS", "FAIL")]
    scores = [Judged(gold=7.0, verdict=decided, status="decided") for decided in (7.0, 8.0)]
    criteria = {
        "unjudged": measure_calibration(labels, criterion="unjudged"),
        "verdict": measure_calibration(labels, criterion="verdict"),
    }
    anchored = replace(section, calibration=replace(section.calibration, criteria=criteria))
    assert list(calibrated_rates(anchored)) == [
        "verdict: calibrated recall 0.000 [0.000, 0.793] (0 of 1); 2 labelled cases"
    ]
    scored = replace(section.calibration, criteria={"verdict": measure_calibration(scores)})
    (line,) = calibrated_rates(replace(section, calibration=scored))
    assert line.startswith("verdict: calibrated mean absolute error 0.500")
    assert list(calibrated_rates(replace(section, calibration_state=None))) == []
