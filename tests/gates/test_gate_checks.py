from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from support.gated import case, labelled, passes, scores
from support.measured import EXPIRED, VALID, calibration, measured
from support.rows import both_orders, sampled

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import PLANNED_SAMPLES
from judgeharness_integrations.analysis.calibration import Judged, measure_calibration
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.gates import Gate, GateCheck, Gates, check_gates
from judgeharness_integrations.analysis.gates.checking import more_cases
from judgeharness_integrations.analysis.gates.gate import parse_expression
from judgeharness_integrations.analysis.gates.metrics import Measured, measured_rate
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.reading import results_of_log
from judgeharness_integrations.analysis.statistics.proportions import (
    Tally,
    clopper_pearson,
    exact_interval,
    wilson,
    wilson_of,
)


def only(report: RunReport, gate: str, **options: Any) -> GateCheck:
    """The one check of one gate."""
    (check,) = check_gates(report, Gates(fail_under=(gate,), **options)).checks
    return check


def test_the_lower_end_of_the_interval_decides() -> None:
    check = only(passes(93, 7), "pass_rate>=0.9")
    assert (check.status, check.value, check.n) == ("failed", 0.93, 100)
    assert (check.low, check.high) == pytest.approx(binomtest(93, 100).proportion_ci())
    assert check.reason == (
        "pass_rate 0.930 [0.861, 0.971] over 100 cases: its exact lower end is below 0.9; with this share, about "
        "291 more cases would settle it"
    )
    assert check.more_cases == 291
    assert only(passes(93, 7), "pass_rate>=0.86").status == "passed"


def test_the_upper_end_decides_where_less_is_better() -> None:
    report = passes(93, 7)
    assert only(report, "rate(FAIL)<=0.1").status == "failed"
    passed = only(report, "rate(FAIL)<=0.14")
    assert passed.status == "passed"
    assert passed.reason.endswith("its exact upper end is not above 0.14")


def test_a_share_that_is_itself_too_low_needs_no_more_cases() -> None:
    check = only(passes(80, 20), "pass_rate>=0.9")
    assert (check.status, check.more_cases) == ("failed", None)
    assert check.reason.endswith("over 100 cases is itself below 0.9")


def test_on_point_estimates_the_value_decides_and_that_is_said() -> None:
    report = check_gates(passes(93, 7), Gates(fail_under=("pass_rate>=0.9", "pass_rate>=1"), point_estimates=True))
    assert [check.status for check in report.checks] == ["passed", "failed"]
    assert all("the value alone is" in check.reason for check in report.checks)
    assert (report.point_estimates, report.basis) == (True, "on point estimates")
    assert report.checks[1].more_cases is None


def test_abstentions_and_cases_without_a_grade_are_not_positive() -> None:
    cases = [*labelled({"PASS": 6}), case("t", ["PASS", "FAIL", None]), case("n", [None, None, "PASS"])]
    check = only(run_report(cases, planned={"judge": 10}), "pass_rate>=0.1")
    assert (check.value, check.n) == (0.6, 10)
    assert "(4 of 10 are not decided and count as not PASS)" in check.reason
    for gate, value in {"coverage>=0.1": 0.6, "abstention>=0.01": 0.1, "not_graded<=0.9": 0.3}.items():
        assert only(run_report(cases, planned={"judge": 10}), gate).value == value


FAILS = [None, None, None]


@pytest.mark.parametrize("sequential", [False, True])
def test_a_case_without_a_grade_counts_against_a_gate_on_abstention(sequential: bool) -> None:  # noqa: FBT001 - a case of the table
    report = run_report([case(f"c{n}", ["PASS"] * 3 if n % 40 == 0 else FAILS) for n in range(200)])
    check = only(report, "abstention<=0.1", sequential=sequential)
    assert (check.status, check.value) == ("failed", 0.975)
    assert "195 of 200 are not graded and count as abstained" in check.reason


