"""Judges asked in turn by a harness: the next one where the certificate of the one before does not cover the case."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.judges_in_turn import CHEAP, DESIGN, STRONG, Planted, cascade_of, waiting_cases

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.certifying.cascade import Cascade, cascade_log
from judgeharness_integrations.judging.cascading import CascadeJudge
from judgeharness_integrations.judging.judge import Judgment, Probe
from judgeharness_integrations.judging.perturbations import perturbation
from judgeharness_integrations.verdictlog import MemoryLog

EASY = next(iter(waiting_cases("easy")))


def harness(**options: Any) -> JudgeHarness:
    return JudgeHarness(**DESIGN, **options)


def torn(name: str = "strong") -> Planted:
    """A judge whose certificate is the strong one's, and which now cannot make up its mind."""
    return replace(STRONG, name=name, easy=0.5, hard=0.5)


def hard_cases(count: int = 20) -> list[AnswerCase]:
    return [AnswerCase(case_id=f"h{n}", output=f"good hard case {n}") for n in range(count)]


def test_a_case_that_the_cheap_judge_is_sure_of_costs_nothing_more() -> None:
    result = harness().evaluate(CascadeJudge([CHEAP, STRONG], cascade_of()), EASY)
    assert (result.judge, result.status, result.usage.calls, result.earlier) == ("cheap", "decided", 6, ())
    assert {row.judge for row in result.rows} == {"cheap"}


def test_a_case_that_it_is_not_sure_of_goes_to_the_strong_one() -> None:
    results = list(harness().evaluate_many(CascadeJudge([CHEAP, STRONG], cascade_of()), hard_cases()))
    assert len(results) == 20
    up = [one for one in results if one.judge == "strong"]
    assert len(up) > 10
    assert {one.status for one in up} == {"decided"}
    assert all(one.reason.endswith("; asked after cheap") for one in up)
    assert {one.usage.calls for one in up} == {12}
    assert all([early.judge for early in one.earlier] == ["cheap"] for one in up)


def test_what_no_judge_decides_is_abstained_and_waits_for_people() -> None:
    judge = CascadeJudge([replace(CHEAP, easy=0.5), torn()], cascade_of())
    results = [one for one in harness().evaluate_many(judge, hard_cases()) if one.waits]
    assert len(results) > 5
    assert {one.status for one in results} == {"abstained"}
    assert all(one.reason.endswith("no judge of the cascade decides it: it waits for people") for one in results)


def test_the_log_of_a_cascade_says_what_its_results_said() -> None:
    log, judge = MemoryLog(), CascadeJudge([CHEAP, STRONG], cascade_of())
    results = list(harness(log=log, run="r").evaluate_many(judge, iter([*hard_cases(), EASY])))
    report = cascade_log(list(log.rows()), judge.cascade)
    assert report.verdicts == {one.case_id: one.verdict for one in results if one.status == "decided"}
    assert report.calls == sum(one.usage.calls for one in results)
    assert set(report.left) == {one.case_id for one in results if one.waits}


def test_a_result_that_went_up_comes_back_from_its_document() -> None:
    read = Cascade.from_dict(json.loads(json.dumps(cascade_of().to_dict())))
    judge = CascadeJudge([CHEAP, torn()], read)
    for result in harness().evaluate_many(judge, hard_cases(6)):
        assert HarnessResult.from_dict(result.to_dict(rows=True)) == result


def test_a_judge_whose_asking_ended_early_sends_nobody_up() -> None:
    judge = CascadeJudge([CHEAP, STRONG], cascade_of())
    results = list(harness(max_calls=200).evaluate_many(judge, iter(hard_cases(40))))
    ended = [one for one in results if one.state != "complete"]
    assert {one.state for one in ended} == {"budget_exhausted"}
    assert {one.status for one in ended} == {"not_graded"}
    assert sum(one.usage.calls for one in results) <= 200
    assert len(results) == 40


def test_the_plan_of_a_cascade_is_what_it_costs_at_most() -> None:
    plan = harness().plan(CascadeJudge([CHEAP, STRONG], cascade_of()), hard_cases(3))
    assert (plan.cases, plan.calls) == (3, 36)


