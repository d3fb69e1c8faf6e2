from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.rows import both_orders, sampled

from judgeharness_integrations._errors import AmbiguousResultError, UsageError
from judgeharness_integrations.analysis.aggregation import Rule, RuleLike, chance_consistency, rule
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure, measure_criterion
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.usage import Usage
from judgeharness_integrations.verdictlog.row import VerdictRow

PATTERN = ["PASS", "PASS", "PASS", "FAIL", "PASS", "FAIL", "PASS", "FAIL"]


def design(name: RuleLike = "majority", **changes: Any) -> Design:
    fields: dict[str, Any] = {"perturbations": ("none", "format_change"), "repetitions": 4, "rule": rule(name)}
    return Design(**fields | changes)


def pattern_rows() -> list[VerdictRow]:
    return [*sampled(PATTERN[:4]), *sampled(PATTERN[4:], perturbation="format_change")]


def measured(rows: list[VerdictRow], name: RuleLike = "majority", **facts: Any) -> HarnessResult:
    return measure(rows, **{"case_id": "c1", "judge": "judge", "design": design(name)} | facts)


def test_the_numbers_of_the_pattern() -> None:
    result = measured(pattern_rows())
    assert result.verdict == "PASS"
    assert result.status == "decided"
    assert result.reason == "5 of 8 samples"
    assert result.sample_distribution == {"PASS": 5, "FAIL": 3}
    assert result.consistency_rate == 0.625
    assert result.chance_consistency == chance_consistency(8, 2)
    assert result.agreement == 26 / 56
    assert result.flip_rates == {"format_change": (3 * 2 + 1 * 2) / 16}
    assert (result.perturbations, result.repetitions) == (("none", "format_change"), 4)
    assert (result.aggregation_rule, result.rule_fixed) == ("majority", "before")
    assert not result.informal
    assert result.only.sd is None
    assert result.only.tolerance is None
    assert measured(pattern_rows(), "supermajority").verdict == "ABSTAIN"


def test_the_chance_level_uses_the_declared_labels() -> None:
    rows = sampled(["A", "B"])
    assert measured(rows).only.label_count == 2
    assert measured(rows, label_counts={"verdict": 3}).only.label_count == 3
    assert measured(rows, label_counts={"other": 5}).only.label_count == 2
    assert measured(sampled(["A", "B", "C", "D"]), label_counts={"verdict": 3}).only.label_count == 4
    assert measured(rows, label_counts={"verdict": 3}).chance_consistency == chance_consistency(2, 3)


def test_scores_have_a_spread_and_no_chance_level() -> None:
    result = measured([*sampled([7, 8, 10]), *sampled([7, None], perturbation="format_change")], "median").only
    assert result.numeric
    assert result.verdict == 7.5
    assert (result.chance_consistency, result.label_count) == (None, None)
    assert result.consistency_rate == 0.75
    assert result.sd == pytest.approx(1.414213562)
    assert result.tolerance == 1.0
    assert result.flip_rates == {"format_change": 1 / 3}


def test_the_tolerance_is_the_criterions_or_the_designs() -> None:
    rows = sampled([1, 5])
    assert measured(rows, "median", tolerances={"verdict": 2.0}).consistency_rate == 1.0
    assert measured(rows, "median", tolerances={"other": 2.0}).consistency_rate == 0.0
    wide = measure(rows, case_id="c1", judge="judge", design=design("median", tolerance=2.0))
    assert (wide.consistency_rate, wide.only.tolerance) == (1.0, 2.0)
    alone = measure_criterion(rows, criterion="verdict", design=design("median", tolerance=2.0))
    assert alone.tolerance == 2.0


def highest(rows: Any) -> float:
    return max(row.verdict for row in rows)


def test_consistency_of_scores_is_measured_from_the_decision() -> None:
    scores = sampled([1, 1, 1, 10])
    assert measured(scores, highest).consistency_rate == 0.25
    assert measured(scores, "median(pass_at=7)").consistency_rate == 0.75
    assert measured(sampled([1, 2, 9, 9, 1]), "mode").only.status == "abstained"
    assert measured(sampled([1, 2, 9, 9, 1]), "mode").consistency_rate == 0.6  # around the median, 2
    assert measured(sampled([1, 1, 1]), Rule("mine", lambda rows: "PASS")).consistency_rate == 1.0
    assert measured(sampled([4]), "median").only.sd is None


def test_without_valid_samples_nothing_is_measured() -> None:
    result = measured(sampled([None, None])).only
    assert (result.verdict, result.status) == (None, "not_graded")
    assert (result.consistency_rate, result.chance_consistency, result.agreement) == (None, None, None)
    assert result.outcomes == {"ok": 0, "unparsed": 2, "refused": 0, "error": 0}
    nothing = measured([], planned=6)
    assert (nothing.status, nothing.reason) == ("not_graded", "6 of 6 planned samples were not asked")
    assert list(nothing.criteria) == ["verdict"]
    unlabelled = measure_criterion(sampled([None, 3]), criterion="verdict", design=design("median", min_valid=2))
    assert (unlabelled.status, unlabelled.consistency_rate) == ("not_graded", 1.0)


def test_criteria_stand_side_by_side() -> None:
    rows = [
        *sampled(["PASS", "PASS"], criterion="tone"),
        *sampled(["PASS", "FAIL"], criterion="facts"),
        VerdictRow(case_id="c1", criterion="*", verdict=None, outcome="error", repetition=2),
    ]
    result = measured(rows, criteria=["facts", "length"], label_counts={"facts": 4})
    assert list(result.criteria) == ["facts", "length", "tone"]
    assert result.criteria["tone"].verdict == "PASS"
    assert result.criteria["tone"].outcomes["error"] == 1
    assert result.criteria["facts"].status == "abstained"
    assert result.criteria["facts"].label_count == 4
    assert result.criteria["length"].status == "not_graded"
    with pytest.raises(AmbiguousResultError, match=r"3 criteria \(facts, length, tone\): read result.criteria"):
        _ = result.verdict