@pytest.mark.parametrize("gate", ["accuracy>=0.5", "consistency>=0.5"])
def test_the_first_cases_of_a_run_that_was_cut_off_do_not_speak_for_the_others(gate: str) -> None:
    first = [case(f"c{n}", ["PASS"] * 3, gold="PASS") for n in range(120)]
    check = only(run_report(first, planned={"judge": 200}, state="budget_exhausted"), gate)
    assert (check.status, check.value) == ("not_measured", None)
    assert "80 of 200 cases have no answer, and those that have one are not drawn at random" in check.reason
    assert only(run_report(first, planned={"judge": 120}), gate).status == "passed"


def test_a_log_of_a_run_that_was_cut_off_is_not_said_to_be_all_asked() -> None:
    first = [case(f"c{n}", ["PASS"] * 3) for n in range(3)]
    assert run_report(first, planned={"judge": 5}).state_text == "unfinished, 2 of 5 cases were never asked"


@pytest.mark.parametrize(
    ("gate", "reason"),
    [
        ("consistency>=0.6", "only 9 of 20 cases hold two valid samples, fewer than half"),
        ("agreement>=0.6", "only 9 of 20 cases hold two valid samples, fewer than half"),
        ("accuracy>=0.5", "only 9 of 20 cases are graded, fewer than half"),
        ("mean_score>=0.5", "only 9 of 20 cases are graded, fewer than half"),
    ],
)
def test_what_fewer_than_half_of_the_cases_have_is_not_measured(gate: str, reason: str) -> None:
    def graded(count: int) -> RunReport:
        scored = gate.startswith("mean_score")
        good = (1.0, 1.5) if scored else ("PASS", "PASS")
        facts: dict[str, Any] = {"rule_name": "median"} if scored else {"gold": "PASS"}
        given = [[good[n % 2]] * 3 if n < count else FAILS for n in range(20)]
        return run_report([case(f"c{n}", one, **facts) for n, one in enumerate(given)])

    check = only(graded(9), gate)
    assert (check.status, check.reason.split(": ", 1)[1]) == ("not_measured", reason)
    assert only(graded(10), gate).status == "passed"


def test_the_case_is_the_unit_and_cases_of_a_cluster_depend_on_each_other() -> None:
    alone = only(passes(93, 7), "pass_rate>=0.8")
    assert alone.status == "passed"  # 300 samples tell no more than their 100 cases
    together = run_report(
        [case(f"c{n}", ["PASS" if n < 93 else "FAIL"] * 3, cluster=f"k{n // 10}") for n in range(100)]
    )
    clustered = only(together, "pass_rate>=0.8")
    assert clustered.value == alone.value
    assert (clustered.low or 1) < (alone.low or 0)
    one = run_report([case(f"c{n}", ["PASS"] * 3, cluster="k") for n in range(50)])
    check = only(one, "pass_rate>=0.8")
    assert (check.status, check.low, check.high, check.more_cases) == ("failed", 0.0, 1.0, None)


def test_accuracy_is_over_decided_cases_with_gold() -> None:
    cases = [case(f"c{n}", ["A"] * 3, gold="A" if n else "B") for n in range(20)]
    cases += [case("x", ["A"] * 3), case("t", ["A", "B", None], gold="A")]
    check = only(run_report(cases), "accuracy>=0.7")
    assert (check.value, check.n, check.status) == (0.95, 20, "passed")
    missing = only(passes(5, 5), "accuracy>=0.7")
    assert (missing.status, missing.value, missing.n) == ("not_measured", None, 0)
    assert missing.reason == "accuracy was not measured: no decided case holds a gold label"


def test_accuracy_on_other_cases_than_those_without_a_label_is_not_that_of_the_run() -> None:
    agreed, split = ["PASS"] * 3, ["PASS", "PASS", "FAIL"]
    sure = [case(f"l{n}", agreed, gold="PASS") for n in range(40)]
    doubtful = [case(f"u{n}", split) for n in range(60)]
    for sequential in (False, True):
        check = only(run_report([*sure, *doubtful]), "accuracy>=0.5", sequential=sequential)
        assert check.status == "not_measured"
        assert check.reason == (
            "accuracy was not measured: the cases here without a label are not like the labelled ones in consistency "
            "of verdict (0.6: 0 % of 40 labelled cases, 100 % of 60 here, p <.001); accuracy on them is not that of "
            "the run: label a random sample of the cases"
        )
    drawn = [case(f"m{n}", split, gold="PASS") for n in range(60)]
    others = [case(f"v{n}", agreed) for n in range(40)]
    assert only(run_report([*sure, *drawn, *others, *doubtful]), "accuracy>=0.5").status == "passed"
    assert only(run_report([*sure, *doubtful[:19]]), "accuracy>=0.5").status == "passed"  # too few to tell


