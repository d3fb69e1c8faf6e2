"""What numbers of the page stand on: calls, clusters, the judge's own noise, judges and designs that are not shown."""

from __future__ import annotations

from dataclasses import replace

from support.gated import case, labelled
from support.measured import VALID, calibration, measured
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.reporting.html.charts import Tones, headlines
from judgeharness_integrations.reporting.html.judgecards import CriterionCard, judge_card
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, VerdictRow


def only(*results: HarnessResult) -> CriterionCard:
    report = run_report(results)
    (found,) = judge_card(report.judges[0], report.results, Tones(report.results)).criteria
    return found


def words(report: RunReport) -> str:
    return " ".join(report.to_html().split())


def test_calls_that_failed_for_every_criterion_are_among_the_single_calls() -> None:
    answered = measured(sampled(["PASS"] * 2, gold="PASS"), perturbations=("none",), repetitions=2)
    down = [
        VerdictRow(
            case_id="c2", criterion=EVERY_CRITERION, verdict=None, outcome="error", repetition=n, gold="PASS", error="x"
        )
        for n in range(2)
    ]
    failed = measured(down, case_id="c2", perturbations=("none",), repetitions=2, planned=2)
    (fact,) = only(answered, failed).single_calls
    assert (fact.name, fact.value, fact.note) == ("none", "50.0\u00a0%", "2 of 4 calls")


def test_gold_of_another_kind_is_not_among_the_calls_that_could_be_right() -> None:
    right = case("a", ["PASS"] * 3, gold="PASS")
    (fact,) = only(right, case("b", ["PASS"] * 3, gold=3)).single_calls
    assert fact.note == "3 of 3 calls"


def test_a_pass_rate_of_scores_is_of_dependent_cases_where_they_are() -> None:
    results = [
        case(f"c{n}", [9 if n % 2 else 2] * 3, rule_name="median(pass_at=7)", cluster=f"k{n // 4}") for n in range(12)
    ]
    report = run_report(results)
    (line,), (summary,) = headlines(report), report.summaries
    rate = summary.positive_rate
    assert rate is not None
    assert line.measures[0].name == "Rate of PASS"
    assert line.measures[0].interval == f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"
    [apart] = run_report(
        [replace(one, rows=tuple(replace(r, attributes={}) for r in one.rows)) for one in results]
    ).summaries
    assert apart.positive_rate is not None
    assert line.measures[0].interval != f"[{100 * apart.positive_rate.low:.1f}, {100 * apart.positive_rate.high:.1f}]"


def test_beside_flip_rates_stands_the_noise_of_the_judge() -> None:
    rows = both_orders(["A", "B", "A"], ["B", "B", "A"])
    swapped = measured(rows, perturbations=("none", "position_swap"), repetitions=3, rule_name="swap_consensus")
    noise = only(swapped).noise
    assert noise is not None
    assert (noise.name, noise.value, noise.cases) == ("none", "66.7\u00a0%", 1)
    page = words(run_report([swapped]))
    assert "How often verdicts differ" in page
    assert "none again" in page
    assert "none again" not in words(run_report(labelled({"PASS": 3})))


def test_judges_whose_badge_does_not_fit_are_counted() -> None:
    anchored = {"calibration": calibration(), "calibration_state": VALID}
    results = [case("c", ["PASS"] * 3, judge=f"j{n:02d}", **(anchored if n == 9 else {})) for n in range(12)]
    assert "and 6 more judges, 1 of them calibrated" in words(run_report(results))
    assert "more judges" not in words(run_report(results[:6]))


def test_where_no_case_was_decided_it_is_not_said_that_there_is_none() -> None:
    split = [case(f"c{n}", ["good", "bad", None], rule_name="abstain_on_disagreement") for n in range(4)]
    (line,) = headlines(run_report(split))
    assert (line.measures[0].name, line.measures[0].value, line.measures[0].note) == (
        "Most frequent",
        None,
        "no case was decided",
    )


def test_the_design_of_a_card_names_its_quorum() -> None:
    assert only(case("a", ["PASS"] * 3)).design.endswith("none \u00d7 3 samples")
    assert only(case("a", ["PASS"] * 3, min_valid=2)).design.endswith("none \u00d7 3 samples; at least 2 valid samples")
