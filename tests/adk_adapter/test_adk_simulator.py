"""`per_turn_user_simulator_quality_v1`: the simulated user's turns, beside their scenario."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
from google.adk.evaluation.evaluator import EvaluationResult, Evaluator
from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from google.adk.evaluation.simulation.per_turn_user_simulator_quality_v1 import PerTurnUserSimulatorQualityV1
from google.genai.types import Content, Part
from support.adk_answers import JudgeDown, JudgePrompt
from support.adk_judges import scripted_judge

import judgeharness_adk
from judgeharness_adk.judges import JUDGES
from judgeharness_adk.options import DEFAULT_SIDECAR, judge_from_spec
from judgeharness_adk.reading import read_validity
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.judging.adapters import JudgeSpec
from judgeharness_integrations.migration.frameworks import JUDGES as SCANNED
from judgeharness_integrations.migration.rewriting.adk import block_for

METRIC = "per_turn_user_simulator_quality_v1"
STOP = "</finished>"
SCENARIO = ConversationScenario(starting_prompt="Hello there.", conversation_plan="Ask Mia for the weather in Oslo.")
TURNS = ("Hello there.", "What is the weather in Oslo?", "Thank you.")
Says = Callable[[str, int], str]


class Done(NamedTuple):
    result: EvaluationResult
    prompts: list[str]

    @property
    def turns(self) -> list[tuple[str, float | None]]:
        return [(one.eval_status.name, one.score) for one in self.result.per_invocation_results]

    def rows(self, turn: int) -> dict[str, float | None]:
        return {row.rubric_id: row.score for row in self.result.per_invocation_results[turn].rubric_scores or ()}


def said(prompt: str) -> str:
    return prompt.rpartition("# Generated User Response")[2].strip()


def valid(*, passes: bool) -> str:
    one = {"name": "CONVERSATIONAL_TONE", "reasoning": "It is stiff.", "passes": passes}
    return json.dumps({"criteria": [one], "is_valid": passes})


def always(_: str, __: int) -> str:
    return valid(passes=True)


def failing(*turns: str) -> Says:
    return lambda text, _: valid(passes=text not in turns)


def invocations(turns: Sequence[str]) -> list[Invocation]:
    return [
        Invocation(
            invocation_id=f"turn-{number}",
            user_content=Content(role="user", parts=[Part(text=text)]),
            final_response=Content(role="model", parts=[Part(text=f"Reply {number}.")]),
        )
        for number, text in enumerate(turns, start=1)
    ]


def evaluate(
    evaluator: Callable[[EvalMetric], Evaluator],
    says: Says,
    *,
    turns: Sequence[str] = TURNS,
    scenario: ConversationScenario | None = SCENARIO,
    threshold: float = 0.5,
    block: dict[str, Any] | None = None,
    **options: Any,
) -> Done:
    prompts: list[str] = []

    def script(prompt: JudgePrompt) -> str:
        prompts.append(prompt.text)
        return says(said(prompt.text), sum(said(one) == said(prompt.text) for one in prompts))

    with scripted_judge(script) as judge:
        criterion = {
            "threshold": threshold,
            "judge_model_options": {"judge_model": judge.model, "num_samples": 5, **options},
            "judge_harness": {"sidecar": False, **(block or {})},
        }
        metric = EvalMetric(metric_name=METRIC, criterion=BaseCriterion.model_validate(criterion))
        judged: Any = evaluator(metric).evaluate_invocations(invocations(turns), None, scenario)
        return Done(asyncio.run(judged), prompts)


def ours(says: Says, **options: Any) -> Done:
    return evaluate(judgeharness_adk.HarnessedPerTurnUserSimulatorQualityV1, says, **options)


@pytest.mark.parametrize(
    ("says", "turns"),
    [
        (always, TURNS),
        (failing(TURNS[1]), TURNS),
        (failing(STOP), TURNS),
        (failing(TURNS[1], TURNS[2], STOP), TURNS),
        (always, ("Hi!", *TURNS[1:])),
        (always, TURNS[:1]),
        (failing(STOP), TURNS[:1]),
    ],
    ids=["all", "one", "end", "most", "start", "alone", "alone-end"],
)
def test_scores_prompts_and_calls_are_those_of_adk(says: Says, turns: Sequence[str]) -> None:
    theirs, mine = evaluate(PerTurnUserSimulatorQualityV1, says, turns=turns), ours(says, turns=turns)
    assert (mine.result.overall_score, mine.result.overall_eval_status) == (
        theirs.result.overall_score,
        theirs.result.overall_eval_status,
    )
    assert mine.turns == theirs.turns
    assert sorted(mine.prompts) == sorted(theirs.prompts)
    assert len(mine.prompts) == 5 * len(turns)


def test_a_tie_fails_in_adk_and_abstains_here() -> None:
    def tied(text: str, number: int) -> str:
        return valid(passes=number % 2 == 0 or text != TURNS[1])

    theirs = evaluate(PerTurnUserSimulatorQualityV1, tied, num_samples=4)
    mine = ours(tied, num_samples=4, block={"on_abstain": "not_evaluated"})
    assert theirs.turns[1] == ("FAILED", 0.0)
    assert mine.turns[1] == ("NOT_EVALUATED", None)
    [row] = mine.result.per_invocation_results[1].rubric_scores or ()
    assert str(row.rationale).startswith("ABSTAIN · 2 ")
    assert " of 4 · supermajority(2/3)" in str(row.rationale)


def test_one_readable_answer_of_five_decides_in_adk_and_not_here() -> None:
    def silent(text: str, number: int) -> str:
        return valid(passes=True) if number == 1 or text != TURNS[1] else "I would rather not say."

    assert evaluate(PerTurnUserSimulatorQualityV1, silent).turns[1] == ("PASSED", 1.0)
    mine = ours(silent)
    assert mine.turns[1] == ("FAILED", 0.0)
    [row] = mine.result.per_invocation_results[1].rubric_scores or ()
    assert str(row.rationale).startswith("NOT GRADED · 1 PASS, 4 unparsed of 5")


def test_a_sample_that_raises_does_not_void_the_conversation() -> None:
    def down(text: str, number: int) -> str:
        if text == TURNS[1] and number == 1:
            raise JudgeDown("gone")
        return valid(passes=True)

    with pytest.raises(JudgeDown):
        evaluate(PerTurnUserSimulatorQualityV1, down)
    assert ours(down, block={"max_attempts": 1}).turns == [("PASSED", 1.0)] * 3


def test_the_last_turn_passes_if_the_conversation_was_to_end_there_too() -> None:
    ended = ours(failing(STOP))
    assert ended.rows(2) == {"user_turn": 1.0, "user_turn.end": 0.0}
    assert ended.turns[2] == ("FAILED", 0.0)
    assert ended.rows(0) == {"user_turn": 1.0}
    [first] = ended.result.per_invocation_results[0].rubric_scores or ()
    assert first.rationale == "PASS · the first turn is the starting prompt · compared, no judge asked"


def dead(_: str, __: int) -> str:
    raise JudgeDown("no such key")


def dead_at(*turns: str) -> Says:
    return lambda text, number: dead(text, number) if text in turns else valid(passes=True)


def torn(_: str, number: int) -> str:
    return valid(passes=number % 2 == 0)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("turns", [TURNS, TURNS[:2], TURNS[:1], ("Hi!", *TURNS[1:])])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("says", [dead, torn])
def test_where_the_judge_decided_nothing_the_comparison_decides_nothing_either(
    says: Says, threshold: float, turns: Sequence[str]
) -> None:
    done = ours(says, turns=turns, threshold=threshold, num_samples=4, block={"max_attempts": 1})
    assert (done.result.overall_score, done.result.overall_eval_status.name) == (0.0, "FAILED")
    assert done.turns == [("FAILED", 0.0)] * len(turns)  # of which AgentEvaluator takes the mean
    told = "\n".join(str(row.rationale) for row in done.result.overall_rubric_scores or ())
    assert "counts for nothing, as no judge decided anything else" in told
    assert ("JudgeDown: no such key" if says is dead else "ABSTAIN · 2 ") in told
    [first, *_] = done.result.per_invocation_results[0].rubric_scores or ()
    assert first.score == float(turns[0] == TURNS[0])


@pytest.mark.parametrize(("policy", "status"), [("not_evaluated", "NOT_EVALUATED"), ("informational", "INFORMATIONAL")])
def test_a_judge_that_decided_nothing_passes_by_no_policy(policy: str, status: str) -> None:
    block = {"max_attempts": 1, "on_abstain": policy}
    done = ours(dead, threshold=0.3, block=block)
    assert (done.result.overall_score, done.result.overall_eval_status.name) == (None, status)
    assert {score for _, score in done.turns} == {None}
    begun_otherwise = ours(dead, turns=("Hi!", *TURNS[1:]), threshold=0.9, block=block)
    assert begun_otherwise.result.overall_eval_status.name == "FAILED"  # whatever the judge would have said


@pytest.mark.parametrize(("threshold", "status"), [(0.5, "PASSED"), (0.7, "FAILED")])
def test_a_turn_that_was_not_graded_counts_as_not_fulfilled(threshold: float, status: str) -> None:
    done = ours(dead_at(TURNS[1]), threshold=threshold, block={"max_attempts": 1})
    assert done.turns == [("PASSED", 1.0), ("FAILED", 0.0), ("PASSED", 1.0)]
    assert (done.result.overall_score, done.result.overall_eval_status.name) == (2 / 3, status)
    end = ours(dead_at(STOP), threshold=threshold, block={"max_attempts": 1})
    assert end.turns == [("PASSED", 1.0), ("PASSED", 1.0), ("FAILED", 0.0)]


def test_the_log_tells_the_end_from_the_turn_and_what_was_not_asked(caplog: pytest.LogCaptureFixture) -> None:
    class Unauthorized(Exception):  # noqa: N818 - named as its client names it
        status_code = 401

    def locked(_: str, __: int) -> str:
        raise Unauthorized("no such key")

    ours(locked, turns=TURNS[:2], num_samples=6, block={"max_concurrency": 1})
    [record] = [record for record in caplog.records if record.name == "judgeharness_adk"]
    told = record.getMessage().partition(": ")[2]
    assert told.startswith(
        "turn 2 user_turn not_graded (3 Unauthorized, 3 not asked, of 6); "
        "turn 2 user_turn.end not_graded (6 not asked, of 6)"
    )


def test_results_read_back_name_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ours(failing(STOP), turns=TURNS[:2], num_samples=3, block={"sidecar": DEFAULT_SIDECAR})
    results = judgeharness_adk.load_results()
    assert [list(one.result.criteria) for one in results] == [["user_turn"], ["user_turn.end"]]
    assert [{row.criterion for row in one.result.rows} for one in results] == [{"user_turn"}, {"user_turn.end"}]
    assert [one.result.only.verdict for one in results] == ["PASS", "FAIL"]
    assert "user_turn.end" in results.report()


def test_without_a_scenario_the_metric_says_what_is_missing() -> None:
    bare = ours(always, scenario=None)
    assert bare.result.overall_eval_status.name == "FAILED"
    assert "give the eval case a conversation_scenario" in str(bare.result.overall_rubric_scores)
    assert not bare.prompts


def test_perturbations_change_the_turn_and_never_the_stop_signal() -> None:
    block = {"perturbations": ["none", "format_change"], "repetitions": 1, "on_unfit": "skip"}
    done = ours(always, block=block)
    shown = [said(prompt) for prompt in done.prompts]
    assert len(shown) == 2 + 2 + 1  # the end has no other format
    assert shown.count(STOP) == 1
    assert len({text for text in shown if text != STOP}) == 4


def test_names_are_swapped_in_the_plan_too() -> None:
    block = {"perturbations": ["none", "name_swap"], "repetitions": 1, "on_unfit": "skip", "names": ["Mia", "Ada"]}
    done = ours(always, turns=("Hello there.", "Is Ada there?"), block=block)
    changed = [prompt for prompt in done.prompts if "Is Mia there?" in said(prompt)]
    assert len(changed) == 1
    assert "Ask Ada for the weather" in changed[0]


def test_register_harnesses_it_and_a_function_of_its_name_is_there() -> None:
    registry = DEFAULT_METRIC_EVALUATOR_REGISTRY.fork()
    done = judgeharness_adk.register(registry)
    assert METRIC in done.harnessed
    assert METRIC not in done.left_alone
    assert callable(judgeharness_adk.per_turn_user_simulator_quality_v1)  # type: ignore[attr-defined]
    assert METRIC in SCANNED


def test_a_configuration_file_is_told_where_to_measure_it() -> None:
    spec = JudgeSpec(name="mine", evaluator=METRIC, model="replying", model_options={}, evaluator_options={})
    with pytest.raises(ConfigError, match=r"the turns of a simulated user .* measure it there"):
        judge_from_spec(spec)


def test_persona_prompts_and_the_stop_signal_are_part_of_the_identity() -> None:
    def identity(**extra: Any) -> Any:
        criterion = {"threshold": 0.5, "judge_model_options": {"judge_model": "gemini-2.5-flash"}, **extra}
        return JUDGES[METRIC](
            EvalMetric(metric_name=METRIC, criterion=BaseCriterion.model_validate(criterion))
        ).identity

    assert identity() == identity()
    assert identity().parameters["stop_signal"] == STOP
    assert identity(stop_signal="<bye>").prompt_hash != identity().prompt_hash


@pytest.mark.parametrize(
    ("text", "verdict", "reasoning"),
    [
        (valid(passes=True), "PASS", None),
        (valid(passes=False), "FAIL", "CONVERSATIONAL_TONE: It is stiff."),
        ('{"criteria": [{"name": "A", "reasoning": "so", "passes": False,},], "is_valid": False,}', "FAIL", "A: so"),
        ('{\n"is_valid": True\n}', "PASS", None),
        ('{"is_valid": true} {"is_valid": false}', None, "answered twice: valid and invalid"),
        ('{"is_valid": "perhaps"}', None, "validity 'perhaps' is neither valid nor invalid"),
        ('{"is_the_agent_response_valid": true}', None, "no is_valid in the answer"),
    ],
)
def test_answers_are_read_strictly(text: str, verdict: str | None, reasoning: str | None) -> None:
    answer = read_validity(text, "user_turn", key="is_valid")
    assert (answer.verdict, answer.reasoning) == (verdict, reasoning)


def test_migrate_varies_the_wording_of_a_turn_and_skips_where_there_is_none() -> None:
    assert block_for(METRIC, "measured", 0.5)["perturbations"] == ["none", "format_change"]
    assert block_for(METRIC, "measured", 0.5)["on_unfit"] == "skip"
    assert "repetitions" not in block_for(METRIC, "single", 0.5)


def test_what_the_judge_of_the_user_read_is_told_in_adks_fields() -> None:
    done = ours(always)
    overall = done.result.overall_token_usage_details
    assert overall is not None
    read = sum(len(prompt.split()) for prompt in done.prompts)  # the scripted judge's tokens are words
    assert overall.input_tokens == pytest.approx(read / len(TURNS))
