"""The calibration card as text."""

from __future__ import annotations

import pytest
from support.measured import calibration

from judgeharness_integrations.calibration import CriterionCalibration, Judged, measure_calibration
from judgeharness_integrations.reporting import calibration_text
from judgeharness_integrations.verdictlog.row import Verdict

HOSTILE = "\x1b[31mloud\n"


def card(measured: CriterionCalibration) -> list[str]:
    return list(calibration_text(calibration(criteria={"verdict": measured})))


def judged(gold: Verdict, verdict: Verdict, confidence: float | None = None, cluster: str | None = None) -> Judged:
    return Judged(gold=gold, verdict=verdict, status="decided", confidence=confidence, cluster=cluster)


def test_a_graded_criterion_has_specificity_and_no_rates_of_each_class() -> None:
    lines = card(measure_calibration([judged("PASS", "PASS"), judged("FAIL", "PASS"), judged("FAIL", "FAIL")]))
    assert "specificity 0.500 [0.095, 0.905] (1/2)" in lines[1]
    assert "; AC1 0.333 [-1.000, 1.000] (n=3)" in lines[1]
    assert not any("class" in line for line in lines)
    assert lines[-1] == "    macro F1 0.667 [0.000, 1.000] (n=3)"


def test_several_labels_have_rates_of_each_class() -> None:
    lines = card(measure_calibration([judged("A", "A"), judged("B", "A"), judged(HOSTILE, HOSTILE)]))
    assert "    class A: precision 0.500 [0.095, 0.905] (1/2), recall 1.000 [0.207, 1.000] (1/1)" in lines
    assert "    class B: precision none, recall 0.000 [0.000, 0.793] (0/1)" in lines
    assert any(line.startswith("    class [31mloud: precision 1.000") for line in lines)
    assert lines[-1].startswith("    macro F1 0.556 ")
    assert lines[-1].endswith(" (n=3) over 3 labels")


def test_many_classes_are_counted() -> None:
    lines = card(measure_calibration([judged(f"label {number:02}", f"label {number:02}") for number in range(25)]))
    assert sum(line.startswith("    class ") for line in lines) == 20
    assert "    and 5 more labels, in the JSON" in lines
    assert card(measure_calibration([judged(frozenset(), frozenset())]))[-1].startswith("    gold {}")
    empty = card(measure_calibration([judged(frozenset(), frozenset()), judged(frozenset(), frozenset("a"))]))
    assert empty[-1] == "    macro F1 0.000 (n=2) over 1 labels"


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


def test_clusters_are_counted_and_one_of_them_has_no_error() -> None:
    rows = [("PASS", "PASS"), ("FAIL", "FAIL"), ("PASS", "FAIL")]
    lines = card(measure_calibration([judged(*row, cluster="c") for row in rows]))
    assert lines[1].startswith("  n=3 in 1 clusters; precision 1.000")
    assert "(SE none, n=3)" in lines[1]


def test_scores_say_which_measure_is_undefined_and_why() -> None:
    (line,) = card(measure_calibration([judged(0.5, 8), judged(0.1, 3), judged(0.9, 7)]))[1:]
    assert "quadratic kappa none (gold scores lie in 0.1 to 0.9, decisions in 3 to 8: no common scale)" in line
    assert "Spearman 0.500 [" in line
    constant = card(measure_calibration([judged(1, 3), judged(2, 3)]))[1]
    assert "Spearman none (the decided scores never vary); Kendall tau-b none (the decided" in constant
    alone = card(measure_calibration([judged(1, 3)]))[1]
    assert "mean absolute error 2.000, bias +2.000 (n=1)" in alone
