"""The cards of judges: whatever was measured of them, and the reason wherever it was not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support import report_scenes
from support.measured import UNVERIFIABLE, VALID, calibration, measured
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.calibration import Judged, measure_calibration
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.building import Bill
from judgeharness_integrations.reporting.html.charts import Tones, headlines
from judgeharness_integrations.reporting.html.judgecards import CalibrationCard, JudgeCard, calibration_card, judge_card
from judgeharness_integrations.reporting.html.page import case_details, case_table


def card(*results: HarnessResult, **facts: Any) -> JudgeCard:
    report = run_report(results, **facts)
    return judge_card(report.judges[0], report.results, Tones(report.results))


def anchor(**facts: Any) -> CalibrationCard:
    return calibration_card(run_report([measured(sampled(["PASS"] * 4), **facts)]).judges[0])


def curtailed(**facts: Any) -> HarnessResult:
    design = Design(perturbations=("none",), repetitions=5, rule=rule("majority"), curtail=True)
    rows = sampled(
        ["PASS", "FAIL", "PASS", "PASS"], attempts=0, attributes={"reused_from": "monday", "planned_samples": 5}
    )
    return measure(rows, case_id="c1", judge="judge", design=design, remaining=[False], **facts)


def facts_of(report: RunReport, number: int = 0) -> dict[str, str]:
    tones = Tones(report.results)
    return dict(case_details(case_table(report, tones).rows[number], tones)["facts"])


def test_a_calibration_that_holds_says_on_what_and_needs_no_command() -> None:
    found = anchor(
        calibration=calibration(("PASS", "PASS"), ("FAIL", "PASS"), excluded_ties=2), calibration_state=VALID
    )
    assert (found.state, found.title, found.command) == ("valid", "Calibrated on human_labeled_set_v1", "")
    assert found.labels.startswith("labels: human, consensus majority, 2 ties left out; measured 2026")
    (table,) = found.tables
    assert (table.size, table.positive, table.decisions) == ("2 labelled cases", "PASS", ("PASS",))
    assert table.confusion == (("PASS", (1,)), ("FAIL", (1,)))
    rates = {rate.name: (rate.value, rate.of) for rate in table.rates}
    assert rates["Precision"] == ("50.0\u00a0%", "1 of 2")
    assert rates["Specificity"] == ("0\u00a0%", "0 of 1")


def test_labels_of_a_model_and_a_judge_without_identity_are_no_calibration() -> None:
    model = anchor(calibration=calibration(source="model:o3"), calibration_state=VALID)
    assert (model.state, model.title) == (
        "agreement",
        "Not calibrated: agreement with o3 on human_labeled_set_v1",
    )
    unknown = anchor(calibration=calibration(), calibration_state=UNVERIFIABLE)
    assert (unknown.state, unknown.sentence.partition(".")[0]) == ("unverifiable", "the judge declares no identity")
    none = anchor()
    assert (none.state, none.tables) == ("none", ())
    assert all("judgeharness calibrate" in one.command for one in (model, unknown, none))


def test_calibrations_of_scores_have_errors_and_say_what_is_undefined() -> None:
    spread = [
        Judged(gold=gold, verdict=gold + off, status="decided") for gold, off in ((3, 0), (5, 1), (8, 1), (9, -1))
    ]
    flat = [Judged(gold=5, verdict=verdict, status="decided") for verdict in (5, 6)]
    for items, undefined in ((spread, False), (flat, True)):
        report = calibration(criteria={"verdict": measure_calibration(items)})
        (table,) = anchor(calibration=report, calibration_state=VALID).tables
        rates = {rate.name: rate for rate in table.rates}
        assert rates["Mean absolute error"].value is not None
        assert (rates["Spearman"].value is None) == undefined
        assert bool(rates["Spearman"].note) == undefined
        assert "scores have no precision" in table.reason


def test_clustered_labels_and_the_risk_curve_are_shown() -> None:
    items = [
        Judged(gold="PASS", verdict="PASS", status="decided", confidence=0.5 + number / 20, cluster=number // 2)
        for number in range(6)
    ]
    report = calibration(criteria={"verdict": measure_calibration(items)})
    (table,) = anchor(calibration=report, calibration_state=VALID).tables
    assert table.size == "6 labelled cases in 3 clusters"
    assert {rate.name: rate.of for rate in table.rates}["Risk over coverage"] == "AURC, 6 labelled cases"


def test_early_stopping_is_said_wherever_it_takes_a_number_away() -> None:
    report = run_report([curtailed()])
    (criterion,) = judge_card(report.judges[0], report.results, Tones(report.results)).criteria
    assert criterion.design.endswith("with early stopping")
    assert criterion.unflipped.startswith("not measured: early stopping")
    assert {fact.name: fact.value for fact in criterion.samples} == {
        "Samples asked": "4 of 5 planned",
        "Failed": "0",
        "Stopped early": "1 case",
    }
    notes = {one.name: one.note for one in headlines(report)[0].measures}
    assert notes["Consistency"] == "early stopping: no chance level"
    facts = facts_of(report)
    assert facts["Samples"] == "5 planned, 4 asked: 4 ok"
    assert facts["Unbiased rate"] == "66.7\u00a0%, without the bias of stopping early"
    assert facts["Consistency"] == "75.0\u00a0% of 4 valid samples"


def test_cost_names_what_is_known_and_what_is_not() -> None:
    nothing = {fact.name: (fact.value, fact.note) for fact in card(measured(sampled(["PASS"]))).cost}
    assert nothing["Tokens"] == ("unknown", "no call reported them")
    assert nothing["Money"] == ("unknown", "no prices were given")
    assert nothing["Waited for the judge"] == ("unknown", "no call reported it")
    paid = sampled(["PASS"] * 2, input_tokens=1000, output_tokens=20, latency_s=1.5, attempts=2)
    found = {fact.name: (fact.value, fact.note) for fact in card(measured(paid, rewrites=3), costs={"judge": 0.0}).cost}
    assert found["Attempts"] == ("4", "2 tried again")
    assert found["Rewrites"] == ("3", "")
    assert found["Tokens"] == ("2,000 + 40", "read + written")
    assert found["Waited for the judge"] == ("3.0 s", "1.50 s a call")
    assert found["Money"] == ("0", "by the prices given")
    cached = measured(sampled(["PASS"], input_tokens=1000, output_tokens=20, cached_input_tokens=800))
    bill = Bill(usage=cached.usage, cost=0.5, cost_remarks=("at most", "by a table"))
    told = {fact.name: (fact.value, fact.note) for fact in card(cached, bills={"judge": bill}).cost}
    assert told["Tokens"] == ("1,000 + 20 (800 cached)", "read + written")
    assert told["Money"] == ("0.5", "at most; by a table")
    unknown = {"judge": replace(bill, cost=None, cost_remarks=("no price",))}
    assert {fact.name: fact.note for fact in card(cached, bills=unknown).cost}["Money"] == "no price"
    again = {fact.name: (fact.value, fact.note) for fact in card(curtailed()).cost}
    assert again["Re-used"] == ("4", "paid for by an earlier run")
    text = facts_of(run_report([measured(paid, rewrites=3)]))["Cost"]
    assert text == "2 calls, 4 attempts, 2,000 + 40 tokens, 3.0 s, 3 rewrites"
    assert facts_of(run_report([curtailed()]))["Cost"].endswith("4 re-used from monday")


def test_a_judge_that_was_never_asked_has_a_card_all_the_same() -> None:
    found = card(planned={"late": 3})
    assert (found.name, found.cases, found.criteria) == ("late", "0 cases, 3 not asked", ())


def test_perturbations_that_did_not_fit_are_counted() -> None:
    found = card(measured(sampled(["PASS"] * 4), skipped={"format_change": "no Markdown."}))
    assert [(one.name, one.value) for one in found.skipped] == [("format_change", "1 case")]


def test_single_calls_have_their_denominator() -> None:
    rows = [
        *sampled(["PASS", "FAIL", None], gold="PASS"),
        *sampled(["PASS"], perturbation="format_change", gold="PASS"),
    ]
    unlabelled = sampled(["FAIL"] * 3, case_id="c2", perturbation="whitespace")
    other = measured(unlabelled, case_id="c2", repetitions=3)
    rubric = measured(sampled(["FAIL"] * 3, case_id="c3", criterion="tone"), case_id="c3", repetitions=3)
    again = measured(sampled(["FAIL"] * 3, gold="PASS"), perturbations=("none",), repetitions=3)
    criterion = card(measured(rows, repetitions=3), other, rubric, again).criteria[0]
    assert [(one.name, one.value, one.note) for one in criterion.single_calls] == [
        ("none", "33.3\u00a0%", "1 of 3 calls"),
        ("format_change", "100\u00a0%", "1 of 1 call"),
    ]


def test_position_is_told_with_its_pairs_and_without_winners_only_where_there_are_some() -> None:
    common: dict[str, Any] = {"perturbations": ("none", "position_swap"), "rule_name": "swap_consensus"}
    (criterion,) = card(measured(both_orders("AAA", "ABB"), **common)).criteria
    found = {one.name: (one.value, one.note) for one in criterion.position}
    assert found["Same verdict in both orders"][0] == "33.3\u00a0%"
    assert found["Same verdict in both orders"][1].startswith("of 3 pairs")
    assert found["Always the first slot"][0] == "2"
    assert "exact test" in found["Always the second slot"][1]
    tied = [measured(both_orders([*"AB"], ["TIE", None]), **common)]
    tied[0] = measured(both_orders(["TIE", "TIE"], ["TIE", None], gold="A"), **common)
    (quiet,) = card(*tied).criteria
    names = {one.name for one in quiet.position}
    assert "Same verdict in both orders" in names
    assert "Wins of the text shown first" not in names


def test_scores_that_a_rule_turns_into_pass_are_shown_as_such() -> None:
    results = [
        measured(sampled([score] * 2, case_id=f"c{score}", gold=8), case_id=f"c{score}", rule_name="median(pass_at=7)")
        for score in (5, 7, 9)
    ]
    found = headlines(run_report(results))[0].measures[0]
    assert (found.name, found.value, found.of) == ("Rate of PASS", "66.7\u00a0%", "2 of all 3 cases")
    (criterion,) = card(*results).criteria
    assert criterion.scores is None
    assert not criterion.numeric


def test_headlines_without_any_decision_say_so() -> None:
    empty = headlines(run_report([measured([], planned=4, state="budget_exhausted")]))[0].measures
    assert (empty[0].name, empty[0].value) == ("Most frequent", None)
    scores = headlines(run_report([measured(sampled([7, None, None, None]), rule_name="median")]))[0].measures
    assert (scores[0].name, scores[0].value, scores[0].note) == ("Mean score", None, "no case was decided")
    alone = headlines(run_report([measured(sampled([None] * 4))]))[0].measures
    assert next(one for one in alone if one.name == "Consistency").note == "no case has two valid samples"


def test_gold_scores_are_right_within_the_tolerance() -> None:
    results = [measured(sampled([7, 7], gold=gold), rule_name="median") for gold in (8, 8.5, 6)]
    report = run_report(results)
    assert [row.right for row in case_table(report, Tones(report.results)).rows] == [True, False, True]
    measures = {one.name: one for one in headlines(report)[0].measures}
    assert measures["Error against gold"].of == "mean absolute error over 3 decided cases with gold"


def test_collapsed_samples_and_hashed_reasons_are_said() -> None:
    rows = [
        replace(row, reasoning="sha256:abc", attributes={"response_id": "r"}, gold="PASS")
        for row in sampled(["PASS"] * 3 + ["FAIL"])
    ]
    report = run_report([measured(rows, skipped={"whitespace": "none"})])
    facts = facts_of(report)
    assert facts["Independence"] == "collapsed (repeated response id): 1 effective of 4"
    assert facts["Skipped"] == "whitespace: none"
    tones = Tones(report.results)
    document = case_details(case_table(report, tones).rows[0], tones)
    assert {sample[5] for group in document["reasons"] for sample in group["samples"]} == {"only a hash was kept"}


def test_sentences_that_hold_for_every_case_are_not_repeated_with_each() -> None:
    report = report_scenes.all_failed()
    tones = Tones(report.results)
    row = case_table(report, tones).rows[0]
    whole = case_details(row, tones)["limits"]
    assert case_details(row, tones, whole[:1])["limits"] == whole[1:]


def test_texts_of_cases_that_were_not_judged_stay_out_of_the_page() -> None:
    report = run_report(report_scenes.graded(1, reasons=0), case_texts={"other": {"input": "a secret"}})
    assert "a secret" not in report.to_html()


def test_a_case_names_its_test_and_the_runs_it_was_traced_under() -> None:
    rows = sampled(["PASS", "FAIL"], case_id="c")
    told = [replace(row, attributes={"run_id": f"id-{row.repetition}"}) for row in rows]
    alike = [replace(row, attributes={"run_id": "id"}) for row in rows]
    both = [replace(row, criterion=name) for name in ("tone", "facts") for row in told]
    unknown = [replace(row, attributes={"run_id": "None"}) for row in rows]
    for given, trace in (
        (told, "none#0: run id-0; none#1: run id-1"),
        (alike, "run id"),
        (both, "none#0: run id-0; none#1: run id-1"),
        (unknown, None),
        (rows, None),
    ):
        result = replace(measured(given, case_id="c"), test="tests/test_a.py::test_b[c]")
        known = facts_of(run_report([result]))
        assert (known.get("Trace"), known["Test"]) == (trace, "tests/test_a.py::test_b[c]")
