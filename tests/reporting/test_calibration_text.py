"""The calibration card as text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.measured import calibration
from support.report_scenes import typical

from judgeharness_integrations.analysis.calibration import CriterionCalibration, Judged, measure_calibration
from judgeharness_integrations.reporting import calibration_text
from judgeharness_integrations.reporting.calibrationtext import calibrated_rates
from judgeharness_integrations.verdictlog.row import Verdict

HOSTILE = "\x1b[31mloud\n"


def card(measured: CriterionCalibration) -> list[str]:
    return list(calibration_text(calibration(criteria={"verdict": measured})))


def judged(gold: Verdict, verdict: Verdict, confidence: float | None = None, cluster: str | None = None) -> Judged:
    return Judged(gold=gold, verdict=verdict, status="decided", confidence=confidence, cluster=cluster)


def test_a_graded_criterion_has_specificity_and_no_rates_of_each_class() -> None:
    lines = card(measure_calibration([judged("PASS", "PASS"), judged("FAIL", "PASS"), judged("FAIL", "FAIL")]))
    assert lines[1] == "  n=3"
    assert "    specificity 0.500 [0.095, 0.905] (1/2)" in lines
    assert "    AC1 0.333 [-0.994, 0.998] (n=3)" in lines
    assert not any("class" in line for line in lines)
    few = "1 labelled items are 'PASS': fewer than 5 tell no interval"
    assert lines[-1] == f"    macro F1 0.667 (n=3), no interval: {few}"


def test_several_labels_have_rates_of_each_class() -> None:
    lines = card(measure_calibration([judged("A", "A"), judged("B", "A"), judged(HOSTILE, HOSTILE)]))
    assert "    class A: precision 0.500 [0.095, 0.905] (1/2), recall 1.000 [0.207, 1.000] (1/1)" in lines
    assert "    class B: precision none, recall 0.000 [0.000, 0.793] (0/1)" in lines
    assert any(line.startswith("    class [31mloud: precision 1.000") for line in lines)
    assert lines[-1].startswith("    macro F1 0.556 ")
    assert "(n=3) over 3 labels, no interval: 1 labelled items are" in lines[-1]
    assert "\x1b" not in lines[-1]


def test_many_classes_are_counted() -> None:
    lines = card(measure_calibration([judged(f"label {number:02}", f"label {number:02}") for number in range(25)]))
    assert sum(line.startswith("    class ") for line in lines) == 20
    assert "    and 5 more labels, in the JSON" in lines
    assert card(measure_calibration([judged(frozenset(), frozenset())]))[-1].startswith("    gold {}")
    empty = card(measure_calibration([judged(frozenset(), frozenset()), judged(frozenset(), frozenset("a"))]))
    alone = "every label and decision is 'a': nothing tells how the others fare"
    assert empty[-1] == f"    macro F1 0.000 (n=2) over 1 labels, no interval: {alone}"
    enough = [judged(label, label) for label in "AB" for _ in range(5)]
    assert card(measure_calibration(enough))[-1].endswith("1.000] (n=10) over 2 labels")


def test_a_positive_label_among_none_has_no_macro_f1() -> None:
    nothing = measure_calibration([])
    assert card(nothing)[1:] == ["  n=0"]


@pytest.mark.parametrize(("steps", "shown"), [(3, 3), (5, 5), (9, 5)])
def test_a_few_points_of_the_curve_are_shown(steps: int, shown: int) -> None:
    items = [judged("PASS", "PASS" if step % 2 else "FAIL", step / 16) for step in range(1, steps + 1)]
    lines = card(measure_calibration([*items, judged("FAIL", "FAIL"), judged("FAIL", "FAIL")]))
    points = [line for line in lines if line.startswith("      consistency >= ")]
    assert len(points) == shown
    assert points[0].startswith(
        f"      consistency >= {steps / 16:.3f}: coverage {1 / (steps + 2):.3f} (1/{steps + 2})"
    )
    assert f"coverage {steps / (steps + 2):.3f} ({steps}/{steps + 2}), accuracy" in points[-1]
    head = next(line for line in lines if line.startswith("    risk-coverage: AURC "))
    assert f"over {steps} decisions of {steps + 2} items, 2 decisions without a consistency not covered" in head


def test_the_curve_says_that_a_threshold_read_off_it_keeps_no_promise() -> None:
    two = [judged("PASS", "PASS", 1.0), judged("PASS", "FAIL", 0.5)]
    assert any(
        "a threshold read off here keeps no promise: in 41 % of studies" in line
        for line in card(measure_calibration(two))
    )
    assert not any("threshold" in line for line in card(measure_calibration(two[:1])))


def test_clusters_are_counted_and_one_of_them_has_no_error() -> None:
    rows = [("PASS", "PASS"), ("FAIL", "FAIL"), ("PASS", "FAIL")]
    lines = card(measure_calibration([judged(*row, cluster="c") for row in rows]))
    assert lines[1] == "  n=3 in 1 clusters"
    assert any(line.endswith("(SE none, n=3)") for line in lines)


def test_scores_say_which_measure_is_undefined_and_why() -> None:
    lines = card(measure_calibration([judged(0.5, 8), judged(0.1, 3), judged(0.9, 7)]))
    assert "    quadratic kappa none (gold scores lie in 0.1 to 0.9, decisions in 3 to 8: no common scale)" in lines
    assert any(line.startswith("    Spearman 0.500 [") for line in lines)
    constant = card(measure_calibration([judged(1, 3), judged(2, 3)]))
    assert "    Spearman none (the decided scores never vary)" in constant
    assert "    Kendall tau-b none (the decided scores never vary)" in constant
    assert "    mean absolute error 2.000, bias +2.000 (n=1)" in card(measure_calibration([judged(1, 3)]))


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
        "verdict: calibrated_precision none, calibrated_recall 0.000 [0.000, 0.793] (0/1), n=2"
    ]
    scored = replace(section.calibration, criteria={"verdict": measure_calibration(scores)})
    (line,) = calibrated_rates(replace(section, calibration=scored))
    assert line.startswith("verdict: calibrated on n=2: mean absolute error 0.500")
    assert list(calibrated_rates(replace(section, calibration_state=None))) == []
