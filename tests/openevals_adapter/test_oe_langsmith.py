"""Harnessed judges inside LangSmith: `evaluate`, traces, and the pytest plugin."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from langsmith import aevaluate, evaluate, traceable, tracing_context
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from support.langsmith_fixtures import LangSmithServerFactory
from support.langsmith_server import LangSmithServer
from support.openai_server import Reply, chat_model
from support.openevals_judging import CASE, PROMPT, Serve, scored, told

from judgeharness_integrations import JudgeHarness
from judgeharness_langsmith import LangSmithTracing
from judgeharness_openevals import harness_judge

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]


def dataset(server: LangSmithServer) -> Any:
    client = server.client()
    made = client.create_dataset("capitals")
    client.create_examples(
        dataset_id=made.id,
        examples=[{"inputs": {"q": f"question {n}"}, "reference_outputs": {"answer": f"answer {n}"}} for n in range(2)],
    )
    return client


def application(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": f"It is the answer to {inputs['q']}."}


@pytest.mark.parametrize(
    ("options", "score"),
    [({"feedback_key": "ok"}, True), ({"continuous": True}, 0.5), ({"choices": [0, 1, 2]}, 2)],
)
def test_evaluate_gives_the_same_keys_and_dtypes(
    langsmith_server: LangSmithServerFactory, openai_server: Serve, options: dict[str, Any], score: Any
) -> None:
    server = langsmith_server()
    client = dataset(server)
    prompt = f"{PROMPT} {{reference_outputs}}"
    bare = create_llm_as_judge(prompt=prompt, judge=chat_model(openai_server([scored(score)])), **options)
    frames = []
    for judge in (bare, harness_judge(bare)):
        results = evaluate(
            application, data="capitals", evaluators=[judge], client=client, max_concurrency=2, blocking=True
        )
        frames.append(results.to_pandas())
    columns = [[c for c in frame.columns if c.startswith("feedback.")] for frame in frames]
    assert columns[0] == columns[1] == [f"feedback.{options.get('feedback_key', 'score')}"]
    names = columns[0]
    assert (frames[0][names].dtypes == frames[1][names].dtypes).all()
    assert frames[0][names].to_numpy().tolist() == frames[1][names].to_numpy().tolist()
    assert server.unknown == []


def test_aevaluate_takes_the_async_judge_and_the_feedback_arrives(
    langsmith_server: LangSmithServerFactory, openai_server: Serve
) -> None:
    server = langsmith_server()
    client = dataset(server)
    model = chat_model(openai_server([scored(score=True)]))
    judge = harness_judge(create_async_llm_as_judge(prompt=PROMPT, judge=model, feedback_key="ok"))

    async def aapplication(inputs: dict[str, Any]) -> dict[str, Any]:
        return application(inputs)

    async def run() -> list[Any]:
        results = await aevaluate(aapplication, data="capitals", evaluators=[judge], client=client)
        return [row["evaluation_results"]["results"][0] async for row in results]

    found = asyncio.run(run())
    assert [(one.key, one.score) for one in found] == [("ok", True)] * 2
    assert found[0].metadata["status"] == "decided"
    assert sorted((row["key"], row["score"]) for row in server.arrived(2)) == [("ok", True)] * 2
    assert server.unknown == []


@pytest.mark.parametrize("observers", [None, []])
@pytest.mark.filterwarnings("ignore:'upload_(results|runs)' parameter is in beta")
def test_nothing_is_uploaded_where_langsmith_was_told_not_to(
    langsmith_server: LangSmithServerFactory, openai_server: Serve, observers: Any
) -> None:
    server = langsmith_server()
    client = dataset(server)
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([scored(score=True)])))
    judge = harness_judge(bare, JudgeHarness.standard("labels", observers=observers))
    results = evaluate(application, data="capitals", evaluators=[judge], client=client, upload_results=False)
    assert [row["evaluation_results"]["results"][0].score for row in results] == [True, True]
    assert (server.runs, server.feedback) == ({}, [])


@pytest.mark.parametrize("factory", [create_llm_as_judge, create_async_llm_as_judge])
@pytest.mark.parametrize("watched", [True, False])
def test_a_verdict_is_one_run_with_its_samples_below(
    langsmith_server: LangSmithServerFactory,
    openai_server: Serve,
    factory: Callable[..., Any],
    watched: bool,  # noqa: FBT001
) -> None:
    server = langsmith_server()
    bare = factory(prompt=PROMPT, judge=chat_model(openai_server([scored(score=True)])), feedback_key="ok")
    judge = harness_judge(bare, JudgeHarness.quick("labels", observers=None if watched else ()))
    with tracing_context(enabled=True, client=server.client(), project_name="judging"):
        told(judge, **CASE)
    runs = list(server.runs.values())
    (root,) = [run for run in runs if not run.get("parent_run_id")]
    assert root["name"] == ("judge_harness" if watched else "llm_as_ok_judge")
    assert root["extra"]["metadata"]["__ls_framework"] == ("judgeharness" if watched else "openevals")
    assert "judge-harness" in root["tags"]
    if not watched:
        assert (root["outputs"]["score"], root["inputs"]) == (True, CASE)
    samples = [run for run in runs if run.get("parent_run_id") == root["id"]]
    names = ["sample[format_change#0]", "sample[none#0]"] if watched else ["llm_as_ok_judge"] * 2
    assert sorted(run["name"] for run in samples) == names
    models = [run for run in runs if run["run_type"] == "llm"]
    assert len(models) == 2
    assert {run["extra"]["metadata"]["perturbation"] for run in models} == {"none", "format_change"}
    assert {run["trace_id"] for run in runs} == {root["id"]}


@pytest.mark.parametrize("watched", [True, False])
def test_a_verdict_nests_below_the_callers_run_and_failures_end_it(
    langsmith_server: LangSmithServerFactory,
    openai_server: Serve,
    watched: bool,  # noqa: FBT001
) -> None:
    server = langsmith_server()
    observers: Any = None if watched else ()
    harness = JudgeHarness.single("labels", observers=observers)
    model = chat_model(openai_server([Reply.text("no JSON")]))
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model), harness)

    @traceable
    def suite() -> None:
        with pytest.raises(Exception, match=r"."):
            judge(**CASE)
        scores = JudgeHarness.single("scores", observers=observers)
        harness_judge(lambda outputs: [{"key": "a", "score": 1}], scores)(outputs="a text")

    with tracing_context(enabled=True, client=server.client()):
        suite()
    runs = list(server.runs.values())
    (root,) = [run for run in runs if not run.get("parent_run_id")]
    assert root["name"] == "suite"
    below = [run for run in runs if run.get("parent_run_id") == root["id"]]
    assert [run["name"] for run in below] == (["judge_harness"] * 2 if watched else ["llm_as_judge", "judge"])
    if watched:
        assert below[0]["extra"]["metadata"]["status"] == "not_graded"
        assert [run["status"] for run in server.named("sample[none#0]")] == ["error", "success"]
        return
    assert below[0]["error"]
    assert below[1]["outputs"]["output"][0]["key"] == "a"


def test_nothing_is_traced_when_tracing_is_off(langsmith_server: LangSmithServerFactory, openai_server: Serve) -> None:
    server = langsmith_server()
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([scored(score=True)]))))
    with tracing_context(enabled=False, client=server.client()):
        judge(**CASE)
    assert server.runs == {}


def test_nothing_is_uploaded_in_private(langsmith_server: LangSmithServerFactory, openai_server: Serve) -> None:
    server = langsmith_server()
    model = chat_model(openai_server([scored(score=True)]))
    harness = JudgeHarness.quick("labels", observers=[LangSmithTracing(private=True)])
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model), harness)
    with tracing_context(enabled=True, client=server.client()):
        assert judge(**CASE)["score"] is True
    assert server.runs == {}


TESTS = """
import pytest
from agentevals.trajectory.llm import create_trajectory_llm_as_judge
from agentevals.trajectory.match import create_trajectory_match_evaluator
from langsmith import testing as t
from openevals.json import create_json_match_evaluator
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from support.openai_server import OpenAIServer, Reply, chat_model
from support.openevals_judging import CASE, PROMPT, by_format, scored, told
from judgeharness_openevals import create_harnessed_pairwise_judge, harness_judge