def test_a_judge_that_never_answered_does_not_pass_for_one_that_seldom_abstains() -> None:
    report = run_report([case(f"c{n}", [None] * 3) for n in range(50)])
    for sequential in (False, True):
        check = only(report, "abstention<=0.1", sequential=sequential)
        assert (check.status, check.value) == ("not_measured", None)
        assert check.reason == "abstention was not measured: no sample holds a verdict"


def test_consistency_and_agreement_are_means_over_cases() -> None:
    cases = [case(f"c{n}", ["PASS", "PASS", "FAIL" if n < 10 else "PASS"]) for n in range(30)]
    report = run_report([*cases, case("none", [None, None, None])])
    consistency = only(report, "consistency>=0.5")
    assert consistency.value == pytest.approx((20 + 10 * 2 / 3) / 30)
    assert "(1 of 31 cases have none)" in consistency.reason
    assert only(report, "agreement>=0.5").value == pytest.approx((20 + 10 / 3) / 30)
    perfect = only(passes(40, 0), "consistency>=0.8")
    assert (perfect.status, perfect.value, perfect.high) == ("passed", 1.0, 1.0)


def test_ten_coin_tosses_do_not_show_less_agreement_than_coins_have() -> None:
    """Splits of 4:4 and 5:3 vary so little that Wilson's interval ended at .48, where a coin has .5."""
    split = [4, 4, 4, 5, 4, 3, 4, 5, 4, 4]
    report = run_report([case(f"c{n}", ["PASS"] * k + ["FAIL"] * (8 - k)) for n, k in enumerate(split)])
    found = only(report, "agreement<=0.49")
    assert (found.status, found.value) == ("failed", pytest.approx((7 * 12 + 3 * 13) / 280))
    assert found.low >= 12 / 28  # what an even split has
    consistency = only(report, "consistency<=0.7")
    assert 0.5 <= consistency.low < consistency.value < 0.6 < consistency.high < 0.8


def test_one_sample_a_case_shows_no_consistency() -> None:
    report = passes(20, 0, repetitions=1, perturbations=("none",))
    single = run_report([case(f"c{n}", ["PASS"], perturbations=("none",), repetitions=1) for n in range(20)])
    assert only(report, "pass_rate>=0.5").status == "passed"
    assert "one sample a case" in only(single, "consistency>=0.5").reason
    assert only(single, "agreement>=0.5").reason == "agreement was not measured: no case holds two valid samples"


def test_what_early_stopping_hides_is_not_measured() -> None:
    design = measured(sampled(["PASS"] * 2), perturbations=("none",), repetitions=4).design
    stopped = [
        measure(
            [replace(row, attributes={PLANNED_SAMPLES: 4}) for row in sampled(["PASS"] * 3, case_id=f"c{n}")],
            case_id=f"c{n}",
            judge="judge",
            design=replace(design, curtail=True),
            planned=4,
            remaining=(False,),
        )
        for n in range(20)
    ]
    report = run_report(stopped)
    assert report.summaries[0].replay.curtailed == 20
    assert "early stopping" in only(report, "consistency>=0.5").reason
    assert "early stopping" in only(report, "agreement>=0.5").reason
    assert only(report, "pass_rate>=0.5").status == "passed"


def test_a_mean_score_has_a_t_interval_and_too_few_scores_have_none() -> None:
    values = [6.0, 7.0, 8.0, 9.0] * 10
    check = only(scores(values), "mean_score>=7.4")
    assert check.value == 7.5
    assert check.status == "failed"
    assert "with this mean and spread, about" in check.reason
    assert only(scores(values), "mean_score>=7").status == "passed"
    for constant in ([8.0] * 10, [8.0]):
        equal = only(scores(constant), "mean_score>=7")
        assert (equal.status, equal.value) == ("not_measured", None)
        assert "has no interval" in equal.reason
        assert only(scores(constant), "mean_score>=7", point_estimates=True).status == "passed"
    undecided = run_report(
        [
            *scores(values).results,
            case("n", [None, None, 3], rule_name="median"),
            case("m", [None] * 3, rule_name="median"),
        ]
    )
    assert "(2 of 42 are not decided and do not count)" in only(undecided, "mean_score>=7").reason
    nothing = run_report([case("n", [None, None, 3], rule_name="median")])
    assert only(nothing, "mean_score>=7").reason == "mean_score was not measured: no case is decided"


