"""The real `adk eval` and the real `AgentEvaluator` with our evaluators in the place of ADK's."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from support.adk_bench import (
    FINAL_RESPONSE,
    AgentFolder,
    JudgeDown,
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
from support.adk_outcomes import HALLUCINATIONS, MATCH, TOOL_USE, evaluate_case_with
from support.openai_replies import Reply

import judgeharness_adk
from judgeharness_adk.evaluators import EVALUATORS
from judgeharness_adk.options import harness_of
from judgeharness_adk.outcomes import SUFFIX
from judgeharness_integrations import CalibrationReport, HarnessResult
from judgeharness_integrations._errors import ConfigError

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.openai_server import OpenAIServer

REGISTER = "import judgeharness_adk\njudgeharness_adk.register()"
RULE = "supermajority(2/3)"
OWN_RULE = """
def first(rows):
    return min(rows, key=lambda row: row.repetition).verdict
"""
GOOD = "5 PASS of 5 · supermajority(2/3) · consistency 1.00"


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        yield


def agent(
    tmp_path: Path, criteria: dict[str, Any] | None = None, *, model: str = "scripted-judge", **options: Any
) -> AgentFolder:
    config = eval_config(criteria or {FINAL_RESPONSE: judge_options(model)}, **options.pop("config", {}))
    return write_agent_folder(tmp_path, config=config, extra=options.pop("extra", REGISTER), **options)


def sidecar_lines(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.joinpath(".adk", "judgeharness").glob(f"*{SUFFIX}"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def rubric_rows(folder: AgentFolder, metric: str = FINAL_RESPONSE) -> list[Any]:
    return [
        row
        for persisted in load_results(folder)
        for case in persisted.eval_case_results
        for turn in case.eval_metric_result_per_invocation
        for one in turn.eval_metric_results
        if one.metric_name == metric
        for row in one.details.rubric_scores or ()
    ]


# (a) register() in agent.py


def test_adk_eval_with_litellm_in_a_process_of_its_own(tmp_path: Path, openai_server: Any) -> None:
    server: OpenAIServer = openai_server(serve(in_turn("yes", "yes", "no", "yes", "yes")))
    folder = agent(tmp_path, model="openai/judge-test", api_base=f"{server.url}/v1", cases=2)
    run = run_adk_eval(folder, "--print_detailed_results", env=api_base_variables(server.url), cwd=tmp_path)
    assert run.exit_code == 0, run.stderr
    assert "Tests passed: 2" in run.stdout
    assert f"Reasoning: 4 PASS, 1 FAIL of 5 · {RULE} · consistency 0.80 · uncalibrated" in run.stdout
    [persisted] = load_results(folder)
    assert len(persisted.eval_case_results) == 2
    for case in persisted.eval_case_results:
        [turn] = case.eval_metric_result_per_invocation
        metric = next(one for one in turn.eval_metric_results if one.metric_name == FINAL_RESPONSE)
        [row] = metric.details.rubric_scores or ()
        assert str(row.rationale).startswith("4 PASS, 1 FAIL of 5")
    lines = sidecar_lines(tmp_path)
    assert {line["output"] for line in lines} == {"It is 10 degrees in Oslo.", "It is 11 degrees in Rome."}
    ids = {
        turn.actual_invocation.invocation_id
        for c in persisted.eval_case_results
        for turn in c.eval_metric_result_per_invocation
    }
    assert {line["invocation_id"] for line in lines} == ids
    results = [HarnessResult.from_dict(line["result"]) for line in lines]
    assert {row.input_tokens for result in results for row in result.rows} != {None}
    assert {result.judge_model for result in results} == {"openai/judge-test"}


def test_a_judge_that_is_down_fails_the_case_after_a_few_attempts(tmp_path: Path, openai_server: Any) -> None:
    server: OpenAIServer = openai_server(serve(lambda _: Reply.status(503, retry_after=0.01)))
    criterion = judge_options("openai/judge-test", samples=2, judge_harness={"max_attempts": 2})
    folder = agent(tmp_path, {FINAL_RESPONSE: criterion})
    env = api_base_variables(server.url)
    run = run_adk_eval(folder, "--print_detailed_results", env=env, in_process=True)
    assert run.exit_code == 1
    assert "NOT GRADED · 2 error of 2" in run.stdout
    assert server.calls == 4  # two samples, two attempts each: the client's own are off


def test_a_cache_of_litellm_does_not_answer_two_samples_with_one_reply(tmp_path: Path, openai_server: Any) -> None:
    import litellm
    from litellm.caching.caching import Cache

    server: OpenAIServer = openai_server(serve(in_turn("yes", "yes", "no", "yes", "yes")))
    one_by_one = {"max_concurrency": 1}  # a cache knows an answer only afterwards
    folder = agent(tmp_path, {FINAL_RESPONSE: judge_options("openai/judge-test", judge_harness=one_by_one)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(litellm, "cache", Cache(type="local"))
        run = run_adk_eval(folder, "--print_detailed_results", env=api_base_variables(server.url), in_process=True)
    assert (run.exit_code, server.calls) == (0, 5)
    assert "4 PASS, 1 FAIL of 5" in run.stdout


def test_a_rate_limit_is_waited_for(tmp_path: Path, openai_server: Any) -> None:
    asked: list[int] = []

    def script(prompt: Any) -> Any:
        asked.append(1)
        return Reply.status(429, retry_after=0.01) if len(asked) % 2 else always("yes")(prompt)

    server: OpenAIServer = openai_server(serve(script))
    folder = agent(tmp_path, {FINAL_RESPONSE: judge_options("openai/judge-test", samples=2, parallelism=1)})
    run = run_adk_eval(folder, "--print_detailed_results", env=api_base_variables(server.url), in_process=True)
    assert run.exit_code == 0, run.stderr
    assert "2 PASS of 2" in run.stdout


def test_an_abstention_fails_the_case_beside_a_passing_metric(tmp_path: Path) -> None:
    words = {FINAL_RESPONSE: in_turn("yes", "no"), TOOL_USE: always("yes")}
    folder = agent(tmp_path, {name: judge_options("scripted-judge", samples=2) for name in words})
    with scripted_judge(lambda p: words[TOOL_USE if p.kind == "tool_use" else FINAL_RESPONSE](p)):
        run = run_adk_eval(folder, "--print_detailed_results", in_process=True)
    assert run.exit_code == 1
    assert "Tests failed: 1" in run.stdout
    assert f"Reasoning: ABSTAIN · 1 PASS, 1 FAIL of 2 · {RULE} · consistency 0.50 · uncalibrated" in run.stdout


def test_a_mistake_in_the_block_fails_the_case_beside_a_passing_metric(tmp_path: Path) -> None:
    criteria = {
        FINAL_RESPONSE: judge_options("scripted-judge", judge_harness={"repetitons": 3}),
        TOOL_USE: judge_options("scripted-judge"),
    }
    with scripted_judge(always("yes")):
        run = run_adk_eval(agent(tmp_path, criteria), "--print_detailed_results", in_process=True)
    assert run.exit_code == 1
    assert "did you mean 'judge_harness.repetitions'?" in run.stdout


def test_agent_evaluator_passes_fails_and_abstains(tmp_path: Path) -> None:
    folder = agent(tmp_path)
    for script, samples_say in ((always("yes"), None), (always("no"), "Failed. Expected 1.0, but got 0.0")):
        with scripted_judge(script):
            run = run_agent_evaluator(folder, num_runs=2)
        assert run.failure is None if samples_say is None else samples_say in str(run.failure)
    with scripted_judge(in_turn("yes", "no", "no", "yes")):
        folder.config.write_text(json.dumps(eval_config({FINAL_RESPONSE: judge_options("scripted-judge", samples=4)})))
        abstained = run_agent_evaluator(folder)
    assert "but got 0.0" in str(abstained.failure)


def test_a_mistake_in_the_block_fails_agent_evaluator_too(tmp_path: Path) -> None:
    folder = agent(tmp_path, {FINAL_RESPONSE: judge_options("scripted-judge", judge_harness={"keep": "everything"})})
    with scripted_judge(always("yes")):
        assert "Expected 1.0, but got 0.0" in str(run_agent_evaluator(folder).failure)


def test_a_run_that_was_not_measured_counts_beside_one_that_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []

    def harness_of_the_second(*given: Any, **options: Any) -> Any:
        runs.append(1)
        if len(runs) == 1:
            raise ConfigError("this run cannot be measured.")
        return harness_of(*given, **options)

    monkeypatch.setattr("judgeharness_adk.evaluators.harness_of", harness_of_the_second)
    folder = agent(tmp_path)
    with scripted_judge(always("yes")):
        run = run_agent_evaluator(folder, num_runs=2)
    said = [str(row.rationale) for row in rubric_rows(folder)]
    assert sum(text == "NOT MEASURED · this run cannot be measured." for text in said) == 1
    assert "but got 0.5" in str(run.failure)


@pytest.mark.parametrize("on_abstain", ["fail", "not_evaluated", "informational"])
def test_agent_evaluator_does_what_an_abstention_is_told_to(tmp_path: Path, on_abstain: str) -> None:
    block = {"on_abstain": on_abstain}
    folder = agent(tmp_path, {FINAL_RESPONSE: judge_options("scripted-judge", samples=2, judge_harness=block)})
    with scripted_judge(in_turn("yes", "no")):
        failure = run_agent_evaluator(folder).failure
    expected = {"fail": "but got 0.0", "not_evaluated": "was not evaluated", "informational": "None"}
    assert expected[on_abstain] in str(failure)


def test_the_block_is_persisted_and_reloaded(tmp_path: Path) -> None:
    block = {"perturbations": ["none", "format_change"], "repetitions": 3}
    folder = agent(tmp_path, {FINAL_RESPONSE: judge_options("scripted-judge", judge_harness=block)})
    with scripted_judge(always("yes")) as judge:
        assert run_adk_eval(folder, in_process=True).exit_code == 0
    assert judge.calls == 6
    [persisted] = load_results(folder)
    [case] = persisted.eval_case_results
    metric = next(one for one in case.overall_eval_metric_results if one.metric_name == FINAL_RESPONSE)
    assert (metric.criterion.model_extra or {})["judge_harness"] == block  # type: ignore[union-attr]


def test_what_register_leaves_alone_is_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "judgeharness_adk"):
        done = judgeharness_adk.register()
    assert FINAL_RESPONSE in done.harnessed
    left = {
        "safety_v1",
        "response_evaluation_score",
        "multi_turn_task_success_v1",
    }
    assert left <= set(done.left_alone)
    assert "single call: safety_v1 (Vertex AI's evaluation service judges it" in str(done)
    [logged] = [record.message for record in caplog.records if record.name == "judgeharness_adk"]
    assert logged == done.line
    assert "\n" not in logged
    assert logged.startswith(f"harnessed: {FINAL_RESPONSE}, ")
    assert "under supermajority(2/3) of num_samples calls (ADK's default: 5); single call: " in logged
    everything = {info.metric_name for info in DEFAULT_METRIC_EVALUATOR_REGISTRY.get_registered_metrics()}
    measured = {"tool_trajectory_avg_score", "response_match_score", "tool_call_count_v1", "inference_call_count_v1"}
    measured |= {"token_usage_v1", "invocation_duration_v1"}  # no judge is asked
    assert everything == {*done.harnessed, *done.left_alone, *measured}


# (b) custom_metrics


def test_custom_metrics_name_our_functions(tmp_path: Path) -> None:
    custom = {"custom_metrics": {"polite_and_short": {"code_config": {"name": f"judgeharness_adk.{FINAL_RESPONSE}"}}}}
    criteria = {"polite_and_short": judge_options("scripted-judge", rubrics=("polite", "short"))}
    folder = agent(tmp_path, criteria, config=custom, extra="")
    script = per_rubric({"polite": ["yes"] * 5, "short": ["no", "yes", "no", "no", "no"]})
    with scripted_judge(script):
        run = run_adk_eval(folder, "--print_detailed_results", in_process=True)
        failure = run_agent_evaluator(folder).failure
    assert run.exit_code == 1
    assert "Metric: polite_and_short, Status: FAILED, Score: 0.5" in run.stdout
    assert f"4 FAIL, 1 PASS of 5 · {RULE}" in run.stdout
    assert "but got 0.5" in str(failure)
    assert {line["metric"] for line in sidecar_lines(tmp_path)} == {"polite_and_short"}


def test_functions_of_the_package_are_named_after_the_metrics() -> None:
    function = getattr(judgeharness_adk, MATCH)
    assert (function.__name__, function) == (MATCH, getattr(judgeharness_adk, MATCH))
    with pytest.raises(AttributeError, match="has no attribute 'no_such_metric'"):
        _ = judgeharness_adk.no_such_metric


# (c) a registry of one's own


def test_a_forked_registry_leaves_the_default_one_alone() -> None:
    registry = DEFAULT_METRIC_EVALUATOR_REGISTRY.fork()
    judgeharness_adk.register(registry)
    with scripted_judge(in_turn("yes", "no")) as judge:
        criterion = {FINAL_RESPONSE: judge_options(judge.model, samples=2, judge_harness={"sidecar": False})}
        mine = evaluate_case_with(registry, criterion)
        theirs = evaluate_case_with(DEFAULT_METRIC_EVALUATOR_REGISTRY, criterion)
    rows = [
        str(one.overall_eval_metric_results[0].details.rubric_scores[0].rationale)  # type: ignore[index]
        for one in (mine, theirs)
    ]
    assert rows[0].startswith("ABSTAIN")
    assert rows[1].startswith("This is an aggregated score")


# Calibration


def labelled(folder: Path, tmp_path: Path) -> CalibrationReport:
    """Fill the sheet of what was measured, and calibrate on it."""
    results = judgeharness_adk.load_results(folder)
    sheet = results.write_labelling_sheet(tmp_path / "sheet.jsonl")
    lines = [json.loads(line) for line in sheet.read_text().splitlines()]
    for line in lines:
        line["gold"] = "yes"
    sheet.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return results.calibrate(sheet, name="weather_labels")


def test_a_calibration_is_printed_while_it_holds_and_expires_with_the_prompt(tmp_path: Path) -> None:
    folder = agent(tmp_path, cases=3)
    with scripted_judge(always("yes")):
        assert run_adk_eval(folder, in_process=True).exit_code == 0
        report = labelled(tmp_path, tmp_path)
        block = {"calibration": report.save(folder.path / "calibration.json").name}
        folder.config.write_text(
            json.dumps(eval_config({FINAL_RESPONSE: judge_options("scripted-judge", judge_harness=block)}))
        )
        valid = run_adk_eval(folder, "--print_detailed_results", in_process=True)
        assert f"Reasoning: {GOOD} · precision 1.00, recall 1.00 (n=3)" in valid.stdout
        changed = judge_options("scripted-judge", judge_harness=block)
        changed["rubrics"][0]["rubric_content"]["text_property"] = "The answer is very polite."
        folder.config.write_text(json.dumps(eval_config({FINAL_RESPONSE: changed})))
        expired = run_adk_eval(folder, "--print_detailed_results", in_process=True)
    assert f"Reasoning: {GOOD} · calibration expired: prompt changed" in expired.stdout


def test_labels_of_a_model_and_rubrics_without_labels_calibrate_nothing(tmp_path: Path) -> None:
    folder = agent(tmp_path, cases=1)
    with scripted_judge(always("yes")):
        assert run_adk_eval(folder, in_process=True).exit_code == 0
        report = labelled(tmp_path, tmp_path)
        path = tmp_path / "calibration.json"
        replace(report, source="model:gpt-4o").save(path)
        assert "agreement with gpt-4o: precision 1.00, recall 1.00 (n=1)" in rationale_with(path)
        replace(report, criteria={}).save(path)
        assert "uncalibrated: weather_labels holds no labels of this criterion" in rationale_with(path)


def test_a_calibration_expires_with_model_rule_and_age(tmp_path: Path) -> None:
    folder = agent(tmp_path, cases=1)
    with scripted_judge(always("yes")):
        assert run_adk_eval(folder, in_process=True).exit_code == 0
    report = labelled(tmp_path, tmp_path)
    path = report.save(tmp_path / "calibration.json")
    with scripted_judge(always("yes"), model="scripted-judge-two"):
        other = rationale_with(path, model="scripted-judge-two", aggregation_rule="majority")
    assert "calibration expired: model, rule changed" in other
    old = json.loads(path.read_text()) | {"measured_at": (datetime.now(UTC) - timedelta(days=40)).isoformat()}
    path.write_text(json.dumps(old))
    with scripted_judge(always("yes")):
        assert "calibration expired: 40 days old, allowed 30 days" in rationale_with(path)


def rationale_with(calibration: Path, *, model: str = "scripted-judge", **block: Any) -> str:
    registry = DEFAULT_METRIC_EVALUATOR_REGISTRY.fork()
    judgeharness_adk.register(registry, folder=calibration.parent)
    criterion = judge_options(model, judge_harness={"calibration": calibration.name, "sidecar": False, **block})
    [metric] = evaluate_case_with(registry, {FINAL_RESPONSE: criterion}).overall_eval_metric_results
    return str((metric.details.rubric_scores or ())[0].rationale)


# What the judge is shown


def test_names_are_exchanged_in_all_an_agent_saw_and_did(tmp_path: Path) -> None:
    block = {"perturbations": ["none", "name_swap"], "names": ["Oslo", "Quito"], "repetitions": 1}
    metrics = {name: judge_options("scripted-judge", judge_harness=block) for name in (FINAL_RESPONSE, TOOL_USE)}
    with scripted_judge(always("yes")) as judge:
        assert run_adk_eval(agent(tmp_path, metrics), in_process=True).exit_code == 0
    texts = [prompt.text for prompt in judge.prompts]
    for plain, swapped in (texts[:2], texts[2:]):
        assert "get_weather" in plain  # tool declarations and calls are there
        assert plain.count("Oslo") >= 3
        assert swapped.replace("Quito", "Oslo") == plain
        assert "Oslo" not in swapped


def test_rules_of_ones_own_are_read_back_with_their_function(tmp_path: Path) -> None:
    extra = f"import judgeharness_adk\n{OWN_RULE}\njudgeharness_adk.register(rules={{'my_rules:first': first}})"
    criterion = judge_options("scripted-judge", judge_harness={"aggregation_rule": "my_rules:first"})
    folder = agent(tmp_path, {FINAL_RESPONSE: criterion}, extra=extra)
    with scripted_judge(in_turn("yes", "no", "no", "no", "no")):
        run = run_adk_eval(folder, "--print_detailed_results", in_process=True)
    assert run.exit_code == 0
    assert "1 PASS, 4 FAIL of 5 · my_rules:first" in run.stdout.replace("4 FAIL, 1 PASS", "1 PASS, 4 FAIL")
    with pytest.raises(ConfigError, match=r"rule 'my_rules:first' is a function of the caller's own.*rule=function"):
        judgeharness_adk.load_results()
    rules: dict[str, Any] = {}
    exec(compile(OWN_RULE, "my_rules", "exec"), rules)  # noqa: S102 - this test's own text
    [one] = judgeharness_adk.load_results(rules={"my_rules:first": rules["first"]})
    assert (one.result.criteria["polite"].verdict, one.result.aggregation_rule) == ("PASS", "my_rules:first")


# What is kept


def test_loops_that_end_between_calls_do_no_harm(tmp_path: Path, openai_server: Any) -> None:
    server: OpenAIServer = openai_server(serve(always("yes")))
    folder = agent(tmp_path, model="openai/judge-test", api_base=f"{server.url}/v1")
    for _ in range(2):  # adk's own command runs two loops each
        run = run_adk_eval(folder, env=api_base_variables(server.url), in_process=True)
        assert run.exit_code == 0, run.stderr
    assert [line["result"]["usage"]["attempts"] for line in sidecar_lines(tmp_path)] == [5, 5]


def test_keep_decides_what_is_stored(tmp_path: Path) -> None:
    folder = agent(tmp_path, {FINAL_RESPONSE: judge_options("scripted-judge", judge_harness={"keep": "none"})})
    with scripted_judge(always("yes")):
        run_adk_eval(folder, in_process=True)
    [line] = sidecar_lines(tmp_path)
    assert {row.get("reasoning") for row in line["result"]["rows"]} == {None}
    assert "It is 10 degrees" not in json.dumps(line)
    assert "I say yes" not in json.dumps(load_results(folder)[0].model_dump(mode="json"))


def test_a_sidecar_that_cannot_be_written_loses_no_measurement(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".adk").write_text("a file")
    with scripted_judge(always("yes")):
        assert run_adk_eval(agent(tmp_path), in_process=True).exit_code == 0
    assert "/.adk/judgeharness cannot be written to (" in caplog.text


@pytest.mark.parametrize("keep", ["none", "hash"])
def test_sentences_are_not_kept_where_texts_are_not(tmp_path: Path, keep: str) -> None:
    criterion = judge_options("scripted-judge", rubrics=None, judge_harness={"keep": keep})
    with scripted_judge(in_turn("yes", JudgeDown("It is 10 degrees in Oslo."))):
        run_adk_eval(agent(tmp_path, {HALLUCINATIONS: criterion}), in_process=True)
    [line] = sidecar_lines(tmp_path)
    assert "It is 10 degrees" not in json.dumps(line)
    assert "JudgeDown" in json.dumps(line)
    assert line["preparation"]["calls"] == 1


def test_what_was_measured_is_kept_when_an_evaluation_is_stopped(tmp_path: Path) -> None:
    turns = [invocation(city) for city in ("Oslo", "Rome", "Lima")]
    criterion = BaseCriterion.model_validate(
        judge_options("scripted-judge", samples=2, judge_harness={"max_concurrency": 1})
    )
    evaluator = EVALUATORS[FINAL_RESPONSE](EvalMetric(metric_name=FINAL_RESPONSE, criterion=criterion))

    async def stopped() -> None:
        task = asyncio.create_task(evaluator.evaluate_invocations(turns))
        while not sidecar_lines(tmp_path):  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with scripted_judge(always("yes"), delay=0.05) as judge:
        asyncio.run(stopped())
    assert judge.calls < 6
    assert [line["invocation_id"] for line in sidecar_lines(tmp_path)] == ["turn_Oslo"]


def test_observers_see_the_judge_model(tmp_path: Path) -> None:
    class Watching:
        def __init__(self) -> None:
            self.ended: list[Any] = []

        def begin(self, span: Any) -> None:
            pass

        def end(self, span: Any) -> None:
            self.ended.append(span)

    watching = Watching()
    judgeharness_adk.observe(watching)
    try:
        with scripted_judge(always("yes")):
            run_adk_eval(agent(tmp_path), in_process=True)
    finally:
        judgeharness_adk.observe()
    models = [span for span in watching.ended if span.kind == "model"]
    assert len(models) == 5
    assert {(span.name, span.facts["provider"]) for span in models} == {("scripted-judge", "ScriptedLlm")}
    assert all(span.outcome["input_tokens"] > 0 and span.outcome["output_tokens"] > 0 for span in models)
    assert {span.parent.kind for span in models} == {"call"}
