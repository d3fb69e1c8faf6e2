"""What ADK itself makes of a judge's samples, and the facts of running it that the adapter builds on.

Each defect is told of the ADK installed here. A later one that has mended it skips the test, and says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from google.adk.version import __version__ as adk_version
from support import adk_outcomes as outcomes
from support.adk_bench import (
    FINAL_RESPONSE,
    JudgeDown,
    Raw,
    always,
    api_base_variables,
    eval_config,
    in_turn,
    invocation,
    isolated_adk,
    judge_options,
    load_results,
    per_rubric,
    run_adk_eval,
    run_agent_evaluator,
    scripted_judge,
    serve,
    write_agent_folder,
)
from support.adk_offline import process_environment
from support.adk_outcomes import HALLUCINATIONS, MATCH, MULTI_TURN, TOOL_USE, evaluate_with

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.openai_server import OpenAIServer

ADK = DEFAULT_METRIC_EVALUATOR_REGISTRY
READ_HERE = adk_version.startswith("2.13.")

REGISTERS = "from support.adk_judges import always, register_judge\nregister_judge('scripted-judge', always('yes'))"
OVERRIDES = f"""
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, Evaluator, PerInvocationResult
from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY

class Overriding(Evaluator):
    def __init__(self, eval_metric):
        pass

    def evaluate_invocations(self, actual_invocations, expected_invocations=None, conversation_scenario=None):
        turns = [PerInvocationResult(actual_invocation=turn, score=0.25, eval_status=EvalStatus.PASSED)
                 for turn in actual_invocations]
        return EvaluationResult(
            overall_score=0.25, overall_eval_status=EvalStatus.PASSED, per_invocation_results=turns)

[info] = [info for info in DEFAULT_METRIC_EVALUATOR_REGISTRY.get_registered_metrics()
          if info.metric_name == {FINAL_RESPONSE!r}]
DEFAULT_METRIC_EVALUATOR_REGISTRY.register_evaluator(info, Overriding)
"""
REFUSES = OVERRIDES.replace("        pass", "        raise ValueError('this criterion is wrong')")
CUSTOM_METRIC = """
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult

async def measured(eval_metric, actual_invocations, expected_invocations, conversation_scenario):
    assert eval_metric.threshold is None and eval_metric.criterion.threshold == 0.5
    turns = [PerInvocationResult(actual_invocation=turn, score=0.75, eval_status=EvalStatus.PASSED)
             for turn in actual_invocations]
    return EvaluationResult(overall_score=0.75, overall_eval_status=EvalStatus.PASSED, per_invocation_results=turns)