def test_a_judge_without_a_certificate_is_not_asked() -> None:
    coin = Planted("cheap", 0.5, 0.5)
    cascade = cascade_of((coin, STRONG))
    assert list(cascade.certificates) == ["strong"]
    result = harness().evaluate(CascadeJudge([coin, STRONG], cascade), EASY)
    assert (result.judge, result.usage.calls, result.reason) == ("strong", 6, "6 of 6 samples")


def test_a_cascade_is_read_from_its_file(tmp_path: Any) -> None:
    path = cascade_of().save(tmp_path / "cascade.json")
    judge = CascadeJudge([CHEAP, STRONG], path)
    assert (judge.name, judge.criteria, judge.identity) == ("cheap > strong", CHEAP.criteria, None)


def test_an_expired_step_is_refused_before_anything_is_asked() -> None:
    late = harness(clock=lambda: datetime.now(UTC) + timedelta(days=40))
    with pytest.raises(UsageError, match=r"the certificate of 'cheap' on people is expired: .* days old"):
        late.evaluate(CascadeJudge([CHEAP, STRONG], cascade_of()), EASY)


def test_another_model_behind_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="the certificate of 'strong' on people is expired: model changed"):
        harness().evaluate(CascadeJudge([CHEAP, replace(STRONG, model="model-2")], cascade_of()), EASY)


def test_another_rule_is_refused() -> None:
    other = JudgeHarness(**{**DESIGN, "aggregation_rule": "strict_majority"})
    with pytest.raises(UsageError, match="certified under rule majority, not strict_majority"):
        other.evaluate(CascadeJudge([CHEAP, STRONG], cascade_of()), EASY)


def test_judges_in_another_order_are_refused() -> None:
    with pytest.raises(UsageError, match="certified for cheap, strong, in that order, not for strong, cheap"):
        CascadeJudge([STRONG, CHEAP], cascade_of())


def test_a_harness_with_a_certificate_of_its_own_is_refused() -> None:
    own = harness(certificate=cascade_of().steps[0].certificate)
    with pytest.raises(UsageError, match="has a certificate or passport of its own"):
        own.evaluate(CascadeJudge([CHEAP, STRONG], cascade_of()), EASY)


def test_a_single_probe_is_no_question_to_a_cascade() -> None:
    probe = Probe(case=EASY, case_id=EASY.case_id, perturbation=perturbation("none"), repetition=0, seed=0)
    with pytest.raises(UsageError, match="a cascade is asked by a harness"):
        asyncio.run(CascadeJudge([CHEAP, STRONG], cascade_of()).judge(probe))


def test_several_evaluations_of_one_cascade_at_a_time_do_not_meet() -> None:
    judge, asked = CascadeJudge([CHEAP, STRONG], cascade_of()), harness()

    async def together() -> list[HarnessResult]:
        return await asyncio.gather(*(asked.aevaluate(judge, case) for case in hard_cases(8)))

    results = asyncio.run(together())
    assert [one.case_id for one in results] == [case.case_id for case in hard_cases(8)]


class WrongKeyError(Exception):
    status_code = 401


class Lost:
    """A judge that answers nothing, under the cheap one's certificate."""

    name, identity, criteria = CHEAP.name, CHEAP.identity, CHEAP.criteria

    async def judge(self, probe: Probe) -> Judgment:
        raise WrongKeyError("no such key")


def test_a_judge_that_is_down_is_not_replaced_by_a_dearer_one() -> None:
    results = list(harness().evaluate_many(CascadeJudge([Lost(), STRONG], cascade_of()), hard_cases(12)))
    later = [one for one in results if one.state == "judge_down"]
    assert later
    assert {one.judge for one in later} == {"cheap"}


def test_a_case_of_an_own_kind_is_known_by_its_content() -> None:
    cascade = Cascade(**{**vars(cascade_of()), "criterion": "another"})
    assert cascade.steps[0].rule == rule("majority")
    judge = CascadeJudge([CHEAP, STRONG], cascade)
    result = harness().evaluate(judge, EASY)
    assert (result.judge, result.waits) == ("strong", True)
