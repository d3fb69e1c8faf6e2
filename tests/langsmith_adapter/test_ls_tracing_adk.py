"""`adk eval` with harnessed metrics, traced: one tree for each metric and invocation, the judge's model calls below."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langsmith import tracing_context
from support.adk_bench import (
    FINAL_RESPONSE,
    AgentFolder,
    JudgeDown,
    always,
    api_base_variables,
    eval_config,
    in_turn,
    isolated_adk,
    judge_options,
    run_adk_eval,
    scripted_judge,
    serve,
    write_agent_folder,
)
from support.adk_outcomes import HALLUCINATIONS, TOOL_USE
from support.langsmith_fixtures import LangSmithServerFactory
from support.langsmith_server import LangSmithServer
from support.openai_server import OpenAIServer

import judgeharness_adk
from judgeharness_langsmith import LangSmithTracing

pytestmark = pytest.mark.slow

REGISTER = "import judgeharness_adk\njudgeharness_adk.register()"
OBSERVE = f"{REGISTER}\nimport judgeharness_langsmith\n"
OBSERVE += "judgeharness_adk.observe(judgeharness_langsmith.LangSmithTracing({}))"


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        yield
    judgeharness_adk.observe()


def agent(tmp_path: Path, criteria: dict[str, Any], **options: Any) -> AgentFolder:
    return write_agent_folder(tmp_path, config=eval_config(criteria), **{"extra": REGISTER, **options})


def model(name: str = "scripted-judge") -> tuple[Any, ...]:
    return (name, "llm", [])


def tree(*samples: str, judge_model: str = "scripted-judge") -> tuple[Any, ...]:
    return ("judge_harness", "chain", [(f"sample[{name}]", "chain", [model(judge_model)]) for name in samples])


def evaluated(server: LangSmithServer, folder: AgentFolder, observer: LangSmithTracing, script: Any) -> int:
    judgeharness_adk.observe(observer)
    with tracing_context(enabled=True, client=server.client()), scripted_judge(script):
        return run_adk_eval(folder, in_process=True).exit_code


def one_by_one(samples: int = 2) -> dict[str, Any]:
    return judge_options("scripted-judge", samples=samples, judge_harness={"max_concurrency": 1})


def test_adk_eval_in_a_process_of_its_own(
    langsmith_server: LangSmithServerFactory, openai_server: Callable[..., OpenAIServer], tmp_path: Path
) -> None:
    server, judging = langsmith_server(), openai_server(serve(always("yes")))
    block = {"max_concurrency": 1, "perturbations": ["none", "format_change"], "repetitions": 2}
    criterion = judge_options("openai/judge-test", judge_harness=block)
    folder = agent(
        tmp_path, {FINAL_RESPONSE: criterion}, api_base=f"{judging.url}/v1", cases=2, turns=2, extra=OBSERVE.format("")
    )
    env = {**api_base_variables(judging.url), **server.environment(LANGSMITH_PROJECT="adk")}
    run = run_adk_eval(folder, env=env, cwd=tmp_path)
    assert run.exit_code == 0, run.stderr
    samples = [f"{name}#{number}" for name in ("none", "format_change") for number in (0, 1)]
    assert server.trees("adk") == [tree(*samples, judge_model="openai/judge-test")] * 4
    assert server.trees() == server.trees("adk")
    models = [run for run in server.runs.values() if run["run_type"] == "llm"]
    assert len(models) == 16
    for one in models:
        usage = one["outputs"]["usage_metadata"]
        assert 0 < usage["output_tokens"] < usage["input_tokens"]
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert one["extra"]["metadata"]["ls_model_name"] == "judge-test"
        assert one["extra"]["metadata"]["ls_provider"] == "openai"
    for root in server.named("judge_harness"):
        assert root["extra"]["metadata"]["status"] == "decided"
        assert "degrees in" in root["inputs"]["output"]
    assert server.unknown == []


def test_every_metric_has_a_tree(langsmith_server: LangSmithServerFactory, tmp_path: Path) -> None:
    server = langsmith_server(multipart=False)
    folder = agent(tmp_path, {FINAL_RESPONSE: one_by_one(), TOOL_USE: one_by_one()}, turns=2)
    assert evaluated(server, folder, LangSmithTracing(), always("yes")) == 0
    assert server.trees() == [tree("none#0", "none#1")] * 4
    judges = [run["extra"]["metadata"]["judge"] for run in server.named("judge_harness")]
    assert sorted(judges) == sorted([FINAL_RESPONSE, TOOL_USE] * 2)


def test_registering_is_enough_where_langsmith_traces(langsmith_server: LangSmithServerFactory, tmp_path: Path) -> None:
    server = langsmith_server()
    folder = agent(tmp_path, {FINAL_RESPONSE: one_by_one()})
    with tracing_context(enabled=True, client=server.client()), scripted_judge(always("yes")):
        assert run_adk_eval(folder, in_process=True).exit_code == 0
    assert server.trees() == [tree("none#0", "none#1")]


def test_what_is_asked_before_judging_is_traced_likewise(
    langsmith_server: LangSmithServerFactory, tmp_path: Path
) -> None:
    server = langsmith_server()
    folder = agent(tmp_path, {HALLUCINATIONS: one_by_one(1)})
    sentence = "<sentence>It is 10 degrees in Oslo.</sentence>"
    with tracing_context(enabled=True, client=server.client()), scripted_judge(lambda prompt: sentence):
        run_adk_eval(folder, in_process=True)
    (asked, _, below), *judged = server.trees()
    assert (asked.startswith("prepare["), below, judged) == (True, [model()], [tree("none#0")])


def test_a_metric_that_asks_before_it_judges(langsmith_server: LangSmithServerFactory, tmp_path: Path) -> None:
    server = langsmith_server()
    folder = agent(tmp_path, {HALLUCINATIONS: one_by_one(1)})
    evaluated(server, folder, LangSmithTracing(), lambda prompt: "<sentence>It is 10 degrees in Oslo.</sentence>")
    (asked, run_type, below), *judged = server.trees()
    assert (asked.startswith("prepare["), run_type, below) == (True, "chain", [model()])
    assert judged == [tree("none#0")]


def test_samples_that_fail_are_errors(langsmith_server: LangSmithServerFactory, tmp_path: Path) -> None:
    server = langsmith_server()
    criterion = judge_options("scripted-judge", samples=3, judge_harness={"max_attempts": 1, "max_concurrency": 1})
    folder = agent(tmp_path, {FINAL_RESPONSE: criterion})
    assert evaluated(server, folder, LangSmithTracing(), in_turn("yes", JudgeDown("503"), "maybe")) == 1
    assert server.tree() == tree("none#0", "none#1", "none#2")
    fine, down, unread = (server.named(f"sample[none#{number}]")[0]["error"] for number in range(3))
    assert (fine, down, unread) == (None, "JudgeDown: 503", "unparsed")
    assert [run["error"] for run in server.named("scripted-judge")] == [None, "JudgeDown", None]


@pytest.mark.parametrize("private", [True, False])
def test_nothing_is_sent_when_private_or_off(
    langsmith_server: LangSmithServerFactory,
    tmp_path: Path,
    private: bool,  # noqa: FBT001
) -> None:
    server = langsmith_server()
    folder = agent(tmp_path, {FINAL_RESPONSE: one_by_one()})
    judgeharness_adk.observe(LangSmithTracing(private=private))
    with tracing_context(enabled=private, client=server.client()), scripted_judge(always("yes")) as judge:
        assert run_adk_eval(folder, in_process=True).exit_code == 0
    assert judge.calls == 2
    assert [request for request in server.posted if request.method != "GET"] == []