"""


@pytest.fixture(autouse=True)
def adk(tmp_path: Path) -> Iterator[None]:
    with isolated_adk(tmp_path):
        yield


def defect(*, holds: bool, what: str) -> None:
    """Fail where this ADK is the one the defect was read in, skip where a later one has mended it."""
    if not holds and not READ_HERE:
        pytest.skip(f"ADK {adk_version} mended it: {what}")
    assert holds, what


def custom(module: str) -> dict[str, Any]:
    metric = {"code_config": {"name": f"{module}.measured"}}
    return eval_config({"measured": 0.5}, custom_metrics={"measured": metric})


# What ADK makes of samples


def test_a_tie_is_a_failure() -> None:
    outcome = outcomes.two_two_tie(ADK)
    assert outcome.judge.calls == 4
    defect(holds=(outcome.status, outcome.score) == ("FAILED", 0.0), what="2 yes and 2 no is FAILED 0.0")


def test_one_sample_that_raises_voids_the_other_four() -> None:
    outcome = outcomes.one_sample_raises(ADK)
    assert outcome.judge.calls == 5
    defect(holds=outcome.turns == [("NOT_EVALUATED", None)], what="4 yes and one exception is NOT_EVALUATED")


def test_samples_that_cannot_be_read_vanish() -> None:
    outcome = outcomes.mostly_unparseable(ADK)
    assert outcome.judge.calls == 5
    defect(holds=(outcome.status, outcome.score) == ("PASSED", 1.0), what="1 yes of 5 samples is PASSED 1.0")


def test_not_knowing_is_counted_as_no() -> None:
    outcome = outcomes.unknown_word(ADK)
    defect(holds=outcome.rubrics == [{"polite": 0.0}], what='"unknown" holds "no" and is scored 0.0')


def test_samples_run_one_after_the_other() -> None:
    outcome = outcomes.all_at_once(ADK)
    assert outcome.judge.calls == 5
    defect(holds=outcome.judge.in_flight_max == 1, what="parallelism_limit is 1 where nothing is said")


def test_rubrics_of_an_invocation_hide_those_of_the_one_before() -> None:
    outcome = outcomes.two_sets_of_rubrics(ADK)
    assert [list(prompt.rubrics) for prompt in outcome.judge.prompts] == [["in_degrees"]] * 2 + [["in_words"]] * 2
    defect(
        holds=outcome.turns == [("NOT_EVALUATED", None), ("FAILED", 0.0)] and outcome.rubrics == [{}, {"in_words": 0}],
        what="answers are read with the last invocation's rubrics",
    )


def test_a_metric_without_a_result_does_not_keep_the_case_from_passing() -> None:
    case = outcomes.silent_beside_passing(ADK)
    statuses = {metric.metric_name: metric.eval_status.name for metric in case.overall_eval_metric_results}
    assert statuses == {FINAL_RESPONSE: "NOT_EVALUATED", TOOL_USE: "PASSED"}
    defect(holds=case.final_eval_status.name == "PASSED", what="NOT_EVALUATED beside PASSED makes a case PASSED")


# The bench's judge


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, TOOL_USE, MULTI_TURN, MATCH, HALLUCINATIONS])
def test_one_script_serves_every_metric(metric: str) -> None:
    turns = [invocation("Oslo"), invocation("Rome")]
    kinds = {FINAL_RESPONSE: "final_response", TOOL_USE: "tool_use", MULTI_TURN: "multi_turn", MATCH: "match"}
    for word, status, score in (("yes", "PASSED", 1.0), ("no", "FAILED", 0.0)):
        outcome = evaluate_with(ADK, always(word), metric=metric, turns=turns, samples=3)
        assert (outcome.status, outcome.score) == (status, score)
        asked = {prompt.kind for prompt in outcome.judge.prompts}
        assert asked == ({kinds[metric]} if metric in kinds else {"segmenter", "validator"})


def test_verdicts_are_dealt_to_each_invocation_in_turn() -> None:
    script = per_rubric({"polite": ["yes", "no", "yes", "yes", "no"], "short": ["no", "no", "yes", "no", "yes"]})
    turns = [invocation("Oslo"), invocation("Rome")]
    outcome = evaluate_with(ADK, script, turns=turns, rubrics=("polite", "short"), parallelism=10, delay=0.01)
    assert outcome.judge.in_flight_max == 10
    assert outcome.rubrics == [{"polite": 1.0, "short": 0.0}] * 2


def test_an_answer_can_leave_rubrics_out_or_be_anything() -> None:
    script = in_turn({"polite": "yes"}, Raw(""), {"polite": "yes", "short": "no"})
    outcome = evaluate_with(ADK, script, rubrics=("polite", "short"), samples=3)
    assert outcome.rubrics == [{"polite": 1.0, "short": 0.0}]


# Running ADK


def test_adk_eval_says_the_verdict_by_its_exit_code_and_keeps_the_result(tmp_path: Path) -> None:
    folder = write_agent_folder(tmp_path, cases=2, turns=2)
    for script, code, passed in ((always("yes"), 0, 2), (always("no"), 1, 0)):
        with scripted_judge(script) as judge:
            run = run_adk_eval(folder, "--print_detailed_results", in_process=True)
        assert (run.exit_code, judge.calls) == (code, 2 * 2 * 5)
        assert f"Eval Run Summary\nweather_set:\n  Tests passed: {passed}\n  Tests failed: {2 - passed}\n" in run.stdout
        assert "Reasoning: This is an aggregated score derived from individual entries." in run.stdout
    assert {case.final_eval_status.name for case in load_results(folder)[0].eval_case_results} == {"PASSED"}
    assert {case.final_eval_status.name for case in load_results(folder)[1].eval_case_results} == {"FAILED"}
    assert {file.parent for file in tmp_path.rglob("*.evalset_result.json")} == {folder.path / ".adk" / "eval_history"}


def test_a_script_of_the_agents_file_judges_in_a_process_of_its_own(tmp_path: Path) -> None:
    folder = write_agent_folder(tmp_path, extra=REGISTERS)
    run = run_adk_eval(folder)
    assert (run.exit_code, "Tests passed: 1" in run.stdout) == (0, True), run.stderr
    [result] = load_results(folder)
    assert result.eval_case_results[0].final_eval_status.name == "PASSED"


def test_agent_and_judge_can_be_litellm_models_of_the_loopback_server(
    tmp_path: Path, openai_server: Callable[..., OpenAIServer]
) -> None:
    server = openai_server(serve(in_turn("yes", "no", "yes")))
    judged = judge_options("openai/judge-test", samples=3)
    folder = write_agent_folder(
        tmp_path, api_base=f"{server.url}/v1", config=eval_config({FINAL_RESPONSE: judged, TOOL_USE: judged})
    )
    run = run_adk_eval(folder, env=api_base_variables(server.url), in_process=True)
    assert (run.exit_code, "Tests passed: 1" in run.stdout) == (0, True)
    assert [request.model for request in server.requests] == ["gpt-4o-test"] * 2 + ["judge-test"] * 6


@pytest.mark.parametrize(("attempts", "calls"), [(None, 8), (0, 1)])
def test_litellm_judges_send_a_refused_request_again(
    tmp_path: Path, openai_server: Callable[..., OpenAIServer], attempts: int | None, calls: int
) -> None:
    server = openai_server(serve(always(JudgeDown("the prompt is too long"))))
    judged = judge_options("openai/judge-test", samples=1, attempts=attempts)
    folder = write_agent_folder(tmp_path, config=eval_config({FINAL_RESPONSE: judged}))
    run = run_adk_eval(folder, env=api_base_variables(server.url), in_process=True)
    assert (run.exit_code, [request.model for request in server.requests][:1]) == (1, ["judge-test"])
    defect(holds=server.calls == calls, what="ADK's 7 HTTP attempts are 7 retries of LiteLLM, status 400 included")


def test_agent_evaluator_raises_where_a_metric_fails(tmp_path: Path) -> None:
    folder = write_agent_folder(tmp_path)
    with scripted_judge(always("yes")) as judge:
        assert run_agent_evaluator(folder, num_runs=2).failure is None
    assert judge.calls == 2 * 5
    with scripted_judge(always("no")):
        run = run_agent_evaluator(folder)
    assert f"{FINAL_RESPONSE} for weather_app Failed. Expected 1.0, but got 0.0." in str(run.failure)
    assert len(load_results(folder)) == 2


def test_an_evaluator_registered_by_the_agents_file_is_used(tmp_path: Path) -> None:
    folder = write_agent_folder(tmp_path, extra=OVERRIDES, config=eval_config({FINAL_RESPONSE: 0.2}))
    assert run_adk_eval(folder, in_process=True).exit_code == 0
    assert run_agent_evaluator(folder).failure is None
    for result in load_results(folder):
        metric = result.eval_case_results[0].overall_eval_metric_results[0]
        assert (metric.metric_name, metric.score) == (FINAL_RESPONSE, 0.25)


@pytest.mark.parametrize("beside_passing", [False, True])
def test_an_evaluator_that_cannot_be_made_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, beside_passing: bool
) -> None:
    criteria = {FINAL_RESPONSE: 0.2, **({"tool_trajectory_avg_score": 1.0} if beside_passing else {})}
    folder = write_agent_folder(tmp_path, extra=REFUSES, config=eval_config(criteria))
    run = run_adk_eval(folder, in_process=True)
    [result] = load_results(folder)
    case = result.eval_case_results[0]
    assert case.overall_eval_metric_results[0].eval_status.name == "NOT_EVALUATED"
    assert "this criterion is wrong" in caplog.text
    assert "this criterion is wrong" not in run.stdout
    defect(holds=run.exit_code == (0 if beside_passing else 1), what="the exit code hides a metric that cannot be made")


def test_a_function_of_the_agents_package_is_a_metric_by_another_name_for_each_command(tmp_path: Path) -> None:
    files = {"metrics.py": CUSTOM_METRIC}
    folder = write_agent_folder(tmp_path, config=custom("agent.metrics"), files=files)
    assert run_adk_eval(folder, in_process=True).exit_code == 0
    assert "was not evaluated" in str(run_agent_evaluator(folder).failure)
    folder.config.write_text(json.dumps(custom("weather_app.metrics")))
    assert run_adk_eval(folder, in_process=True).exit_code == 1
    assert run_agent_evaluator(folder).failure is None
    scores = [result.eval_case_results[0].overall_eval_metric_results[0].score for result in load_results(folder)]
    assert scores == [0.75, None, None, 0.75]


def test_what_a_criterion_holds_beside_adks_own_is_kept_with_the_result(tmp_path: Path) -> None:
    ours = {"repetitions": 3}
    criterion = judge_options("scripted-judge", samples=1, judge_harness=ours)
    folder = write_agent_folder(tmp_path, config=eval_config({FINAL_RESPONSE: criterion}))
    with scripted_judge(always("yes")):
        run_adk_eval(folder, in_process=True)
    [result] = load_results(folder)
    kept = result.eval_case_results[0].overall_eval_metric_results[0].criterion
    assert kept is not None
    assert (kept.model_extra or {})["judge_harness"] == ours


# Nothing leaves this machine, and nothing stays in this process


def test_a_process_of_the_bench_reaches_nothing_else(tmp_path: Path) -> None:
    code = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)"
    env = process_environment(tmp_path, {})
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    assert "NetworkRefusedError: this test would have reached '192.0.2.1'" in done.stderr


def test_what_an_agents_file_registers_is_forgotten(tmp_path: Path) -> None:
    own = ADK._registry[FINAL_RESPONSE]
    with isolated_adk(tmp_path / "inner"):
        folder = write_agent_folder(tmp_path / "inner", extra=OVERRIDES, config=eval_config({FINAL_RESPONSE: 0.2}))
        assert run_adk_eval(folder, in_process=True).exit_code == 0
        assert ADK._registry[FINAL_RESPONSE] != own
    assert ADK._registry[FINAL_RESPONSE] == own
    assert not [name for name in sys.modules if name == "agent" or name.startswith(("agent.", "weather_app"))]