def test_flips_are_counted_over_cases_that_show_them() -> None:
    def pairs(count: int, **common: Any) -> list[Any]:
        rows = [both_orders("AA", "AB" if n % 4 == 0 else "AA", case_id=f"c{n}", **common) for n in range(count)]
        facts: dict[str, Any] = {"perturbations": ("none", "position_swap"), "repetitions": 2}
        return [measured(part, case_id=f"c{n}", rule_name="swap_consensus", **facts) for n, part in enumerate(rows)]

    report = run_report(pairs(40))
    check = only(report, "position_flip<=0.3")
    flip = report.summaries[0].flips[0]
    assert (check.value, check.n) == (flip.value, 40)
    assert (check.low, check.high) == pytest.approx(clopper_pearson(5, 40))
    assert only(report, "flip_rate(position_swap)<=0.3").value == check.value
    clustered = run_report(
        [
            replace(one, rows=tuple(replace(row, attributes={"cluster": f"k{n % 8}"}) for row in one.rows))
            for n, one in enumerate(pairs(40))
        ]
    )
    wider = only(clustered, "position_flip<=0.3")
    assert wider.value == check.value
    assert (wider.high or 0) > (check.high or 1)
    alone = run_report(
        [replace(one, rows=tuple(replace(row, attributes={"cluster": "k"}) for row in one.rows)) for one in pairs(4)]
    )
    assert (only(alone, "position_flip<=0.9").low, only(alone, "position_flip<=0.9").high) == (0.0, 1.0)
    with pytest.raises(UsageError, match="the perturbations asked are position_swap"):
        check_gates(report, ["flip_rate(format_change)<=0.2"])
    with pytest.raises(UsageError, match="no perturbation was asked"):
        check_gates(passes(3, 3), ["position_flip<=0.2"])
    lost = measured(
        both_orders(["A"], [None]), rule_name="majority", perturbations=("none", "position_swap"), repetitions=1
    )
    assert "to compare" in only(run_report([lost]), "position_flip<=0.2").reason


def test_precision_and_recall_come_from_a_valid_calibration_alone() -> None:
    pairs = [("PASS", "PASS")] * 50 + [("FAIL", "FAIL")] * 40 + [("FAIL", "PASS")] * 2
    good = calibration(*pairs)
    report = passes(9, 1, calibration=good, calibration_state=VALID)
    precision = only(report, "precision>=0.8")
    assert (precision.status, precision.value, precision.n) == ("passed", 50 / 52, 52)
    assert "over 52 labelled cases of human_labeled_set_v1" in precision.reason
    assert only(report, "recall>=0.8").value == 1.0
    for facts, why in (
        ({}, "uncalibrated"),
        ({"calibration": good, "calibration_state": EXPIRED}, "is expired: rule changed"),
        ({"calibration": calibration(*pairs, source="model:o3"), "calibration_state": VALID}, "a model's"),
        (
            {"calibration": calibration(criteria={"tone": measure_calibration([])}), "calibration_state": VALID},
            "holds no label of it",
        ),
    ):
        missing = passes(9, 1, **facts)
        assert why in only(missing, "precision>=0.8").reason
        assert only(missing, "precision>=0.8").status == "not_measured"
        (required,) = check_gates(missing, Gates(require_calibration=True)).checks
        assert (required.status, required.gate) == ("failed", "require_calibration")
        assert why in required.reason
    (required,) = check_gates(report, Gates(require_calibration=True)).checks
    assert (required.status, required.n) == ("passed", 92)
    undefined = passes(9, 1, calibration=calibration(("FAIL", "FAIL")), calibration_state=VALID)
    assert "undefined" in only(undefined, "precision>=0.8").reason


