"""Gates that may be looked at after every case: of a population, of a suite, of scores and of clusters."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.gated import REPEATED, case, labelled, passes, scores
from support.measured import measured
from support.rows import sampled

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.gates import Gate, GateCheck, GateReport, Gates, check_gates
from judgeharness_integrations.analysis.gates.gate import AskingOrder, parse_expression
from judgeharness_integrations.analysis.gates.metrics import CASE_VALUES, METRIC_MEASURES
from judgeharness_integrations.analysis.gates.sequential import Evidence, shuffled, weigh
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.reporting.runsection import markdown_report


def only(report: RunReport, gate: str, **options: Any) -> GateCheck:
    (check,) = check_gates(report, Gates(fail_under=(gate,), sequential=True, **options)).checks
    return check


def test_evidence_about_the_population_is_told_with_its_confidence_sequence() -> None:
    check = only(passes(93, 7), "pass_rate>=0.8")
    assert (check.status, check.value, check.n) == ("passed", 0.93, 100)
    assert check.p_anytime == pytest.approx(1 / 248.7, rel=1e-3)
    assert check.reason == (
        "pass_rate 0.930 [0.825, 0.987] over 100 cases, about the population they are from: settled for it: the "
        "evidence is 249 to 1, and 40 to 1 is needed"
    )


def test_what_is_not_settled_has_not_passed() -> None:
    check = only(passes(93, 7), "pass_rate>=0.9")
    assert (check.status, check.p_anytime, check.more_cases) == ("failed", 1.0, None)
    assert "not settled: the evidence is" in check.reason


@pytest.mark.parametrize(
    ("gate", "status"),
    [
        ("pass_rate>=0.6", "passed"),
        ("pass_rate>0.6", "failed"),
        ("pass_rate<=0.6", "passed"),
        ("pass_rate<0.6", "failed"),
    ],
)
def test_a_suite_is_exact_once_all_cases_are_in(gate: str, status: str) -> None:
    check = only(passes(60, 40), gate, about="suite")
    assert (check.status, check.low, check.high) == (status, pytest.approx(0.6), pytest.approx(0.6))
    direction = "for" if status == "passed" else "against"
    assert check.reason.endswith(
        f"about this suite of 100 cases: settled {direction} it: the cases left cannot change it"
    )


def test_a_rate_far_below_the_bar_is_settled_against_it() -> None:
    check = only(passes(60, 40), "pass_rate>=0.8")
    assert check.status == "failed"
    assert "settled against it: the evidence is 5.34e+03 to 1" in check.reason
    assert only(passes(60, 40), "rate(FAIL)<=0.6").status == "passed"


def stopped_run(report: RunReport, **order: Any) -> RunReport:
    drawn = AskingOrder(**{"seed": 5, "cases": 200, "clusters": 200, "asked": {"judge": 32}} | order)
    return replace(report, gates=GateReport(checks=(), sequential="population", stopped=True, order=drawn))


def test_what_was_asked_in_file_order_before_a_run_was_cut_off_is_no_random_sample() -> None:
    cut_off = run_report(labelled({"PASS": 30, "FAIL": 2}), planned={"judge": 200}, state="budget_exhausted")
    silent = run_report([*labelled({"PASS": 30}), case("late", [])])
    for about in ("population", "suite"):
        check = only(cut_off, "pass_rate>=0.7", about=about)
        assert (check.status, check.value) == ("not_measured", None)
        assert check.reason.startswith("pass_rate was not measured: 168 of 200 cases have no answer, and those that")
        assert "continue the run to its end, or ask with run --until" in check.reason
        assert "1 of 31 cases have no answer" in only(silent, "pass_rate>=0.7", about=about).reason


def test_cases_of_which_nobody_knows_whether_they_are_all_are_taken_for_all_and_it_is_said() -> None:
    told = "(nothing here says how many cases were to be asked, nor whether a gate ended it"
    results = labelled({"PASS": 93, "FAIL": 7})
    for about in ("population", "suite"):
        assert told in only(run_report(results, planned={}), "pass_rate>=0.8", about=about).reason
        for known in (run_report(results), run_report(results, planned={"judge": 100})):
            assert told not in only(known, "pass_rate>=0.8", about=about).reason


def test_cases_not_asked_in_random_order_are_no_evidence() -> None:
    whole = stopped_run(run_report(labelled({"PASS": 30, "FAIL": 2}), planned={"judge": 32}))
    check = only(whole, "pass_rate>=0.7")
    assert (check.n, check.status) == (32, "passed")
    assert "this suite of 200 cases" in only(whole, "pass_rate>=0.7", about="suite").reason


def test_evidence_of_a_stopped_run_ends_before_the_first_case_without_an_answer() -> None:
    results = labelled({"PASS": 32})
    order = [results[place] for place in shuffled([("case", one.case_id) for one in results], seed=5)]
    silent = [case(one.case_id, []) if place == 20 else one for place, one in enumerate(order)]
    assert only(stopped_run(run_report(silent)), "pass_rate>=0.7").n == 20
    asked_before = stopped_run(run_report(order), asked={"judge": 12})
    assert only(asked_before, "pass_rate>=0.7").n == 12
    assert "no case counts" in only(stopped_run(run_report(order), asked={}), "pass_rate>=0.7").reason
    lost = stopped_run(run_report(order), asked={"judge": 40})
    assert "8 of the 40 cases that were asked have no result" in only(lost, "pass_rate>=0.7").reason


def test_a_stopped_run_whose_suite_is_not_known_tells_of_a_population_alone() -> None:
    older = replace(passes(93, 7), gates=GateReport(checks=(), sequential="population", stopped=True))
    assert only(older, "pass_rate>=0.8").n == 100
    assert "how many cases the suite holds was not noted" in only(older, "pass_rate>=0.8", about="suite").reason
    clustered = stopped_run(passes(93, 7), clusters=100)
    for about in ("population", "suite"):
        check = only(clustered, "pass_rate>=0.8", about=about)
        assert (check.status, "which cases the clusters hold" in check.reason) == ("not_measured", True)


def test_cases_whose_answers_are_about_something_else_count_as_elsewhere() -> None:
    about = [case(f"c{n}", ["PASS"] * 3) for n in range(10)]
    other = [replace(row, criterion="other") for n in range(30) for row in sampled(["PASS"] * 3, case_id=f"o{n}")]
    elsewhere = [measured([row for row in other if row.case_id == f"o{n}"], case_id=f"o{n}", **REPEATED)
                 for n in range(30)]  # fmt: skip
    report = run_report([*about, *elsewhere])
    for gate, value in (("coverage>=0.9", 0.25), ("not_graded<=0.9", 0.75)):
        gates = Gates(fail_under=(Gate.of(gate, criterion="verdict"),))
        (fixed,) = check_gates(report, gates).checks
        (check,) = check_gates(report, replace(gates, sequential=True)).checks
        assert (check.value, check.n) == (fixed.value, fixed.n) == (value, 40)


def test_scores_need_the_ends_of_their_scale() -> None:
    report = scores([6.0, 7.0, 8.0, 9.0] * 30)
    missing = only(report, "mean_score>=7")
    assert (missing.status, missing.value) == ("not_measured", None)
    assert "give --scale 1:10" in missing.reason
    check = only(report, "mean_score>=7", scale=(1, 10))
    assert (check.status, check.value) == ("passed", pytest.approx(7.5))
    assert 7 <= (check.low or 0) < 7.5 < (check.high or 0)
    assert "outside the scale 1:8" in only(report, "mean_score>=7", scale=(1, 8)).reason
    undecided = scores([6.0, 7.0] * 20)
    assert only(undecided, "mean_score<=9", scale=(1, 10)).status == "passed"


def test_the_unit_is_the_cluster() -> None:
    cases = [case(f"c{n}", ["PASS" if n < 93 else "FAIL"] * 3, cluster=f"k{n // 10}") for n in range(100)]
    together = run_report(cases)
    check = only(together, "pass_rate>=0.6")
    assert check.status == "failed"
    assert "over 100 cases in 10 clusters, which are the units" in check.reason
    exact = only(together, "pass_rate>=0.9", about="suite")
    assert (exact.status, exact.value) == ("passed", 0.93)
    assert "this suite of 10 clusters" in exact.reason
    part = only(run_report(cases, planned={"judge": 120}), "pass_rate>=0.9", about="suite")
    assert (part.status, "20 of 120 cases have no answer" in part.reason) == ("not_measured", True)


def test_clusters_of_unequal_size_tell_of_their_suite_alone() -> None:
    sizes = [1] * 60 + [8]
    cases = [case(f"c{k}-{n}", ["PASS"] * 3, cluster=f"k{k}") for k, size in enumerate(sizes) for n in range(size)]
    check = only(run_report(cases), "pass_rate>=0.7")
    assert check.status == "not_measured"
    assert check.reason == (
        "pass_rate was not measured: clusters hold from 1 to 8 cases, and how large one of the population can be is "
        "not known: gate about this suite (--about suite), or ask equally many cases a cluster"
    )
    exact = only(run_report(cases), "pass_rate>=0.7", about="suite")
    assert (exact.status, exact.value, exact.low, exact.n) == ("passed", 1.0, pytest.approx(1.0), 68)


def test_a_whole_suite_is_exact_against_a_bar_in_whatever_order_it_stands() -> None:
    """High scores before low ones are evidence while they come, and none once all are in: the mean is 5.5."""
    names = [f"c{n}" for n in range(120)]
    by_public_seed = [names[place] for place in shuffled([("case", name) for name in names], seed=0)]
    cases = [
        case(name, [8.0 if place < 60 else 3.0] * 3, rule_name="median") for place, name in enumerate(by_public_seed)
    ]
    check = only(run_report(cases), "mean_score>=5.6", about="suite", scale=(1, 10))
    assert (check.status, check.p_anytime, check.low, check.high) == (
        "failed",
        1.0,
        pytest.approx(5.5),
        pytest.approx(5.5),
    )
    assert check.reason.endswith("settled against it: the cases left cannot change it")


@pytest.mark.parametrize(("gate", "note"), [
    ("pass_rate>=0.5", "(5 of 35 are not decided and count as not PASS)"),
    ("rate(FAIL)<=0.9", "(5 of 35 are not decided and count as FAIL)"),
    ("accuracy>=0.5", "(5 of 35 are not decided and do not count; not better than a judge that always answers PASS:"),
])  # fmt: skip
def test_what_fixed_gates_note_is_noted_of_sequential_ones(gate: str, note: str) -> None:
    cases = [case(f"c{n}", ["PASS"] * 3, gold="PASS") for n in range(30)]
    cases += [case(f"n{n}", [None] * 3, gold="PASS") for n in range(5)]
    report = run_report(cases)
    assert note in check_gates(report, [gate]).checks[0].reason
    assert note in only(report, gate).reason
    later = [case(f"x{n}", [None] * 3) for n in range(9)]
    order = shuffled([("case", one.case_id) for one in [*cases, *later]], seed=5)
    part = stopped_run(run_report([*cases, *later]), asked={"judge": 12})
    looked = [*cases, *later] if gate.startswith("accuracy") else [[*cases, *later][place] for place in order[:12]]
    expected = check_gates(run_report(looked), [gate]).checks[0].reason.partition(" (")[2].partition("; passed, but")[0]
    said = only(part, gate).reason.replace(" by an interval over a fixed number of cases", "")
    assert expected in re.sub(r"of all \d+ cases asked: ", "", said)


def test_controls_beside_a_gate_are_those_of_all_cases_as_in_the_report() -> None:
    """Of the cases that were looked at they may say the contrary of what stands in the same report."""
    names = [f"c{n}" for n in range(60)]
    order = [names[place] for place in shuffled([("case", name) for name in names], seed=5)]
    labels = {name: "PASS" if place < 12 or place % 2 else "FAIL" for place, name in enumerate(order)}
    cases = [case(name, [label] * 3, gold=label) for name, label in labels.items()]
    stopped = stopped_run(run_report(cases), asked={"judge": 12})
    (summary,) = stopped.summaries
    assert summary.controls is not None
    said = f"of all 60 cases asked: {summary.controls.sentence} by an interval over a fixed number of cases"
    check = only(stopped, "accuracy>=0.5")
    assert (check.n, check.reason.endswith(f"({said})")) == (12, True)
    assert summary.controls.sentence.startswith("better than a judge that always answers PASS")


def test_a_control_beside_a_sequential_gate_is_told_with_an_interval_that_is_not_sequential() -> None:
    cases = [case(f"c{n}", ["PASS"] * 3, gold="PASS") for n in range(30)]
    assert (
        "on the same 30 decided cases by an interval over a fixed number of cases)"
        in only(run_report(cases), "accuracy>=0.5").reason
    )


def test_what_does_not_count_is_weighed_in_a_suite_and_left_out_of_a_population() -> None:
    cases = [case(f"c{n}", ["A"] * 3, gold="A") for n in range(30)] + [case("x", ["A"] * 3)]
    for about in ("population", "suite"):
        check = only(run_report(cases), "accuracy>=0.8", about=about)
        assert (check.status, check.n, check.value) == ("passed", 30, 1.0)


def test_a_calibration_grows_with_no_case() -> None:
    check = only(passes(9, 1), "precision>=0.5")
    assert check.reason == (
        "precision was not measured: its calibration was measured once, on a fixed number of labelled cases"
    )
    none = only(passes(9, 1), "accuracy>=0.5")
    assert none.reason == "accuracy was not measured: no decided case holds a gold label"


def test_a_rule_chosen_after_the_samples_is_said() -> None:
    results = labelled({"PASS": 30})
    after = [replace(one, design=replace(one.design, rule_fixed="after")) for one in results]
    assert only(run_report(after), "pass_rate>=0.5").reason.endswith(
        "exploratory: the rule was chosen after the samples"
    )


def test_the_values_of_cases_make_up_every_metric() -> None:
    of_calibrations = {"precision", "recall", "specificity", "balanced_accuracy", "kappa", "lift"}
    assert set(METRIC_MEASURES) - set(CASE_VALUES) == of_calibrations
    cases = []
    for n, verdicts in enumerate(["PPPP", "PPFP", "FFFF", "PFPF"]):
        words = ["PASS" if letter == "P" else "FAIL" for letter in verdicts]
        rows = [
            replace(row, gold="PASS")
            for name, part in (("none", words[:2]), ("format_change", words[2:]))
            for row in sampled(part, case_id=f"c{n}", perturbation=name)
        ]
        cases.append(measured(rows, case_id=f"c{n}", perturbations=("none", "format_change"), repetitions=2))
    report = run_report(cases)
    for metric in ("pass_rate", "rate(FAIL)", "accuracy", "coverage", "abstention", "not_graded", "consistency",
                   "agreement", "flip_rate(format_change)"):  # fmt: skip
        fixed, sequential = check_gates(report, [f"{metric}>=0.5"]).checks[0], only(report, f"{metric}>=0.5")
        assert sequential.value == pytest.approx(fixed.value), metric


def test_sequential_gates_go_with_no_point_estimates_and_say_what_they_are_about() -> None:
    for options in ({"sequential": True, "point_estimates": True}, {"about": "all"}, {"scale": (2, 1)}):
        with pytest.raises(UsageError):
            Gates(**options)  # type: ignore[arg-type]
    checked = check_gates(passes(93, 7), Gates(fail_under=("pass_rate>=0.8",), sequential=True, about="suite"))
    assert GateReport.from_dict(checked.to_dict()) == checked
    assert "sequential, about this suite, with 95 % confidence sequences" in markdown_report(
        passes(93, 7), gates=checked
    )


def test_a_run_that_ended_at_its_own_gate_has_no_gate_on_a_fixed_number() -> None:
    stopped = replace(passes(93, 7), gates=GateReport(checks=(), sequential="population", stopped=True))
    for options in ({}, {"point_estimates": True}):
        (check,) = check_gates(stopped, Gates(fail_under=("pass_rate>=0.8",), **options)).checks
        assert (check.status, check.value) == ("not_measured", None)
        assert "the run was asked until its own gate is settled" in check.reason
        assert "gate with --sequential" in check.reason
    assert only(stopped, "pass_rate>=0.8").status == "passed"


def test_the_order_of_a_run_is_kept_with_its_gates() -> None:
    own = stopped_run(passes(9, 1)).gates
    assert own is not None
    assert GateReport.from_dict(json.loads(json.dumps(own.to_dict()))) == own


def test_advice_about_more_cases_names_its_price() -> None:
    failed = check_gates(passes(93, 7), ["pass_rate>=0.9"])
    assert "3 to 7 % of runs, where 2.5 % are meant" in failed.price
    assert failed.price in html.unescape(markdown_report(passes(93, 7), gates=failed))
    assert check_gates(passes(93, 7), ["pass_rate>=0.8"]).price == ""


def test_the_order_knows_names_alone() -> None:
    names = [f"c{n}" for n in range(50)]
    order = [names[place] for place in shuffled(names, seed=3)]
    assert order != names
    assert [names[::-1][place] for place in shuffled(names[::-1], seed=3)] == order
    fewer = [names[:20][place] for place in shuffled(names[:20], seed=3)]
    assert fewer == [name for name in order if name in names[:20]]
    assert order != [names[place] for place in shuffled(names, seed=4)]


def test_of_several_judges_each_needs_as_many_times_the_evidence() -> None:
    gate, other = parse_expression("accuracy>0.5"), parse_expression("pass_rate>0.5")
    evidence = next(
        found
        for n in range(5, 100)
        for found in [Evidence.of([1.0] * n, list(range(n)), size=None)]
        if weigh(gate, found).outcome == "passed"
    )
    alone, three = weigh(gate, evidence), weigh(gate, evidence, judges=3)
    assert (alone.needed, three.needed, three.outcome) == (40, 120, "unsettled")
    assert alone.odds == three.odds
    assert "and 120 to 1 is needed" in three.sentence()
    assert weigh(other, evidence, judges=3).outcome == "passed"  # of no label


@pytest.mark.slow
def test_the_best_of_many_coins_passes_at_the_level_of_one() -> None:
    generator, gate = np.random.default_rng(4), parse_expression("accuracy>0.5")
    passed = {1: 0, 20: 0}
    for _ in range(200):
        drawn = generator.integers(0, 2, (20, 60)).astype(float).tolist()
        found = [Evidence.of(coin, list(range(60)), size=None) for coin in drawn]
        for judges in passed:
            passed[judges] += any(weigh(gate, one, judges=judges).outcome == "passed" for one in found)
    assert passed[20] <= 11  # of 200 at 2.5 %
    assert passed[1] > passed[20]
