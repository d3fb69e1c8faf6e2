"""The measurement of samples that were stopped early, and of answers that were re-used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure, measure_criterion, remeasure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.usage import Usage, reused_from
from judgeharness_integrations.verdictlog.row import VerdictRow


def design(name: str = "majority", **changes: Any) -> Design:
    fields: dict[str, Any] = {"perturbations": ("none",), "repetitions": 5, "rule": rule(name), "curtail": True}
    return Design(**fields | changes)


def curtailed(verdicts: Any, name: str = "majority", *, left: int = 2, **changes: Any) -> HarnessResult:
    facts = {key: changes.pop(key) for key in ("state", "label_counts") if key in changes}
    rows = verdicts if isinstance(verdicts, list) and isinstance(verdicts[0], VerdictRow) else sampled(verdicts)
    return measure(
        rows,
        case_id="c1",
        judge="j",
        design=design(name, **changes),
        planned=len(rows) + left,
        remaining=[False] * left,
        **facts,
    )


def test_a_settled_case_is_decided_and_its_distribution_censored() -> None:
    result = curtailed(["PASS"] * 3)
    measured = result.only
    assert (result.verdict, result.status) == ("PASS", "decided")
    assert result.reason == "3 of 5 samples; settled after 3 of 5 samples"
    assert (measured.planned, measured.taken, measured.valid, measured.censored) == (5, 3, 3, True)
    assert (measured.consistency_rate, measured.chance_consistency, measured.agreement) == (1.0, None, None)
    assert measured.unbiased_rate == 1.0
    assert result.unasked == (False, False)
    assert not result.informal


def test_a_case_that_went_to_the_end_is_whole_but_could_have_stopped() -> None:
    measured = curtailed(["PASS", "FAIL", "PASS", "FAIL", "PASS"], left=0).only
    assert (measured.censored, measured.taken, measured.reason) == (False, 5, "3 of 5 samples")
    assert (measured.chance_consistency, measured.agreement) == (None, None)
    assert measured.unbiased_rate == 0.5
    fixed = curtailed(["PASS", "FAIL", "PASS", "FAIL", "PASS"], left=0, curtail=False).only
    assert (fixed.chance_consistency, fixed.agreement, fixed.unbiased_rate) == (0.6875, 0.4, None)


def test_without_early_stopping_what_remains_settles_nothing() -> None:
    result = curtailed(["PASS"] * 3, curtail=False)
    assert (result.status, result.reason) == ("not_graded", "2 of 5 planned samples were not asked")
    assert (result.only.censored, result.unasked, result.only.agreement) == (False, (), 1.0)


def test_an_interrupted_case_is_decided_only_if_its_samples_settle_it() -> None:
    broken = curtailed(["PASS", "FAIL"], left=3, state="interrupted")
    assert (broken.status, broken.only.censored) == ("not_graded", False)
    assert broken.reason == "interrupted: 3 of 5 planned samples were not asked"
    assert broken.only.unbiased_rate is None
    enough = curtailed(["PASS"] * 3, state="budget_exhausted")
    assert (enough.status, enough.only.censored) == ("decided", True)
    assert remeasure(broken, "strict_majority").reason == "interrupted: 3 of 5 planned samples were not asked"


def test_abstentions_and_lost_quorums_are_settled_too() -> None:
    split = curtailed(["PASS", "FAIL", "PASS"], "abstain_on_disagreement")
    assert (split.verdict, split.only.censored) == ("ABSTAIN", True)
    lost = curtailed([None, None, None])
    assert (lost.status, lost.only.censored, lost.only.outcomes["unparsed"]) == ("not_graded", True, 3)
    assert lost.reason == "0 valid of 5 samples, 3 needed; settled after 3 of 5 samples; 3 unparsed"


def test_scores_settle_around_their_median() -> None:
    measured = curtailed([7, 7, 7], "median").only
    assert (measured.verdict, measured.consistency_rate, measured.sd) == (7, 1.0, 0.0)
    passed = curtailed([7, 9, 8], "median(pass_at=6)").only
    assert (passed.verdict, passed.censored, passed.unbiased_rate) == ("PASS", True, None)


def test_the_planned_number_follows_from_what_remains() -> None:
    measured = measure_criterion(sampled("AAA"), criterion="verdict", design=design(), remaining=[False] * 2)
    assert (measured.planned, measured.verdict) == (5, "A")


def test_an_unbiased_rate_needs_one_perturbation_and_two_labels() -> None:
    assert curtailed("BAAA", left=1).only.unbiased_rate == 2 / 3
    assert curtailed("BAAA", left=1, label_counts={"verdict": 2}).only.unbiased_rate == 2 / 3
    assert curtailed("BAAA", left=1, label_counts={"verdict": 3}).only.unbiased_rate is None
    assert curtailed("AAA", repetitions=3).only.unbiased_rate is None  # 5 samples are more than one perturbation's
    assert curtailed("AAA", rule_fixed="after").only.unbiased_rate is None


def test_each_criterion_is_settled_by_itself() -> None:
    rows = [*sampled("AAAA", criterion="x"), *sampled("ABAA", criterion="y")]
    result = measure(rows, case_id="c", judge="j", design=design(), planned=5, remaining=[False])
    assert {name: c.reason for name, c in result.criteria.items()} == {
        "x": "4 of 5 samples; settled after 4 of 5 samples",
        "y": "3 of 5 samples; settled after 4 of 5 samples",
    }
    assert {name: c.unbiased_rate for name, c in result.criteria.items()} == {"x": 1.0, "y": 2 / 3}


def test_another_rule_decides_a_stopped_sample_only_if_it_is_settled_under_it() -> None:
    result = curtailed("AABA", left=1)
    assert result.only.censored
    assert remeasure(result) == result
    same = remeasure(result, "strict_majority")
    assert (same.verdict, same.only.censored, same.design.stopping_rule) == ("A", True, "majority")
    assert same.only.unbiased_rate is None
    stopped = "sampling stopped early under rule majority: 1 of 5 planned samples were not asked"
    for name in ("supermajority(4/5)", "mean", "majority | mean"):
        open_ended = remeasure(result, name)
        assert (open_ended.status, open_ended.reason, open_ended.only.censored) == ("not_graded", stopped, True)
        assert remeasure(open_ended) == open_ended
        assert remeasure(open_ended, "majority").verdict == "A"
        assert remeasure(open_ended, "majority").design.stopping_rule == "majority"


def test_pairs_stop_in_both_orders() -> None:
    rows = both_orders("AAA", "AA")
    pair = design("swap_consensus", perturbations=("none", "position_swap"), repetitions=3)
    settled = measure(rows, case_id="c", judge="j", design=pair, planned=6, remaining=[True])
    assert (settled.verdict, settled.unasked) == ("A", (True,))
    assert settled.reason == "both orders agree; settled after 5 of 6 samples"
    assert remeasure(settled) == settled
    wrong_order = measure(rows, case_id="c", judge="j", design=pair, planned=6, remaining=[False])
    assert wrong_order.status == "not_graded"


def test_reused_answers_are_no_calls_of_this_run() -> None:
    paid = sampled(["PASS"] * 2, attempts=1, input_tokens=5)
    reused = [
        replace(row, attempts=0, repetition=row.repetition + 2, attributes={"reused_from": "monday"})
        for row in sampled(["PASS"] * 3)
    ]
    together = [replace(row, criterion="tone", call_id="k") for row in reused[:1]]
    rows = [*paid, *together, replace(together[0], criterion="facts"), *reused[1:]]
    result = measure(rows, case_id="c", judge="j", design=design(curtail=False))
    assert result.usage == Usage(
        calls=2, attempts=2, rewrites=0, input_tokens=10, output_tokens=None, latency_s=None, reused=3
    )
    assert reused_from(result.rows) == ("monday",)
    assert reused_from(paid) == ()
    failed = replace(reused[0], attributes={}, verdict=None, outcome="error")  # its perturbation failed
    usage = measure([failed], case_id="c", judge="j", design=design(curtail=False)).usage
    assert (usage.calls, usage.attempts, usage.reused) == (0, 0, 0)
    older = replace(reused[0], attempts=None)  # a log that does not count attempts
    assert measure([older], case_id="c", judge="j", design=design(curtail=False)).usage.calls == 0


def test_early_stopping_does_not_change_what_a_calibration_depends_on() -> None:
    assert design().parts() == design(curtail=False).parts()


@pytest.mark.parametrize("name", ["majority", "supermajority(2/3)", "abstain_on_disagreement"])
@pytest.mark.parametrize("verdicts", ["AAAAA", "ABABA", "BAABB", "BBAAA"])
def test_a_stopped_measurement_decides_as_the_whole_one(name: str, verdicts: str) -> None:
    whole = curtailed(verdicts, name, left=0, curtail=False)
    for taken in range(1, 5):
        part = curtailed(verdicts[:taken], name, left=5 - taken)
        if part.only.censored:
            assert (part.status, part.verdict) == (whole.status, whole.verdict)
