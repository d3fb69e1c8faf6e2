"""What the cases of a judge come to: intervals, clusters, flips, designs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measured import EXPIRED, VALID, calibration
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.analysis.runs.building import _only
from judgeharness_integrations.analysis.runs.summarising import (
    careful_interval,
    gold_of,
    positive_of,
    summaries,
    told_apart,
)
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow


def measured(rows: list[VerdictRow], *, repetitions: int = 4, name: str = "majority", **facts: object) -> HarnessResult:
    perturbations = tuple(dict.fromkeys(row.perturbation for row in rows)) or ("none",)
    design = Design(perturbations=perturbations, repetitions=repetitions, rule=rule(name), min_valid=None)
    given_facts = {"case_id": rows[0].case_id if rows else "none", "judge": "judge", "planned": len(rows)} | facts
    return measure(rows, design=design, **given_facts)  # type: ignore[arg-type]


def cases(*verdicts: list[Verdict | None], **common: object) -> list[HarnessResult]:
    return [measured(sampled(each, case_id=f"c{number}", **common)) for number, each in enumerate(verdicts)]


def wilson(successes: float, trials: int) -> tuple[float, float]:
    """Wilson (1927), written out."""
    z, p = 1.959963984540054, successes / trials
    middle = (p + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(p * (1 - p) / trials + z**2 / (4 * trials**2))
    return middle - half, middle + half


PASSED, FAILED, SPLIT, SILENT = ["PASS"] * 4, ["FAIL"] * 4, ["PASS", "PASS", "FAIL", "FAIL"], [None] * 4


def test_a_rate_is_over_all_planned_cases() -> None:
    [summary] = summaries(cases(PASSED, PASSED, PASSED, FAILED, SPLIT, SILENT), planned={"judge": 8, "other": 3})
    assert (summary.cases, summary.positive, dict(summary.verdicts)) == (8, "PASS", {"PASS": 3, "FAIL": 1})
    for rate, count in ((summary.positive_rate, 3), (summary.coverage, 4), (summary.abstention, 1)):
        assert rate is not None
        assert (rate.successes, rate.trials) == (count, 8)
        assert (rate.low, rate.high) == pytest.approx(wilson(count, 8))
    assert (summary.replay.abstained, summary.replay.not_graded) == (1, 3)
    assert summary.rate_of("FAIL") is not None
    assert str(summary.rate_of("FAIL")).endswith("(1/8)")
    assert (summary.planned, summary.outcomes["ok"], summary.outcomes["unparsed"]) == (24, 20, 4)
    assert summary.consistency_rate == pytest.approx((4 * 1.0 + 0.5) / 5)  # of the cases that have one
    assert summary.accuracy is None


def test_cases_of_one_cluster_are_dependent() -> None:
    verdicts = [PASSED] * 6 + [FAILED] * 6
    [apart] = summaries(cases(*verdicts))
    groups = [f"g{number // 3}" for number in range(12)]
    together = [
        replace(one, rows=tuple(replace(row, attributes={"cluster": group}) for row in one.rows))
        for one, group in zip(cases(*verdicts), groups, strict=True)
    ]
    [clustered] = summaries(together)
    assert apart.positive_rate is not None
    assert clustered.positive_rate is not None
    assert clustered.positive_rate.value == apart.positive_rate.value == 0.5
    width, wider = (rate.high - rate.low for rate in (apart.positive_rate, clustered.positive_rate))
    assert wider > 1.3 * width


def test_flip_rates_are_means_over_cases() -> None:
    def pair(number: int, changed: list[Verdict | None]) -> HarnessResult:
        rows = sampled(["PASS", "PASS"], case_id=f"c{number}")
        return measured(rows + sampled(changed, case_id=f"c{number}", perturbation="format_change"), repetitions=2)

    [summary] = summaries([pair(0, ["FAIL", "FAIL"]), pair(1, ["PASS", "FAIL"]), pair(2, ["PASS", "PASS"])])
    [flips] = summary.flips
    assert (flips.perturbation, flips.value, flips.cases) == ("format_change", 0.5, 3)
    assert (flips.low, flips.high) == pytest.approx(wilson(1.5, 3))


@pytest.mark.parametrize(
    ("verdicts", "positive"),
    [
        ([["A"] * 4, ["TIE"] * 4, ["B"] * 4], "A"),
        ([["PASS"] * 4], "PASS"),
        ([["FAIL"] * 4], "PASS"),
        ([["GOOD"] * 4, ["BAD"] * 4], None),
        ([["PASS"] * 4, ["A"] * 4], None),
        ([SILENT], None),
    ],
)
def test_the_positive_label_is_that_of_its_set(verdicts: list[list[Verdict | None]], positive: str | None) -> None:
    results = cases(*verdicts)
    assert positive_of([result.only for result in results]) == positive
    [summary] = summaries(results)
    assert summary.positive == positive
    assert (summary.positive_rate is None) == (positive is None)
    assert summary.coverage is not None


def test_accuracy_is_over_decided_cases_with_gold() -> None:
    results = [
        *cases(PASSED, FAILED, SPLIT, gold="PASS"),
        measured(sampled(PASSED, case_id="unlabelled")),
    ]
    [summary] = summaries(results)
    assert summary.accuracy is not None
    assert (summary.accuracy.successes, summary.accuracy.trials) == (1, 2)
    assert gold_of(results[0], "verdict") == "PASS"
    assert gold_of(results[0], "tone") is None
    assert gold_of(results[3], "verdict") is None


def test_dependent_cases_widen_accuracy_and_flip_rates_too() -> None:
    def asked(number: int, *, clusters: int) -> HarnessResult:
        verdict = "PASS" if number % 3 else "FAIL"
        rows = sampled([verdict] * 2, case_id=f"c{number}", gold="PASS", attributes={"cluster": number % clusters})
        changed = sampled(["PASS"] * 2, case_id=f"c{number}", gold="PASS", perturbation="format_change")
        return measured(rows + changed[: 1 + number % 2], repetitions=2)

    [apart] = summaries([asked(number, clusters=12) for number in range(12)])
    [together] = summaries([asked(number, clusters=3) for number in range(12)])
    assert apart.accuracy is not None
    assert together.accuracy is not None
    assert (apart.accuracy.successes, apart.accuracy.trials) == (apart.replay.correct, apart.replay.labelled)
    assert (apart.accuracy.low, apart.accuracy.high) == pytest.approx(
        wilson(apart.accuracy.successes, apart.accuracy.trials)
    )
    assert together.accuracy.high - together.accuracy.low > 1.3 * (apart.accuracy.high - apart.accuracy.low)
    [flips], [fewer] = apart.flips, together.flips
    assert (flips.value, flips.cases) == (fewer.value, fewer.cases) == (4 / 12, 12)
    assert (fewer.low, fewer.high) == careful_interval(4 / 12, [number % 3 for number in range(12)])
    assert fewer.low < wilson(1, 3)[0] < wilson(1, 3)[1] < fewer.high  # three clusters have two degrees of freedom


def test_scores_that_a_rule_turns_into_labels_have_a_pass_rate() -> None:
    scored = [[8, 9, 8], [7, 7, 6], [2, 3, 2]]
    results = [
        measured(sampled(each, case_id=f"c{number}"), name="median(pass_at=7)", repetitions=3)
        for number, each in enumerate(scored)
    ]
    [summary] = summaries(results)
    assert (summary.positive, dict(summary.verdicts)) == ("PASS", {"PASS": 2, "FAIL": 1})
    assert summary.positive_rate is not None
    assert (summary.positive_rate.successes, summary.positive_rate.trials) == (2, 3)


def test_scores_that_were_not_decided_have_no_mean() -> None:
    scored = [measured(sampled(each, case_id=f"c{n}"), name="median") for n, each in enumerate(([1, 3], [5, 5]))]
    [summary] = summaries([*scored, measured(sampled([None, None, 4], case_id="c9"), name="median", planned=8)])
    assert summary.mean_score is not None
    assert summary.mean_score.value == 3.5
    assert summary.cases == 3
    [summary] = summaries([measured(sampled([None, None, 4], case_id="c9"), name="median", planned=8)])
    assert (summary.mean_score, summary.replay.not_graded) == (None, 1)


def test_designs_are_never_mixed_and_missing_cases_are_counted_once() -> None:
    two = [measured(sampled(["PASS"] * 2, case_id="c1"), repetitions=2), *cases(PASSED, FAILED)]
    found = summaries(two, planned={"judge": 5})
    assert [(one.design.repetitions, one.cases, one.replay.not_graded) for one in found] == [(2, 3, 2), (4, 2, 0)]
    assert sum(one.cases for one in found) == 5
    report = run_report(two)
    assert [one.cases for one in report.summaries] == [1, 2]
    other_rule = [*cases(PASSED), measured(sampled(PASSED), name="strict_majority")]
    assert len(summaries(other_rule)) == 2


def test_both_orders_stand_in_one_summary() -> None:
    pairs = [measured(both_orders(["A"], ["B"], case_id="c1"), repetitions=1, name="swap_consensus")]
    [summary] = summaries(pairs)
    assert summary.replay.abstained == 1
    assert [(flip.perturbation, flip.value) for flip in summary.flips] == [("position_swap", 1.0)]


@given(st.lists(st.lists(st.sampled_from(["PASS", "FAIL", None]), min_size=1, max_size=4), min_size=1), st.randoms())
def test_the_order_of_cases_changes_nothing(verdicts: list[list[Verdict | None]], random: object) -> None:
    results = cases(*verdicts)
    shuffled = list(results)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    [first], [second] = summaries(results), summaries(shuffled)
    assert dict(first.verdicts) == dict(second.verdicts)
    for name in ("positive_rate", "coverage", "abstention", "accuracy", "outcomes", "planned", "cases"):
        assert getattr(first, name) == getattr(second, name)
    for name in ("consistency_rate", "agreement"):
        assert getattr(first, name) == pytest.approx(getattr(second, name))
    assert sum(first.verdicts.values()) + first.replay.abstained + first.replay.not_graded == first.cases


def test_a_section_says_who_the_judge_is() -> None:
    one, two = cases(PASSED, FAILED)
    same = [
        replace(result, judge_model="m", fingerprint="f", warnings=("slow",), skipped={"x": "why"})
        for result in (one, two)
    ]
    [section] = run_report(same, planned={"judge": 3}, costs={"judge": 0.5}).judges
    assert (section.models, section.fingerprint, section.warnings) == (("m",), "f", ("slow",))
    assert (section.skipped, section.cost, section.cases, section.not_asked) == ({"x": 2}, 0.5, 2, 1)
    assert section.not_measured["uncalibrated: how often this rule is right was not measured"] == 2
    [section] = run_report([same[0], replace(same[1], fingerprint="g", judge_model=None)]).judges
    assert (section.fingerprint, section.models) == (None, ("m",))
    assert (_only({"a"}), _only({"a", "b"}), _only(set()), _only({None})) == ("a", None, None, None)


def test_a_planned_judge_without_any_result_has_a_section() -> None:
    report = run_report([], planned={"judge": 3})
    [section] = report.judges
    assert (section.cases, section.not_asked, section.criteria, section.usage.calls) == (0, 3, (), 0)
    assert (section.usage.latency_s, report.cases, report.informal) == (None, 0, False)


@pytest.mark.parametrize(
    ("state", "source", "calibrated"), [(VALID, "human", True), (EXPIRED, "human", False), (VALID, "model:x", False)]
)
def test_calibrated_is_only_what_people_or_programs_labelled(state: object, source: str, calibrated: object) -> None:
    [result] = cases(PASSED)
    anchored = replace(result, calibration=calibration(source=source), calibration_state=state)  # type: ignore[arg-type]
    [section] = run_report([anchored]).judges
    assert section.calibrated is calibrated
    assert section.calibration is anchored.calibration


def test_a_report_is_written_in_every_format() -> None:
    report = run_report(cases(PASSED, FAILED, SPLIT, SILENT))
    assert "<html" in report.to_html()
    assert "<testsuites" in report.to_junit()
    assert "judge" in report.to_markdown()
    assert len(report.to_csv().splitlines()) == 5
    assert len(report.to_pandas()) == 4
    assert report._repr_html_().strip().startswith("<")


@pytest.mark.parametrize("name", ["majority | median", "abstain_on_disagreement | median", "supermajority(2/3) | mode"])
def test_results_under_either_of_two_rules_are_rebuilt(name: str) -> None:
    result = measured(sampled(PASSED), name=name)
    assert HarnessResult.from_dict(result.to_dict(rows=True)) == result


def test_single_samples_are_informal() -> None:
    single = measured(sampled(["PASS"]), repetitions=1)
    assert run_report([single]).informal
    assert not run_report([single, *cases(PASSED)]).informal


def test_usage_is_summed_where_it_is_known() -> None:
    rows = sampled(["PASS", "PASS"], input_tokens=10, output_tokens=5, latency_s=0.5)
    [section] = run_report([measured(rows), *cases(PASSED)]).judges
    assert (section.usage.calls, section.usage.input_tokens, section.usage.output_tokens) == (6, 20, 10)
    assert section.usage.latency_s == 1.0


def test_judges_of_one_name_and_several_configurations_are_not_pooled() -> None:
    def of(fingerprint: str | None, number: int) -> HarnessResult:
        return measured(sampled(PASSED, case_id=f"c{number}"), fingerprint=fingerprint)

    several = [of("aaaa11112222", 0), of("bbbb11112222", 1), of("aaaa11112222", 2), of(None, 3)]
    assert [one.judge for one in told_apart(several)] == ["judge [aaaa11]", "judge [bbbb11]", "judge [aaaa11]", "judge"]
    assert [section.cases for section in run_report(told_apart(several)).judges] == [2, 1, 1]
    alone = [of("aaaa11112222", 0), of(None, 1)]
    assert told_apart(alone) == alone
    designs = [of("aaaa11112222", 0), measured(sampled(PASSED), repetitions=9, fingerprint="cccc11112222")]
    assert told_apart(designs) == designs  # one judge asked in two ways