def measured(script, factory=create_llm_as_judge, **options):
    with OpenAIServer(script) as server:
        judge = factory(prompt=PROMPT, judge=chat_model(server), **options)
        return told(harness_judge(judge), **CASE)

@pytest.mark.langsmith
def test_decided():
    assert measured([scored(score=True)], feedback_key="decided")["score"] is True

@pytest.mark.langsmith
def test_async():
    assert measured([scored(0.5)], create_async_llm_as_judge, continuous=True, feedback_key="async")["score"] == 0.5

@pytest.mark.langsmith
def test_abstained():
    assert measured(by_format, feedback_key="abstained")["score"] is None

@pytest.mark.langsmith
def test_not_graded():
    assert measured([Reply.refusal()], feedback_key="lost")["score"] is None

@pytest.mark.langsmith
def test_list():
    harness_judge(lambda outputs: [{"key": "one", "score": 1}, {"key": "two", "score": "warm"}])(outputs="a text")

@pytest.mark.langsmith
def test_logging():
    def logging(outputs):
        t.log_feedback(key="own", score=1)
        return {"key": "logged", "score": 2}
    assert harness_judge(logging)(outputs="a text")["score"] == 2

@pytest.mark.langsmith
def test_raw():
    schema = {"title": "r", "description": "r", "type": "object", "properties": {"good": {"type": "boolean"}}}
    assert measured([Reply.json({"good": True})], output_schema=schema)["good"] is True

