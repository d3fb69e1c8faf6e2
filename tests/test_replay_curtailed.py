"""What a replay gives up where cases were planned with early stopping, and what holds all the same."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from support.rows import both_orders, sampled

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations.analysis.replay import JudgeReplay, replay, replay_cases
from judgeharness_integrations.analysis.replay.report import FIXED_SAMPLES_ONLY
from judgeharness_integrations.judging.judge import as_judgment
from judgeharness_integrations.verdictlog import MemoryLog

PLANNED = {"attributes": {"planned_samples": 6}}


def replayed(judge: Any, cases: list[Any], rule: str, *perturbations: str, curtail: bool) -> JudgeReplay:
    log = MemoryLog()
    harness = JudgeHarness(
        perturbations=["none", *perturbations],
        repetitions=3,
        aggregation_rule=rule,
        log=log,
        observers=(),
        curtail=curtail,
    )
    list(harness.evaluate_many(judge, cases))
    return replay(log.rows(), rule).judges[0]


@pytest.mark.slow
def test_what_compares_samples_is_left_out_where_sampling_could_stop() -> None:
    """Half of the cases are easy, half are coin flips: late samples are of the latter, whatever the perturbation."""

    class Divided:
        """Answers by the probe alone, so that whoever asks, and in whatever order, gets the same."""

        name = "divided"
        identity = None
        criteria = None

        async def judge(self, probe: Any) -> Any:
            case = probe.case
            coin = random.Random(f"{case.case_id}|{probe.perturbation.name}|{probe.repetition}").random()  # noqa: S311
            return as_judgment("A" if int(case.case_id) % 2 or coin < 0.5 else "B")

    judge = Divided()
    cases = [PairwiseCase(case_id=f"{n}", input="q", output="a\n- b", output_b="c\n- d", gold="A") for n in range(200)]
    whole, stopped = (replayed(judge, cases, "majority", "position_swap", curtail=curtail) for curtail in (False, True))
    assert {name for name in FIXED_SAMPLES_ONLY if getattr(whole, name) is None} == {"within_case_sd"}
    assert {getattr(stopped, name) for name in FIXED_SAMPLES_ONLY} == {None}
    assert (stopped.curtailed, stopped.cases, stopped.pairs, whole.curtailed) == (200, 200, 0, 0)
    assert 0 < stopped.censored < 200
    assert whole.accuracy == stopped.accuracy
    assert stopped.tie_decisions == 0


def test_it_is_left_out_for_cases_that_went_to_the_end_too() -> None:
    divided = both_orders("ABA", "BAB", gold="A", **PLANNED)
    alone = replay(divided, "majority").judges[0]
    beside = replay([*divided, *both_orders("AAA", "AAA", case_id="c2", gold="A")], "majority").judges[0]
    fixed = replay([replace(row, attributes={}) for row in divided], "majority").judges[0]
    assert (alone.single_call_accuracy, alone.position_consistency, alone.curtailed) == (None, None, 1)
    assert (beside.single_call_accuracy, beside.position_consistency, beside.curtailed) == (None, None, 1)
    assert (fixed.single_call_accuracy, fixed.pairs) == ({"none": 2 / 3, "position_swap": 1 / 3}, 3)
    assert replay_cases([divided], "majority").judges == (alone,)


def test_the_spread_of_scores_is_left_out_and_the_error_of_a_settled_median_stays() -> None:
    stopped = sampled([7, 8, 8, 8], gold=9, attributes={"planned_samples": 5})
    entry = replay(stopped, "median").judges[0]
    assert (entry.decided, entry.within_case_sd, entry.mean_absolute_error) == (1, None, 1.0)


def test_a_settled_pass_settles_no_score() -> None:
    stopped = sampled([7, 8, 9, 9], gold=9, **PLANNED)
    entry = replay(stopped, "median(pass_at=5)").judges[0]
    assert (entry.decided, entry.mean_absolute_error, entry.labelled) == (1, None, 0)
    whole = replay([replace(row, attributes={}) for row in stopped], "median(pass_at=5)").judges[0]
    assert (whole.decided, whole.mean_absolute_error) == (1, 0.5)
    passed = replay([replace(row, gold="PASS") for row in stopped], "median(pass_at=5)").judges[0]
    assert (passed.correct, passed.accuracy) == (1, 1.0)


def test_no_flip_rate_is_measured_with_early_stopping() -> None:
    def judge(_: Any) -> str:
        return "PASS"

    case = AnswerCase(case_id="c", input="q", output="- a\n- b")
    options: dict[str, Any] = {"perturbations": ["none", "format_change"], "repetitions": 3, "observers": ()}
    whole = JudgeHarness(aggregation_rule="majority", **options).evaluate(judge, case)
    stopped = JudgeHarness(aggregation_rule="majority", curtail=True, **options).evaluate(judge, case)
    assert [row.perturbation for row in stopped.rows] == ["none"] * 3 + ["format_change"]
    assert (whole.flip_rates, stopped.flip_rates) == ({"format_change": 0.0}, {"format_change": None})
    said = "what a perturbation changes was not measured: early stopping asks later ones only where it is still open"
    assert said in stopped.to_dict()["not_measured"]
    assert said not in whole.to_dict()["not_measured"]
    assert "flip rate" not in stopped.report()