def test_a_gate_on_one_of_several_candidates_looks_at_and_names_the_level_of_all_together() -> None:
    pairs = [("PASS", "PASS")] * 50 + [("FAIL", "FAIL")] * 40 + [("FAIL", "PASS")] * 2
    items = [Judged(gold=gold, verdict=verdict, status="decided") for gold, verdict in pairs]
    measured_of_three = measure_calibration(items, candidates=3)
    chosen = calibration(criteria={"verdict": measured_of_three}, candidates=3)
    report = passes(9, 1, calibration=chosen, calibration_state=VALID)
    found = check_gates(report, ["precision>=0.8", "balanced_accuracy>=0.99", "pass_rate>=0.5"])
    precision, balanced, rate = found.checks
    level = 0.95 ** (1 / 3)
    assert (precision.low, precision.high) == pytest.approx(clopper_pearson(50, 52, confidence=level))
    assert "] at 98.30 %, as one of several candidates, over 52 labelled cases" in precision.reason
    assert [one.confidence for one in (precision, balanced, rate)] == [level, level, 0.95]
    assert found.basis == "on 95 % and 98.30 % intervals over cases"
    (missed,) = check_gates(report, ["precision>=0.9"]).checks
    enough = missed.n + (missed.more_cases or 0)
    before, then = (clopper_pearson(n * 50 / 52, n, confidence=level)[0] for n in (enough - 1, enough))
    assert (missed.status, missed.low, before < 0.9 <= then) == ("failed", precision.low, True)


def test_a_gate_is_about_the_criteria_that_have_its_metric() -> None:
    mixed = run_report([*labelled({"PASS": 30}, judge="a"), *scores([5.0, 6.0] * 10, judge="b").results])
    assert [check.judge for check in check_gates(mixed, ["pass_rate>=0.5"]).checks] == ["a"]
    assert [check.judge for check in check_gates(mixed, ["mean_score>=5"]).checks] == ["b"]
    assert [check.judge for check in check_gates(mixed, ["coverage>=0.5"]).checks] == ["a", "b"]
    for gate in ("rate(PASS)>=0.1", "accuracy>=0.1", "agreement>=0.1", "precision>=0.1", "pass_rate>=0.1"):
        assert [check.judge for check in check_gates(mixed, [gate]).checks] == ["a"]
    with pytest.raises(UsageError, match=r"is about nothing in this report: verdict of judge holds scores"):
        check_gates(scores([5.0, 6.0]), ["pass_rate>=0.5"])
    with pytest.raises(UsageError, match=r"verdict of judge holds the labels PASS, FAIL"):
        check_gates(passes(3, 0), ["mean_score>=5"])
    with pytest.raises(UsageError, match="holds the labels good, bad"):
        check_gates(run_report(labelled({"good": 2, "bad": 1})), ["pass_rate>=0.5"])


def test_pass_at_turns_scores_into_passes() -> None:
    report = scores([5.0, 8.0] * 20, rule_name="median(pass_at=7)")
    check = only(report, "pass_rate>=0.3")
    assert (check.value, check.status) == (0.5, "passed")
    with pytest.raises(UsageError, match="about nothing"):
        check_gates(report, ["mean_score>=5"])


def test_a_label_nobody_gave_is_not_measured_and_a_known_one_is_zero() -> None:
    assert only(passes(60, 0), "rate(FAIL)<=0.1").status == "passed"
    unknown = only(run_report(labelled({"good": 40})), "rate(bad)<=0.1")
    assert (unknown.status, unknown.reason) == (
        "not_measured",
        "rate(bad) was not measured: no sample says bad; there are good",
    )


def test_where_no_sample_holds_a_verdict_nothing_passes() -> None:
    report = run_report([case(f"c{n}", [None] * 3) for n in range(50)])
    gates = Gates(
        fail_under=("pass_rate>=0.1", "rate(FAIL)<=0.5", "mean_score>=1", "consistency>=0.1", "accuracy>=0.1")
    )
    checks = check_gates(report, gates).checks
    assert [check.status for check in checks] == ["not_measured"] * 5
    assert only(report, "not_graded<=0.5").status == "failed"