def test_a_call_that_failed_as_a_whole_counts_for_the_declared_criteria() -> None:
    failed = [VerdictRow(case_id="c1", criterion="*", verdict=None, outcome="error", repetition=n) for n in range(2)]
    assert list(measured(failed, criteria=["tone"]).criteria) == ["tone"]
    assert measured(failed, criteria=["tone"]).only.outcomes["error"] == 2


def test_labels_and_scores_under_one_criterion_are_refused() -> None:
    with pytest.raises(UsageError, match="mixes labels and numbers"):
        measured(sampled(["PASS", 7]))


def test_perturbations_are_compared_with_the_unperturbed_samples() -> None:
    pairs = measured(both_orders("AAB", "ABB"), "swap_consensus").only
    by_name = {p.name: p for p in pairs.perturbations}
    assert by_name["none"].flip_rate is None
    assert by_name["position_swap"].flip_rate == 5 / 9
    assert (by_name["none"].swapped, by_name["position_swap"].swapped) == (False, True)
    alone = measured(sampled(["PASS"], perturbation="format_change")).only
    assert alone.flip_rates == {"format_change": None}
    variants = sampled(["PASS"]) + sampled(["FAIL"], perturbation="prompt_variant(1)+position_swap")
    prompted = measured(variants).only
    assert prompted.flip_rates == {}
    assert prompted.prompt_sensitivity == {"prompt_variant(1)+position_swap": 1.0}


def test_usage_counts_calls_and_sums_what_is_known() -> None:
    call = {"call_id": "k", "attempts": 2, "input_tokens": 10, "latency_s": 0.5}
    rows = [
        VerdictRow(case_id="c1", criterion="tone", verdict="PASS", **call),  # type: ignore[arg-type]
        VerdictRow(case_id="c1", criterion="facts", verdict="PASS", call_id="k"),
        VerdictRow(case_id="c1", criterion="tone", verdict="PASS", repetition=1, attempts=1, input_tokens=5),
    ]
    usage = measured(rows, rewrites=3).usage
    assert usage == Usage(calls=2, attempts=3, rewrites=3, input_tokens=15, output_tokens=None, latency_s=0.5)
    assert measured(pattern_rows()).usage.attempts == 8
    free = [replace(row, output_tokens=0) for row in sampled(["PASS"])]
    assert measured(free).usage.output_tokens == 0


def test_an_answer_from_the_users_own_cache_took_no_tokens() -> None:
    paid, cached = (replace(row, input_tokens=7, output_tokens=2) for row in sampled(["PASS", "FAIL"]))
    cached = replace(cached, attributes={"cached": "shared"})
    usage = measured([paid, cached]).usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (2, 7, 2)
    assert measured([cached]).usage.input_tokens is None


def test_model_warnings_and_facts_travel_with_the_result() -> None:
    rows = [replace(row, model="gpt-4o", attributes={"warning": "truncated"}) for row in sampled(["PASS", "PASS"])]
    result = measured(rows, skipped={"format_change": "no Markdown"}, state="interrupted")
    assert result.judge_model == "gpt-4o"
    assert measured(rows, judge_model="o3").judge_model == "o3"
    assert measured(sampled(["PASS"])).judge_model is None
    assert result.warnings == ("truncated",)
    assert result.perturbations == ("none",)
    assert result.state == "interrupted"


def test_parser_conflicts_are_counted() -> None:
    rows = [replace(row, attributes={"parser_conflict": 1}) for row in sampled(["PASS", "PASS"])]
    assert measured([*rows, *sampled(["PASS"], perturbation="p")]).only.parser_conflicts == 2


def test_one_planned_sample_is_informal() -> None:
    assert measured(sampled(["PASS"])).informal
    assert not measured(sampled(["PASS"]), planned=2).informal


def test_the_design_belongs_to_the_fingerprint() -> None:
    parts = design("supermajority").parts()
    assert parts["rule"] == "supermajority(2/3)"
    assert parts["perturbations"] == ["none", "format_change"]
    assert parts["repetitions"] == 4
    assert "half of the planned samples" in str(parts["failure policy"])
    assert "quorum 3 samples" in str(design(min_valid=3).parts()["failure policy"])


def test_a_criterion_a_call_left_out_is_an_unparsed_sample_of_it() -> None:
    rows = [
        *sampled(["PASS", "PASS"], criterion="a", call_id="call-0")[:1],
        *sampled(["FAIL"], criterion="b", call_id="call-0"),
        *sampled(["PASS", "PASS"], criterion="a")[1:],
    ]
    result = measure(rows, case_id="c1", judge="j", design=design(), planned=2)
    assert result.criteria["a"].outcomes["ok"] == 2
    assert result.criteria["b"].outcomes == {"ok": 1, "unparsed": 1, "refused": 0, "error": 0}
    assert result.criteria["b"].reason == "1 of 2 samples"
    assert result.usage.calls == 2


def test_sets_of_labels_have_no_chance_level() -> None:
    result = measure(sampled([frozenset({"a"}), frozenset({"a", "b"})]), case_id="c1", judge="j", design=design())
    assert (result.only.label_count, result.only.chance_consistency) == (None, None)
    assert "guessing" not in result.report()
