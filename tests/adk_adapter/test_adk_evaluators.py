"""ADK's evaluators and ours on the same answers: where ADK errs, where both agree, and what ours adds."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry
from google.genai import types
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import adk_outcomes as outcomes
from support.adk_answers import JudgeDown, Raw, always, in_turn, per_rubric
from support.adk_folder import FINAL_RESPONSE, invocation, judge_options, rubric
from support.adk_judges import ScriptedLlm, scripted_judge
from support.adk_offline import isolated_adk
from support.adk_outcomes import HALLUCINATIONS, MATCH, MULTI_TURN, TOOL_USE, evaluate_case_with, evaluate_with

import judgeharness_adk
from judgeharness_adk import outcomes as sidecar
from judgeharness_adk.evaluators import EVALUATORS
from judgeharness_adk.judges import JUDGES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.adk_outcomes import Outcome

ADK, OURS = MetricEvaluatorRegistry(), MetricEvaluatorRegistry()
judgeharness_adk.register(OURS, rules={"maybe": lambda _: "MAYBE"})
NO_SIDECAR = {"sidecar": False}


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        yield


def ours(script: Any, *, block: dict[str, Any] | None = None, **options: Any) -> Outcome:
    return evaluate_with(OURS, script, judge_harness={**NO_SIDECAR, **(block or {})}, **options)


def rationale(outcome: Outcome, turn: int = 0, row: int = 0) -> str:
    rows = outcome.result.per_invocation_results[turn].rubric_scores
    assert rows is not None
    return str(rows[row].rationale)


def facts(outcome: Outcome, turn: int = 0, row: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(rationale(outcome, turn, row).splitlines()[1])
    return found


def unless_mended(is_there: bool, what: str) -> None:  # noqa: FBT001
    if not is_there:
        pytest.skip(f"this google-adk has mended it: {what}")


# What ADK gets wrong


def test_a_tie_abstains_where_adk_fails() -> None:
    unless_mended(outcomes.two_two_tie(ADK).rubrics == [{"polite": 0.0}], "a tie is no longer a failure")
    tie = outcomes.two_two_tie(OURS)
    assert (tie.status, tie.score, tie.rubrics) == ("FAILED", 0.0, [{"polite": None}])
    assert rationale(tie).startswith("ABSTAIN · 2 PASS, 2 FAIL of 4 · supermajority(2/3) · consistency 0.50")
    assert facts(tie)["verdict"] == "ABSTAIN"


def test_one_failed_sample_does_not_void_the_others() -> None:
    theirs = outcomes.one_sample_raises(ADK)
    unless_mended(theirs.status == "NOT_EVALUATED", "a failed sample no longer voids the invocation")
    mended = outcomes.one_sample_raises(OURS)
    assert (mended.status, mended.score) == ("PASSED", 1.0)
    assert rationale(mended).startswith("4 PASS, 1 error of 5")
    assert facts(mended)["failed"] == {"error": 1}


def test_answers_nobody_can_read_do_not_leave_the_verdict_to_one_sample() -> None:
    theirs = outcomes.mostly_unparseable(ADK)
    unless_mended((theirs.status, theirs.score) == ("PASSED", 1.0), "unparsed samples count")
    unread = outcomes.mostly_unparseable(OURS)
    assert (unread.status, unread.rubrics) == ("FAILED", [{"polite": None}])
    assert rationale(unread).startswith("NOT GRADED · 1 PASS, 4 unparsed of 5")


@pytest.mark.parametrize("word", ["unknown", "cannot determine", "not applicable", "N/A", ""])
def test_a_word_that_is_neither_yes_nor_no_is_no_verdict(word: str) -> None:
    if word == "unknown":
        unless_mended(outcomes.unknown_word(ADK).rubrics == [{"polite": 0.0}], "unknown is no longer read as no")
    shrugs = ours(in_turn("yes", "yes", "yes", word, word), block={"aggregation_rule": "majority"})
    assert facts(shrugs)["samples"] == {"PASS": 3}
    assert facts(shrugs)["failed"] == {"unparsed": 2}


def test_samples_run_side_by_side() -> None:
    theirs = outcomes.all_at_once(ADK)
    unless_mended(theirs.judge.in_flight_max == 1, "samples run side by side")
    assert outcomes.all_at_once(OURS).judge.in_flight_max == 5


def test_invocations_keep_their_own_rubrics() -> None:
    theirs = outcomes.two_sets_of_rubrics(ADK)
    unless_mended(theirs.turns[0][0] == "NOT_EVALUATED", "rubrics of an invocation stay its own")
    apart = outcomes.two_sets_of_rubrics(OURS)
    assert apart.turns == [("PASSED", 1.0), ("FAILED", 0.0)]
    assert apart.rubrics == [{"in_degrees": 1.0}, {"in_words": 0.0}]
    assert "uncalibrated: a rubric of this invocation alone" in rationale(apart)


def test_a_metric_without_a_verdict_fails_the_case_beside_a_passing_one() -> None:
    theirs = outcomes.silent_beside_passing(ADK)
    unless_mended(theirs.final_eval_status.name == "PASSED", "an unmeasured metric no longer passes silently")
    assert outcomes.silent_beside_passing(OURS).final_eval_status.name == "FAILED"


def test_hashes_are_no_reasons() -> None:
    lines = rationale(ours(in_turn("yes", "maybe"), samples=2, block={"keep": "hash", "min_valid": 1})).splitlines()
    assert len(lines) == 2


def test_long_reasons_are_cut() -> None:
    long = Raw(f"ID: polite\nProperty: The answer is polite.\nRationale: {'so ' * 900}\nVerdict: yes")
    reason = rationale(ours(always(long), samples=1)).splitlines()[-1]
    assert reason.endswith("…")
    assert 1_500 < len(reason) < 1_530


def test_why_samples_failed_is_said() -> None:
    text = rationale(ours(in_turn("yes", "yes", "yes", "maybe", "maybe")))
    assert text.splitlines()[-1] == "failed (2 unparsed): I say maybe to polite."
    down = rationale(ours(in_turn("yes", JudgeDown("503")), block={"max_attempts": 1}, samples=2))
    assert down.splitlines()[-1] == "failed (1 error): JudgeDown: 503"


@pytest.mark.parametrize(
    "again", ["On reflection:\nFinal Verdict: no", "**Correction:** Verdict: no", "Revised verdict: no"]
)
def test_a_verdict_that_is_taken_back_is_none(again: str) -> None:
    text = Raw(f"ID: polite\nProperty: The answer is polite.\nRationale: Hm.\nVerdict: yes\n\n{again}")
    assert facts(ours(always(text), samples=2))["failed"] == {"unparsed": 2}


def test_a_rule_that_decides_neither_pass_nor_fail_says_so() -> None:
    odd = ours(always("yes"), block={"aggregation_rule": "maybe"})
    assert (odd.status, odd.rubrics) == ("FAILED", [{"polite": None}])
    assert rationale(odd).startswith("decided MAYBE, which is neither PASS nor FAIL · 5 PASS of 5")


def test_the_judge_model_is_built_once_for_all_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    made = ScriptedLlm.__init__

    def counted(self: Any, **given: Any) -> None:
        built.append(given["model"])
        made(self, **given)

    monkeypatch.setattr(ScriptedLlm, "__init__", counted)
    assert ours(always("yes"), samples=6).judge.calls == 6
    assert len(built) <= 4


def test_a_missing_rubric_is_missing_for_itself_only() -> None:
    script = in_turn({"polite": "yes", "short": "yes"}, {"polite": "yes"}, {"polite": "yes", "short": "yes"})
    half = ours(script, rubrics=("polite", "short"), samples=3)
    assert facts(half, row=0)["samples"] == {"PASS": 3}
    assert facts(half, row=1)["samples"] == {"PASS": 2}
    assert facts(half, row=1)["failed"] == {"unparsed": 1}


# Where both agree


def _words(samples: int) -> st.SearchStrategy[list[str]]:
    """Answers without a tie."""
    words = st.lists(st.sampled_from(["yes", "no"]), min_size=samples, max_size=samples)
    return words.filter(lambda drawn: 2 * drawn.count("yes") != samples)


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_plain_majority_scores_as_adk_does(data: st.DataObject) -> None:
    metric = data.draw(st.sampled_from([FINAL_RESPONSE, TOOL_USE, MULTI_TURN, MATCH, HALLUCINATIONS]))
    rubrics = metric.startswith("rubric")
    ids = data.draw(st.lists(st.sampled_from(["polite", "short", "true", "warm"]), min_size=1, unique=True))
    samples = data.draw(st.integers(1, 6)) if metric != HALLUCINATIONS else 1  # which ADK asks about once
    table = {name: data.draw(_words(samples), label=name) for name in (ids if rubrics else ids[:1])}
    turns = [invocation(city) for city in data.draw(st.sampled_from([("Oslo",), ("Oslo", "Rome")]))]
    threshold = data.draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))
    options: dict[str, Any] = {"samples": samples, "turns": turns, "threshold": threshold, "metric": metric}
    options |= {"rubrics": tuple(ids)} if rubrics else {}
    theirs = evaluate_with(ADK, _script(table, metric), **options)
    same = ours(_script(table, metric), block={"aggregation_rule": "majority"}, **options)
    assert (same.score, same.status, same.turns) == (theirs.score, theirs.status, theirs.turns)
    if rubrics:
        assert same.rubrics == theirs.rubrics
        assert _overall(same) == _overall(theirs)


def _script(table: dict[str, list[str]], metric: str) -> Any:
    return per_rubric(table) if metric.startswith("rubric") else in_turn(*next(iter(table.values())))


def _overall(outcome: Outcome) -> dict[str, float | None]:
    return {row.rubric_id: row.score for row in outcome.result.overall_rubric_scores or ()}


def test_a_conversation_is_judged_at_its_last_invocation_only() -> None:
    turns = [invocation("Oslo"), invocation("Rome"), invocation("Lima")]
    theirs = evaluate_with(ADK, always("yes"), metric=MULTI_TURN, turns=turns)
    same = ours(always("yes"), metric=MULTI_TURN, turns=turns)
    assert same.turns == theirs.turns == [("NOT_EVALUATED", None), ("NOT_EVALUATED", None), ("PASSED", 1.0)]
    assert same.judge.calls == theirs.judge.calls == 5
    assert same.judge.prompts[0].text == theirs.judge.prompts[0].text


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, TOOL_USE, MULTI_TURN, MATCH, HALLUCINATIONS])
def test_the_judge_is_shown_adks_own_prompt(metric: str) -> None:
    theirs = evaluate_with(ADK, always("yes"), metric=metric, samples=1)
    same = ours(always("yes"), metric=metric, samples=1)
    assert [prompt.text for prompt in same.judge.prompts] == [prompt.text for prompt in theirs.judge.prompts]


# What ours adds


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, MATCH, HALLUCINATIONS])
def test_what_the_judge_read_and_wrote_is_told_in_adks_fields(metric: str) -> None:
    turns = [invocation("Oslo"), invocation("Rome")]
    done = ours(always("yes"), metric=metric, turns=turns, samples=3)
    told = [turn.token_usage_details for turn in done.result.per_invocation_results]
    overall = done.result.overall_token_usage_details
    assert overall is not None
    read = sum(len(prompt.text.split()) for prompt in done.judge.prompts)  # the scripted judge's tokens are words
    assert sum(one.input_tokens or 0 for one in told if one) == read == 2 * (overall.input_tokens or 0)
    assert overall.total_tokens == (overall.input_tokens or 0) + (overall.output_tokens or 0)
    assert overall.output_tokens
    assert (overall.prompt_tokens, overall.reasoning_tokens) == (overall.input_tokens, None)


def test_a_judge_that_never_answered_has_no_tokens() -> None:
    down = ours(always(JudgeDown("503")), samples=2, block={"max_attempts": 1})
    assert down.result.overall_token_usage_details is None


# what is collected after its loop was closed cannot end in it, and Python says so of each coroutine
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("metric", [FINAL_RESPONSE, HALLUCINATIONS])
@pytest.mark.parametrize("ended", ["cancelled", "abandoned"])
def test_an_evaluation_that_was_given_up_gives_its_slots_back(metric: str, ended: str) -> None:
    turns = [invocation(city) for city in ("Oslo", "Rome", "Lima")]

    def begin(model: str, loop: asyncio.AbstractEventLoop) -> asyncio.Task[Any]:
        rubrics = ("polite",) if metric == FINAL_RESPONSE else None
        block = {**NO_SIDECAR, "max_concurrency": 2}
        criterion = BaseCriterion.model_validate(judge_options(model, rubrics=rubrics, judge_harness=block))
        asked = EvalMetric(metric_name=metric, criterion=criterion)
        judging: Any = OURS.get_evaluator(asked).evaluate_invocations(turns, turns)
        return loop.create_task(judging)

    with scripted_judge(always("yes"), delay=3600) as judge:
        loop = asyncio.new_event_loop()
        task = begin(judge.model, loop)
        while judge.in_flight < (2 if metric == HALLUCINATIONS else 1):
            loop.run_until_complete(asyncio.sleep(0))
        if ended == "cancelled":
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                loop.run_until_complete(task)
        loop.close()
        del task
        judge.delay = 0.0
        again = asyncio.new_event_loop()
        done = again.run_until_complete(asyncio.wait_for(begin(judge.model, again), 30))
        again.close()
    assert done.overall_score == 1.0
    gc.collect()  # here, and not within the next test


def test_sentences_are_segmented_once_and_each_has_its_own_distribution() -> None:
    turn = invocation("Oslo")
    turn.final_response = types.Content(role="model", parts=[types.Part(text="It is cold. I like snow.")])
    words: list[Any] = [{"It is cold.": "supported", "I like snow.": word} for word in ("disputed", "not_applicable")]
    split = ours(in_turn(*words), metric=HALLUCINATIONS, turns=[turn], samples=4, threshold=0.5)
    assert [prompt.kind for prompt in split.judge.prompts].count("segmenter") == 1
    assert split.rubrics == [{"sentence 1": 1.0, "sentence 2": None}]
    assert (split.score, split.status) == (0.5, "PASSED")
    assert rationale(split, row=1).startswith("ABSTAIN · 2 FAIL, 2 PASS of 4")
    [pooled] = split.result.overall_rubric_scores or ()
    assert (pooled.rubric_id, pooled.score) == ("sentences", 0.5)
    assert pooled.rationale == "2 sentences: 1 PASS, 1 ABSTAIN"


@pytest.mark.parametrize(
    ("segments", "why"),
    [
        ("<sentence>It is cold.</sentence>\n<sentence>You must buy", "was cut off"),
        ("<sentence>It is cold.</sentence>", "the sentences hold 27% of it"),
    ],
)
def test_sentences_that_were_left_out_do_not_pass_unjudged(segments: str, why: str) -> None:
    turn = invocation("Oslo")
    turn.final_response = types.Content(
        role="model", parts=[types.Part(text="It is cold. You must buy our coat or die.")]
    )

    def script(prompt: Any) -> str:
        return segments if prompt.kind == "segmenter" else str(always("yes")(prompt))

    short = ours(script, metric=HALLUCINATIONS, turns=[turn])
    assert (short.status, short.judge.calls) == ("FAILED", 1)
    assert why in rationale(short)


def test_a_step_that_cannot_be_segmented_leaves_the_others(tmp_path: Path) -> None:
    turn = invocation("Oslo").model_dump()
    turn["intermediate_data"] = {
        "invocation_events": [{"author": "weather", "content": {"role": "model", "parts": [{"text": "Let me look."}]}}]
    }

    def script(prompt: Any) -> str:
        return "no idea" if prompt.kind == "segmenter" and "look" in prompt.text else str(always("yes")(prompt))

    half = evaluate_with(
        OURS,
        script,
        metric=HALLUCINATIONS,
        turns=[type(invocation("Oslo")).model_validate(turn)],
        evaluate_intermediate_nl_responses=True,
        samples=2,
        threshold=0.5,
        judge_harness={},
    )
    assert half.rubrics == [{"preparation": None, "step 2, sentence 1": 1.0}]
    assert (half.score, half.status) == (0.5, "PASSED")
    [file] = tmp_path.glob(".adk/judgeharness/*")
    assert len(file.read_text().splitlines()) == 1


def test_an_invocation_adk_makes_no_prompt_of_leaves_the_others() -> None:
    broken = invocation("Oslo").model_dump()
    call = {"function_call": {"name": "look", "args": {"picture": b"\xff"}}}
    broken["intermediate_data"] = {
        "invocation_events": [{"author": "weather", "content": {"role": "model", "parts": [call]}}]
    }
    turns = [type(invocation("Oslo")).model_validate(broken), invocation("Rome")]
    half = ours(always("yes"), metric=HALLUCINATIONS, turns=turns, samples=2, threshold=0.5)
    assert half.turns == [("FAILED", 0.0), ("PASSED", 1.0)]
    assert "the judge's prompt cannot be made (TypeError" in rationale(half)


def test_a_response_that_cannot_be_segmented_is_not_graded() -> None:
    def script(prompt: Any) -> str:
        return "no idea" if prompt.kind == "segmenter" else str(always("yes")(prompt))

    unread = ours(script, metric=HALLUCINATIONS)
    assert (unread.status, unread.judge.calls) == ("FAILED", 1)
    assert rationale(unread).startswith("NOT GRADED · the response could not be segmented")


def test_a_segmenter_that_is_down_is_not_graded() -> None:
    def script(prompt: Any) -> str:
        raise JudgeDown("503")

    down = ours(script, metric=HALLUCINATIONS, block={"max_attempts": 1})
    assert "JudgeDown: 503" in rationale(down)


def test_an_empty_response_has_no_sentence_to_judge() -> None:
    turn = invocation("Oslo")
    turn.final_response = None
    empty = ours(always("yes"), metric=HALLUCINATIONS, turns=[turn])
    assert (empty.status, empty.turns, empty.judge.calls) == ("NOT_EVALUATED", [("NOT_EVALUATED", None)], 0)


def test_everything_said_along_the_way_is_judged_step_by_step() -> None:
    turn = invocation("Oslo").model_dump()
    turn["intermediate_data"] = {
        "invocation_events": [{"author": "weather", "content": {"role": "model", "parts": [{"text": "Let me look."}]}}]
    }
    steps = ours(
        always("yes"),
        metric=HALLUCINATIONS,
        turns=[type(invocation("Oslo")).model_validate(turn)],
        samples=2,
        evaluate_intermediate_nl_responses=True,
    )
    assert steps.rubrics == [{"step 1, sentence 1": 1.0, "step 2, sentence 1": 1.0}]


def test_the_rationale_holds_a_line_for_people_one_for_programs_and_both_sides() -> None:
    script = per_rubric({"polite": ["yes", "yes", "no", "yes", "yes"]})
    lines = rationale(ours(script)).splitlines()
    assert lines[0] == "4 PASS, 1 FAIL of 5 · supermajority(2/3) · consistency 0.80 · uncalibrated"
    assert json.loads(lines[1])["samples"] == {"PASS": 4, "FAIL": 1}
    assert lines[2:] == ["reason (PASS): I say yes to polite.", "dissent (FAIL): I say no to polite."]


def test_the_overall_row_repeats_the_line_of_every_invocation() -> None:
    both = ours(always("yes"), turns=[invocation("Oslo"), invocation("Rome")])
    [row] = both.result.overall_rubric_scores or ()
    assert str(row.rationale).splitlines() == [
        "2 invocations: 2 PASS",
        "1. 5 PASS of 5 · supermajority(2/3) · consistency 1.00 · uncalibrated",
        "2. 5 PASS of 5 · supermajority(2/3) · consistency 1.00 · uncalibrated",
    ]


def test_a_single_sample_is_informal() -> None:
    single = ours(always("yes"), samples=1)
    assert rationale(single).splitlines()[0] == "1 PASS of 1 · one sample, informal · uncalibrated"
    assert "rule" not in facts(single)


def test_extra_rows_are_opt_in_and_do_not_change_the_score() -> None:
    script = per_rubric({"polite": ["yes", "yes", "no", "yes", "yes"]})
    rows = ours(script, block={"extra_rows": True})
    assert rows.rubrics == [{"polite": 1.0, "polite.consistency": 0.8, "polite.valid_samples": 1.0}]
    assert rows.score == 1.0


# What an abstention does


@pytest.mark.parametrize(
    ("on_abstain", "status", "score"),
    [("fail", "FAILED", 0.0), ("not_evaluated", "NOT_EVALUATED", None), ("informational", "INFORMATIONAL", None)],
)
def test_an_abstention_does_what_it_is_told_to(on_abstain: str, status: str, score: float | None) -> None:
    tie = ours(in_turn("yes", "no"), samples=2, block={"on_abstain": on_abstain})
    assert (tie.status, tie.score) == (status, score)


def test_decided_rubrics_settle_the_status_where_they_can(caplog: pytest.LogCaptureFixture) -> None:
    script = per_rubric({"polite": ["no", "no"], "short": ["yes", "no"]})
    block = {"on_abstain": "not_evaluated"}
    settled = ours(script, rubrics=("polite", "short"), samples=2, threshold=1.0, block=block)
    assert (settled.status, settled.score) == ("FAILED", 0.0)
    open_still = ours(script, rubrics=("polite", "short"), samples=2, threshold=0.5, block=block)
    assert (open_still.status, open_still.score) == ("NOT_EVALUATED", None)
    assert "came to no decision: turn 1 short abstained" in caplog.text
    assert "with on_abstain=not_evaluated the case can still pass" in caplog.text


@pytest.mark.parametrize("on_abstain", ["fail", "not_evaluated", "informational"])
def test_an_abstaining_metric_beside_a_passing_one(on_abstain: str) -> None:
    script = {FINAL_RESPONSE: in_turn("yes", "no"), TOOL_USE: always("yes")}

    def both(prompt: Any) -> str:
        return script[TOOL_USE if prompt.kind == "tool_use" else FINAL_RESPONSE](prompt)

    with outcomes.scripted_judge(both) as judge:
        criterion = judge_options(judge.model, samples=2, judge_harness={"on_abstain": on_abstain, **NO_SIDECAR})
        result = evaluate_case_with(OURS, {FINAL_RESPONSE: criterion, TOOL_USE: criterion})
    assert result.final_eval_status.name == ("FAILED" if on_abstain == "fail" else "PASSED")


# Perturbations


def prompts(perturbation: str, *, metric: str = FINAL_RESPONSE, **options: Any) -> list[str]:
    asked = ours(always("yes"), metric=metric, samples=1, block={"perturbations": ["none", perturbation]}, **options)
    assert asked.status == "PASSED", rationale(asked)
    return [prompt.text for prompt in asked.judge.prompts]


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, TOOL_USE, MULTI_TURN])
def test_rubric_order_shows_the_rubrics_in_another_order(metric: str) -> None:
    plain, shuffled = ours(
        always("yes"),
        metric=metric,
        samples=1,
        rubrics=("polite", "short", "warm"),
        block={"perturbations": ["none", "rubric_order"]},
    ).judge.prompts
    assert sorted(plain.rubrics) == sorted(shuffled.rubrics)
    assert list(plain.rubrics) != list(shuffled.rubrics)


def test_sentences_can_stand_in_another_order_too() -> None:
    turn = invocation("Oslo")
    turn.final_response = types.Content(role="model", parts=[types.Part(text="It is cold. I like snow.")])
    asked = prompts("rubric_order", metric=HALLUCINATIONS, turns=[turn])[1:]
    assert "<sentence>It is cold.</sentence>\n<sentence>I like snow.</sentence>" in asked[0]
    assert "<sentence>I like snow.</sentence>\n<sentence>It is cold.</sentence>" in asked[1]


def test_one_rubric_has_no_other_order() -> None:
    refused = ours(always("yes"), block={"perturbations": ["none", "rubric_order"]})
    assert (refused.status, refused.judge.calls) == ("FAILED", 0)
    assert "rubric_order needs two rubrics at least" in rationale(refused)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("metric", [FINAL_RESPONSE, MULTI_TURN, MATCH, HALLUCINATIONS])
@pytest.mark.parametrize("perturbation", ["format_change", "whitespace"])
def test_the_response_is_laid_out_anew(metric: str, perturbation: str) -> None:
    turn = invocation("Oslo")
    turn.final_response = types.Content(role="model", parts=[types.Part(text="It is cold.\n\nPut on a coat, please.")])
    asked = [text for text in prompts(perturbation, metric=metric, turns=[turn]) if "Segmentation Output" not in text]
    assert len(asked) == 2
    assert asked[0] != asked[1]
    assert " ".join("".join(c if c.isalnum() else " " for c in asked[0]).split()) == " ".join(
        "".join(c if c.isalnum() else " " for c in asked[1]).split()
    )


def test_a_prompt_without_the_response_has_nothing_to_lay_out() -> None:
    refused = ours(always("yes"), metric=TOOL_USE, block={"perturbations": ["none", "format_change"]})
    assert "the judge is not shown the answer" in rationale(refused)


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, TOOL_USE, MULTI_TURN, MATCH, HALLUCINATIONS])
def test_names_are_exchanged_everywhere_the_judge_looks(metric: str) -> None:
    turn = invocation("Oslo")
    block = {"perturbations": ["none", "name_swap"], "names": ["Oslo", "Quito"]}
    asked = ours(always("yes"), metric=metric, samples=1, turns=[turn], block=block)
    plain, swapped = [p.text for p in asked.judge.prompts if p.kind != "segmenter"]
    assert plain.count("Oslo") == swapped.count("Quito") > 0
    assert "Oslo" not in swapped
    assert swapped.replace("Quito", "Oslo") == plain


def test_the_reference_stands_first_where_the_prompt_shows_one() -> None:
    plain, swapped = prompts("position_swap", metric=MATCH)
    assert plain != swapped
    assert plain.index('"Agent response"') < plain.index('"Reference response"')
    assert swapped.index('"Agent response"') > swapped.index('"Reference response"')


def test_a_prompt_with_one_response_has_no_second_position() -> None:
    refused = ours(always("yes"), block={"perturbations": ["none", "position_swap"]})
    assert "position_swap needs two texts side by side" in rationale(refused)
    skipped = ours(always("yes"), block={"perturbations": ["none", "position_swap"], "on_unfit": "skip"})
    assert facts(skipped)["skipped"] == ["position_swap"]
    assert " · without position_swap · " in rationale(skipped)


def test_paraphrases_come_from_a_model_of_their_own() -> None:
    with outcomes.scripted_judge(lambda _: "It is chilly in Oslo.", model="scripted-judge-rewriter") as rewriter:
        block = {"perturbations": ["none", "paraphrase"], "rewriter": rewriter.model}
        asked = ours(always("yes"), samples=1, block=block)
        assert rewriter.calls == 1
    assert "It is chilly in Oslo." in asked.judge.prompts[1].text
    assert "It is chilly in Oslo." not in asked.judge.prompts[0].text


# The block


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"repetitons": 3}, "did you mean 'judge_harness.repetitions'?"),
        ({"repetitions": "3"}, "judge_harness.repetitions must be a whole number, not '3'"),
        ({"repetitions": 0}, "judge_harness.repetitions"),
        ({"on_abstain": "pass"}, "judge_harness.on_abstain must be 'fail', 'not_evaluated' or 'informational'"),
        ({"perturbations": ["rubric_ordr"]}, "did you mean 'rubric_order'?"),
        ({"perturbations": ["paraphrase"]}, "paraphrase needs a rewriter"),
        ({"aggregation_rule": "median"}, "rule median folds numbers"),
        ({"aggregation_rule": "nowhere:rule"}, "'nowhere:rule' is not imported: name a built-in rule"),
        ({"aggregation_rule": "mayb"}, "unknown rule 'mayb': did you mean 'maybe'?"),
        ({"calibration": "missing.json"}, "'missing.json' is no calibration below the folder of this agent"),
        ({"max_calls": 10_001}, "judge_harness.max_calls"),
        ({"max_calls": 3}, "more than max_calls=3: nothing was asked"),
        ({"sidecar": True}, "judge_harness.sidecar"),
    ],
)
def test_a_block_that_cannot_be_used_fails_the_metric_and_says_why(block: dict[str, Any], sentence: str) -> None:
    failed = ours(always("yes"), block=block)
    assert (failed.status, failed.score, failed.judge.calls) == ("FAILED", None, 0)
    assert rationale(failed).startswith("NOT MEASURED · ")
    assert sentence in rationale(failed)


def test_a_judge_model_nobody_knows_fails_the_metric() -> None:
    criterion = {**judge_options("no-such-model"), "judge_harness": NO_SIDECAR}
    result = evaluate_case_with(OURS, {FINAL_RESPONSE: criterion})
    [metric] = result.overall_eval_metric_results
    assert metric.eval_status.name == "FAILED"
    assert "judge_model 'no-such-model' cannot be made" in str(metric.details.rubric_scores)


@pytest.mark.parametrize("name", ["*", " ", ""])
def test_a_rubric_needs_a_name_of_its_own(name: str) -> None:
    refused = ours(always("yes"), rubrics=("polite", name))
    assert "a criterion cannot be named" in rationale(refused)


def test_an_invocation_without_a_rubric_is_left_out_beside_one_that_has_some() -> None:
    turns = [invocation("Oslo"), invocation("Rome", rubrics=[rubric("warm", kind="FINAL_RESPONSE_QUALITY")])]
    some = ours(always("yes"), turns=turns, rubrics=())
    assert some.turns == [("NOT_EVALUATED", None), ("PASSED", 1.0)]


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ({"judge_harnes": {"repetitions": 2}}, "unknown key 'judge_harnes': did you mean 'judge_harness'?"),
        ({"on_abstain": "informational"}, "key 'on_abstain' belongs into judge_harness, where it is read"),
        ({"judgeHarness": {}}, "judge_harness stands twice"),
        ({"harness": {}}, "unknown key 'harness': did you mean 'judge_harness'?"),
        ({"JUDGE_HARNESS": {}}, "unknown key 'JUDGE_HARNESS': known: judge_harness"),
        ({"judge-harness": {}}, "unknown key 'judge-harness': did you mean 'judge_harness'?"),
    ],
)
def test_a_block_in_the_wrong_place_is_not_overlooked(extra: dict[str, Any], sentence: str) -> None:
    assert sentence in rationale(ours(always("yes"), **extra))


def test_no_name_is_no_rule() -> None:
    unnamed = ours(always("yes"), block={"aggregation_rule": ""})
    assert (unnamed.status, unnamed.judge.calls) == ("FAILED", 0)
    assert "rule '' is malformed" in rationale(unnamed)


def test_the_block_may_be_written_in_camel_case() -> None:
    assert evaluate_with(OURS, always("yes"), judgeHarness={"repetitions": 2, "sidecar": False}).judge.calls == 2


def test_rubrics_that_conflict_fail_the_metric() -> None:
    turn = invocation("Oslo", rubrics=[rubric("polite", kind="FINAL_RESPONSE_QUALITY")])
    assert "already exists" in rationale(ours(always("yes"), turns=[turn]))
    assert "Rubrics are required" in rationale(ours(always("yes"), rubrics=()))
    assert "stands twice" in rationale(ours(always("yes"), rubrics=("polite", "polite")))


def test_what_came_to_no_decision_is_logged_without_what_errors_say(caplog: pytest.LogCaptureFixture) -> None:
    ours(in_turn("yes", JudgeDown("SECRET"), JudgeDown("SECRET")), samples=3, block={"max_attempts": 1})
    [record] = [record for record in caplog.records if record.name == "judgeharness_adk"]
    assert record.levelname == "WARNING"
    assert "came to no decision: turn 1 polite not_graded (2 JudgeDown of 3) (why, say the rationales" in caplog.text
    assert "SECRET" not in caplog.text


def test_twelve_undecided_rubrics_are_not_all_named(caplog: pytest.LogCaptureFixture) -> None:
    ours(in_turn("yes", "no"), samples=2, rubrics=tuple(f"rubric_{number}" for number in range(12)))
    assert "turn 1 rubric_9 abstained; and 2 more" in caplog.text


def test_a_misfit_is_told_by_turn() -> None:
    turns = [invocation("Oslo"), invocation("Rome")]
    block = {"perturbations": ["none", "name_swap"], "names": ["Oslo", "Quito"]}
    assert "perturbation 'name_swap' does not fit turn 2: " in rationale(ours(always("yes"), turns=turns, block=block))


def test_a_metric_without_a_criterion_fails() -> None:
    evaluator = EVALUATORS[FINAL_RESPONSE](EvalMetric(metric_name=FINAL_RESPONSE))
    result = asyncio.run(evaluator.evaluate_invocations([invocation("Oslo")]))
    assert result.overall_eval_status.name == "FAILED"
    assert "needs a criterion with a threshold" in str(result.overall_rubric_scores)


def test_what_nobody_foresaw_fails_the_metric_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("judgeharness_adk.evaluators.harness_of", broken)
    failed = ours(always("yes"))
    assert (failed.status, rationale(failed)) == ("FAILED", "NOT MEASURED · ZeroDivisionError: oh")
    assert "Traceback" in caplog.text


def test_invocations_must_match_the_expected_ones() -> None:
    with outcomes.scripted_judge(always("yes")) as judge:
        criterion = BaseCriterion.model_validate(judge_options(judge.model, judge_harness=NO_SIDECAR))
        evaluator = EVALUATORS[FINAL_RESPONSE](EvalMetric(metric_name=FINAL_RESPONSE, criterion=criterion))
        result = asyncio.run(evaluator.evaluate_invocations([invocation("Oslo")] * 2, [invocation("Oslo")]))
    assert "2 invocations cannot be compared with 1 expected ones" in str(result.overall_rubric_scores)


def test_invocations_without_ids_of_their_own_are_numbered(tmp_path: Path) -> None:
    turns = [invocation("Oslo").model_copy(update={"invocation_id": ""}), invocation("Rome"), invocation("Rome")]
    evaluate_with(OURS, always("yes"), turns=turns)
    [file] = tmp_path.glob(".adk/judgeharness/*")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    ids = [line["result"]["case_id"].rpartition("-") for line in lines]
    assert [name for name, _, _ in ids] == ["invocation#1", "turn_Rome#2", "turn_Rome#3"]
    assert {len(mark) for _, _, mark in ids} == {6}  # another eval case may number its invocations too


@pytest.mark.slow
def test_a_forked_process_writes_a_file_of_its_own(tmp_path: Path) -> None:
    evaluate_with(OURS, always("yes"))
    child = os.fork()
    if not child:
        sidecar._forget()
        sidecar.write({"from": "the child"}, tmp_path / ".adk/judgeharness")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(tmp_path.glob(".adk/judgeharness/*"))) == 2
    sidecar._forget()
    sidecar.write({"from": "the parent"}, tmp_path / ".adk/judgeharness")


def test_num_samples_is_the_default_for_repetitions() -> None:
    assert ours(always("yes"), samples=3).judge.calls == 3
    assert ours(always("yes"), samples=3, block={"repetitions": 7}).judge.calls == 7


def test_a_preset_skips_what_does_not_fit_a_metric() -> None:
    asked = ours(always("yes"), metric=TOOL_USE, block={"preset": "standard"})
    assert (asked.status, asked.judge.calls) == ("PASSED", 3)
    assert facts(asked)["skipped"] == ["format_change"]


def test_segmenting_counts_among_the_calls() -> None:
    spent = ours(always("yes"), metric=HALLUCINATIONS, samples=2, block={"max_calls": 2, "min_valid": 1})
    assert spent.judge.calls == 2
    assert "(1 asked)" in rationale(spent)
    turns = [invocation("Oslo"), invocation("Rome"), invocation("Lima")]
    none_left = ours(always("yes"), metric=HALLUCINATIONS, turns=turns, samples=1, block={"max_calls": 2})
    assert none_left.judge.calls == 2
    assert "max_calls was reached" in rationale(none_left, turn=2)


def test_copies_are_told_from_samples() -> None:
    long = Raw("ID: polite\nProperty: The answer is polite.\nRationale: " + "Very. " * 60 + "\nVerdict: yes")
    same = ours(always(long))
    assert rationale(same).startswith(
        "5 PASS of 5 · supermajority(2/3) · consistency 1.00 · 1 of them independent (identical long texts)"
    )
    assert facts(same)["independent"] == "collapsed"


def test_a_preset_brings_perturbations_and_repetitions() -> None:
    assert ours(always("yes"), samples=5, block={"preset": "standard"}).judge.calls == 6


def test_parallelism_limit_is_honoured_above_one() -> None:
    assert ours(always("yes"), samples=8, delay=0.02, parallelism=2).judge.in_flight_max == 2
    block = {"max_concurrency": 3}
    assert ours(always("yes"), samples=8, delay=0.02, parallelism=2, block=block).judge.in_flight_max == 3


def test_adk_makes_an_evaluator_of_every_metric() -> None:
    registered = {info.metric_name for info in OURS.get_registered_metrics()}
    assert set(JUDGES) <= registered
    assert judgeharness_adk.register(MetricEvaluatorRegistry()).harnessed == tuple(JUDGES)


def test_raw_text_of_a_refusal_is_kept_apart() -> None:
    silent = ours(in_turn("yes", "yes", "yes", Raw("")))
    assert facts(silent)["failed"]["unparsed"] >= 1


def test_a_rubric_is_asked_no_further_once_nothing_can_change() -> None:
    stopped = ours(always("yes"), samples=5, block={"curtail": True, "aggregation_rule": "majority"})
    assert stopped.judge.calls == 3
    assert stopped.status == "PASSED"
    whole = ours(in_turn("yes", "no"), samples=5, block={"curtail": True, "aggregation_rule": "majority"})
    assert whole.judge.calls == 5


def test_a_prompt_is_made_once_for_the_samples_of_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = JUDGES[FINAL_RESPONSE]
    made: list[str] = []
    plain = judge.prompt

    def counted(self: Any, case: Any) -> str:
        made.append(case.case_id)
        return plain(self, case)

    monkeypatch.setattr(judge, "prompt", counted)
    block = {"perturbations": ["none", "format_change"], "repetitions": 5}
    done = ours(always("yes"), turns=[invocation("Oslo"), invocation("Rome")], block=block)
    assert done.judge.calls == 20
    assert len([name for name in made if name != "-"]) == 4  # two invocations, each with two wordings


def test_the_machine_line_is_short_and_stands_in_one_row_alone() -> None:
    done = ours(per_rubric({"polite": ["yes", "yes", "no", "yes", "yes"]}))
    line = rationale(done).splitlines()[1]
    assert set(json.loads(line)) == {"judgeharness", "verdict", "planned", "samples", "rule", "model", "fingerprint"}
    assert len(line) < 200
    [overall] = done.result.overall_rubric_scores or ()
    assert overall.rationale == rationale(done).splitlines()[0]