def test_a_judge_without_a_single_case_never_passes() -> None:
    report = run_report(labelled({"PASS": 40}), planned={"judge": 40, "other": 40})
    checks = check_gates(report, Gates(fail_under=("pass_rate>=0.5",), require_calibration=True)).checks
    assert [(check.judge, check.status) for check in checks] == [
        ("judge", "passed"),
        ("other", "not_measured"),
        ("judge", "failed"),
        ("other", "failed"),
    ]
    (empty,) = check_gates(run_report([]), ["pass_rate>=0.5"]).checks
    assert (empty.judge, empty.criterion, empty.status) == ("", "", "not_measured")
    assert not check_gates(run_report([]), ["pass_rate>=0.5"]).passed


def test_a_gate_may_be_narrowed_to_a_judge_and_a_criterion() -> None:
    report = run_report([*labelled({"PASS": 30}, judge="a"), *labelled({"FAIL": 30}, judge="b")])
    narrow = check_gates(report, [Gate.of("pass_rate>=0.5", judge="a", criterion="verdict")])
    assert narrow.passed
    assert [check.judge for check in narrow.checks] == ["a"]
    assert not check_gates(report, ["pass_rate>=0.5"]).passed
    with pytest.raises(UnknownNameError, match="judge of the gate"):
        check_gates(report, [Gate.of("pass_rate>=0.5", judge="c")])
    with pytest.raises(UnknownNameError, match="criterion of the gate"):
        check_gates(report, [Gate.of("pass_rate>=0.5", criterion="verdicts")])


def test_two_designs_of_a_judge_are_checked_apart() -> None:
    report = run_report([*labelled({"PASS": 30}), *labelled({"FAIL": 20}, rule_name="strict_majority")])
    assert [check.value for check in check_gates(report, ["pass_rate>=0.5"]).checks] == [1.0, 0.0]


def test_a_rule_chosen_after_the_samples_is_called_exploratory() -> None:
    check = only(passes(93, 7, rule_fixed="after"), "pass_rate>=0.5")
    assert check.status == "passed"
    assert check.reason.endswith("; exploratory: the rule was chosen after the samples")


def test_a_number_that_misses_the_bar_never_looks_like_it() -> None:
    low = clopper_pearson(93, 100)[0]
    check = only(passes(93, 7), f"pass_rate>={low + 1e-6:.9f}")
    shown = check.reason.partition(" [")[2].split(",")[0]
    assert float(shown) < low + 1e-6


def test_the_report_is_json() -> None:
    found = check_gates(passes(93, 7), ["pass_rate>=0.9"]).to_dict()
    assert found["schema"] == "judgeharness.gates/1"
    assert (found["passed"], found["point_estimates"], len(found["checks"])) == (False, False, 1)
    assert found["checks"][0]["more_cases"] == 291


@given(
    st.integers(1, 400),
    st.integers(0, 400),
    st.floats(0.01, 0.99),
    st.sampled_from([">=", "<="]),
    st.sampled_from([1, 0.3]),
)
def test_with_so_many_more_cases_of_the_same_share_the_gate_passes_and_with_fewer_it_does_not(
    hits: int, misses: int, bar: float, operator: str, each: float
) -> None:
    n, expression = hits + misses, parse_expression(f"coverage{operator}{bar!r}")
    low, high = exact_interval(hits / n, n * each)
    more = more_cases(expression, Measured(value=hits / n, low=low, high=high, n=n, worth=n * each))
    if more is None:
        assert math.isclose(hits / n, bar, rel_tol=1e-4) or not expression.holds(hits / n)
        return

    def passes_with(cases: int) -> bool:
        return expression.holds(exact_interval(hits / n, cases * each)[0 if expression.wants_high else 1])

    assert passes_with(n + more)
    assert more == 1 or not passes_with(n + more - 1)


@pytest.mark.parametrize("cases", [10, 55, 210, 1000])
@pytest.mark.parametrize("bar", [0.02, 0.17, 0.29, 0.5, 0.71, 0.83, 0.98])
def test_a_share_at_the_bar_passes_in_at_most_one_study_of_forty(bar: float, cases: int) -> None:
    hits = np.arange(cases + 1)
    rates = [measured_rate(Rate.of(one, cases)) for one in hits.tolist()]
    chances = binom.pmf(hits, cases, bar)
    assert chances[[(one.low or 0) >= bar for one in rates]].sum() <= 0.025
    assert chances[[(one.high or 0) <= bar for one in rates]].sum() <= 0.025