@pytest.mark.langsmith
def test_pairwise():
    with OpenAIServer([Reply.json({"reasoning": "r", "preferred": "TIE"})]) as server:
        assert create_harnessed_pairwise_judge(judge=chat_model(server))(outputs=["a", "b"])["score"] == 0.5

@pytest.mark.langsmith
def test_agentevals():
    said = [{"role": "assistant", "content": "It rains."}]
    with OpenAIServer([scored(score=True)]) as server:
        judge = harness_judge(create_trajectory_llm_as_judge(judge=chat_model(server), feedback_key="path"))
        assert judge(outputs=said, reference_outputs=said)["score"] is True
    assert harness_judge(create_trajectory_match_evaluator())(outputs=said, reference_outputs=said)["score"] is True

@pytest.mark.langsmith
def test_json():
    harness_judge(create_json_match_evaluator())(outputs={"a": 1, "b": 2}, reference_outputs={"a": 1, "b": 3})
"""


def test_one_verdict_is_one_feedback_row_and_one_trace(
    langsmith_server: LangSmithServerFactory, pytester: pytest.Pytester, pytestconfig: pytest.Config
) -> None:
    server = langsmith_server()
    pytester.makepyfile(textwrap.dedent(TESTS))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment(LANGSMITH_TEST_SUITE="suite").items():
            patch.setenv(name, value)
        patch.setenv("PYTHONPATH", str(pytestconfig.rootpath / "tests"))
        done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-q")
    done.assert_outcomes(passed=10)
    rows = sorted((row["key"], row.get("score"), row.get("value")) for row in server.feedback if row["key"] != "pass")
    assert rows == [
        ("abstained", None, "ABSTAIN"),
        ("async", 0.5, None),
        ("decided", 1, None),
        ("json_match:a", 1, None),
        ("json_match:b", 0, None),
        ("logged", 2, None),
        ("lost", None, "NOT GRADED"),
        ("one", 1, None),
        *[("own", 1, None)] * 6,  # a function's own feedback is its own affair
        ("path", 1, None),
        ("preference", 0.5, None),
        ("trajectory_strict_match", 1, None),
        ("two", None, "warm"),
    ]
    verdicts = [run for run in server.runs.values() if run.get("session_name") == "evaluators"]
    roots = [run["name"] for run in verdicts if not run.get("parent_run_id")]
    assert sorted(roots) == [
        "json_match",
        "judge",
        "llm_as_abstained_judge",
        "llm_as_async_judge",
        "llm_as_decided_judge",
        "llm_as_judge",
        "llm_as_lost_judge",
        "llm_as_path_judge",
        "llm_as_preference_judge",
        "logging",
        "trajectory_strict_match",
    ]
    (decided,) = [run for run in verdicts if run["name"] == "llm_as_decided_judge" and not run.get("parent_run_id")]
    (verdict,) = [run for run in verdicts if run.get("parent_run_id") == decided["id"]]
    assert verdict["name"] == "judge_harness"
    assert verdict["inputs"].items() >= CASE.items()
    assert len([run for run in verdicts if run.get("parent_run_id") == verdict["id"]]) == 6
    assert server.unknown == []


def test_switched_off_tracking_logs_nothing(
    langsmith_server: LangSmithServerFactory, pytester: pytest.Pytester, pytestconfig: pytest.Config
) -> None:
    server = langsmith_server()
    pytester.makepyfile(textwrap.dedent(TESTS))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment(LANGSMITH_TEST_TRACKING="false").items():
            patch.setenv(name, value)
        patch.setenv("PYTHONPATH", str(pytestconfig.rootpath / "tests"))
        done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-q")
    done.assert_outcomes(passed=10)
    assert server.feedback == []