def test_cases_of_clusters_have_the_exact_interval_of_what_they_are_worth() -> None:
    together = run_report(
        [case(f"c{n}", ["PASS" if n < 93 else "FAIL"] * 3, cluster=f"k{n // 10}") for n in range(100)]
    )
    tally = Tally()
    for n in range(100):
        tally.add(hit=n < 93, cluster=n // 10)
    check = only(together, "pass_rate>=0.8")
    assert (check.low, check.high) == pytest.approx(tally.exact_interval())
    assert check.more_cases is not None


def test_of_wilsons_interval_of_a_mean_the_bar_gives_how_many_more() -> None:
    gate = parse_expression("consistency>=0.85")
    low, high = wilson(90, 100) or (0, 0)
    more = more_cases(gate, Measured(value=0.9, low=low, high=high, n=100)) or 0
    assert (wilson_of(0.9, 100 + more, 1.96)[0] >= 0.85, wilson_of(0.9, 98 + more, 1.96)[0] >= 0.85) == (True, False)
    assert more_cases(gate, Measured(value=0.9, low=0.0, high=1.0, n=2)) is None


def test_a_column_that_tells_labelled_cases_from_all_others_is_said_beside_accuracy() -> None:
    rows = [
        replace(row, attributes={"stratum": "easy" if n < 60 else "hard"}, gold="PASS" if n < 60 else None)
        for n in range(120)
        for row in sampled(["PASS", "PASS", "PASS"], case_id=f"c{n}")
    ]
    report = run_report(results_of_log(rows, "majority"))
    told = "stratum is easy in all cases with a label and hard in all others: it holds for easy alone"
    check = only(report, "accuracy>=0.8")
    assert (check.status, told in check.reason) == ("passed", True)
    assert report.judges[0].alerts == (f"accuracy is of some cases: {told}",)
    mixed = [replace(row, attributes={"stratum": f"s{n % 2}"}) for n, row in enumerate(rows)]
    assert run_report(results_of_log(mixed, "majority")).judges[0].alerts == ()


def copied(per: int, *, bad: int = 2, clusters: int = 30) -> RunReport:
    """Clusters of so many cases, which are copies of each other."""
    verdicts = ["FAIL" if n < bad else "PASS" for n in range(clusters)]
    return run_report(
        [case(f"c{n}-{k}", [one] * 3, cluster=f"k{n}") for n, one in enumerate(verdicts) for k in range(per)]
    )


def test_what_would_settle_a_gate_is_counted_in_clusters_where_cases_are_copies() -> None:
    alone, together = only(copied(1), "pass_rate>=0.8"), only(copied(10), "pass_rate>=0.8")
    assert (alone.status, together.status) == ("failed", "failed")
    found = re.search(r"about (\d+) more clusters \((\d+) cases, none of them of those there are\)", together.reason)
    assert found is not None
    clusters, cases = map(int, found.groups())
    assert together.more_cases == cases == 10 * clusters
    assert (alone.more_cases or 0) <= clusters <= 2 * (alone.more_cases or 0)


def test_one_more_cluster_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judgeharness_integrations.analysis.gates.checking.more_cases", lambda *_: 3)
    check = only(copied(10), "pass_rate>=0.8")
    assert "about 1 more cluster (10 cases, none of them of those there are) would settle it" in check.reason
    assert check.more_cases == 10
    pairs = [
        Judged(gold=gold, verdict=gold, status="decided", cluster=n // 4) for n, gold in enumerate(["PASS", "FAIL"] * 8)
    ]
    held = calibration(criteria={"verdict": measure_calibration(pairs)})
    report = run_report(
        [replace(case(f"c{n}", ["PASS"] * 3), calibration=held, calibration_state=VALID) for n in range(5)]
    )
    checked = only(report, "recall>=0.95")
    assert checked.status == "failed"
    assert "about 1 more cluster (4 labelled cases of " in checked.reason
