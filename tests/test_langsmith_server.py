from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import pytest
from langsmith import Client, aevaluate, evaluate, traceable, tracing_context
from langsmith.schemas import Example, Run
from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError
from support.langsmith_fixtures import LangSmithServerFactory, langsmith_server, langsmith_unset
from support.langsmith_server import LangSmithServer

__all__ = ["langsmith_server", "langsmith_unset"]

pytest_plugins = ["pytester"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::langsmith.utils.LangSmithWarning", "ignore::DeprecationWarning"),
    pytest.mark.untraced,  # of a server of the tests
]


@traceable
def _inner(text: str) -> str:
    return text.upper()


@traceable(run_type="tool")
def _outer(text: str) -> str:
    return _inner(text)


@pytest.mark.parametrize(
    "options",
    [{"multipart": False}, {"multipart": True, "compressed": False}, {"multipart": True}],
    ids=["batch", "multipart", "zstd"],
)
def test_runs_are_kept_however_they_are_sent(
    langsmith_server: LangSmithServerFactory, options: dict[str, bool]
) -> None:
    server = langsmith_server(**options)
    with tracing_context(enabled=True, client=server.client(), project_name="mine"):
        _outer("é")
    assert server.tree() == ("_outer", "tool", [("_inner", "chain", [])])
    (outer,) = server.named("_outer")
    assert (outer["inputs"], outer["outputs"], outer["status"]) == ({"text": "é"}, {"output": "É"}, "success")
    assert server.trees("mine")
    assert server.trees("other") == []
    assert server.unknown == []
    path = "/runs/multipart" if options["multipart"] else "/runs/batch"
    assert {request.path for request in server.posted if request.method == "POST"} == {path}
    assert "É" in server.text


def test_runs_sent_one_by_one(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    with tracing_context(enabled=True, client=server.client(auto_batch_tracing=False)):
        _outer("a")
    assert server.tree() == ("_outer", "tool", [("_inner", "chain", [])])
    assert [request.method for request in server.posted if request.path.startswith("/runs")] == [
        "POST", "POST", "PATCH", "PATCH",
    ]  # fmt: skip


def _dataset(client: Client, name: str = "questions", count: int = 2) -> str:
    dataset = client.create_dataset(name)
    client.create_examples(
        dataset_id=dataset.id,
        examples=[{"inputs": {"q": str(n)}, "reference_outputs": {"a": str(n)}} for n in range(count)],
    )
    return name


def _answer(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"a": inputs["q"]}


def _right(outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> bool:
    return bool(outputs == reference_outputs)


def test_datasets_and_examples(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    client = server.client()
    name = _dataset(client, count=120)
    dataset = client.read_dataset(dataset_name=name)
    examples = list(client.list_examples(dataset_id=dataset.id))
    assert dataset.example_count == len(examples) == 120
    assert [e.outputs for e in client.list_examples(dataset_name=name, limit=2)] == [{"a": "0"}, {"a": "1"}]
    client.update_example(examples[0].id, outputs={"a": "x"}, split="test")
    (changed,) = client.list_examples(dataset_name=name, splits=["test"])
    assert changed.outputs == {"a": "x"}
    client.create_example({"q": "n"}, dataset_name=name, metadata={"kind": "new"})
    (new,) = client.list_examples(dataset_name=name, metadata={"kind": "new"})
    assert client.read_example(new.id).inputs == {"q": "n"}
    assert [d.name for d in client.list_datasets(dataset_name_contains="quest")] == [name]
    with pytest.raises(LangSmithConflictError):
        client.create_dataset(name)
    with pytest.raises(LangSmithNotFoundError):
        client.read_dataset(dataset_name="nobody's")
    assert server.unknown == []


@pytest.mark.parametrize("multipart", [True, False])
def test_evaluate_and_what_builds_on_it(langsmith_server: LangSmithServerFactory, multipart: bool) -> None:  # noqa: FBT001
    server = langsmith_server(multipart=multipart)
    client = server.client()
    name = _dataset(client)
    first = evaluate(_answer, data=name, evaluators=[_right], client=client, experiment_prefix="one")

    async def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return _answer(inputs)

    async def asynchronous() -> Any:
        return await aevaluate(target, data=name, evaluators=[_right], client=client, experiment_prefix="two")

    second = asyncio.run(asynchronous())
    assert [row["score"] for row in server.arrived(4)] == [True] * 4
    assert [tree[0] for tree in server.trees(first.experiment_name)] == ["Target", "Target"]
    assert [tree[:2] for tree in server.trees("evaluators")] == [("_right", "chain")] * 4

    def longer(inputs: dict[str, Any], outputs: list[dict[str, Any]]) -> list[float]:
        return [1, 0]

    compared = evaluate((first.experiment_name, second.experiment_name), evaluators=[longer], client=client)
    assert len(list(compared)) == 2
    rows = [row for row in server.feedback if row.get("comparative_experiment_id")]
    assert [row["score"] for row in rows] == [1, 0, 1, 0]
    assert {row["comparative_experiment_id"] for row in rows} == set(server.store.comparisons)

    def again(run: Run, example: Example) -> dict[str, Any]:
        return {"key": "again", "score": 0.5}

    assert len(list(evaluate(first.experiment_name, evaluators=[again], client=client))) == 2
    assert len([row for row in server.feedback if row["key"] == "again"]) == 2
    assert server.unknown == []


def test_feedback_of_people_and_programs(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    client = server.client()
    with tracing_context(enabled=True, client=client):
        _outer("a")
    (run,) = server.named("_outer")
    made = client.create_feedback(run["id"], "correct", score=0, comment="no")
    server.annotate(run["id"], "correct", score=1, user="ann")
    client.update_feedback(made.id, correction={"score": 1})
    api, app = client.list_feedback(run_ids=[run["id"]], feedback_key=["correct"])
    assert (api.correction, api.feedback_source.type) == ({"score": 1}, "api")
    assert (app.score, app.feedback_source.type, app.feedback_source.user_name) == (1, "app", "ann")
    assert client.read_feedback(made.id).comment == "no"
    client.delete_feedback(made.id)
    assert [row["score"] for row in server.feedback] == [1]
    assert client.read_run(run["id"]).feedback_stats == {"correct": {"n": 1, "avg": 1.0}}
    assert server.unknown == []


def test_runs_can_be_asked_for(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    client = server.client()
    with tracing_context(enabled=True, client=client, project_name="mine"):
        _outer("a")
        _outer("b")
    client.flush()
    assert len(list(client.list_runs(project_name="mine"))) == 4
    latest, first = client.list_runs(project_name="mine", is_root=True)
    assert (first.inputs, latest.inputs) == ({"text": "a"}, {"text": "b"})
    (inner,) = client.list_runs(parent_run_id=first.id)
    assert (inner.name, inner.trace_id) == ("_inner", first.id)
    project = client.read_project(project_name="mine")

    async def query() -> list[Any]:
        pages = client.runs.query_v2(project_ids=[str(project.id)], is_root=True, selects=["ID", "NAME", "STATUS"])
        return [run async for run in pages]

    found = asyncio.run(query())
    assert [(run.name, run.status, run.inputs) for run in found] == [("_outer", "SUCCESS", None)] * 2
    assert server.unknown == []


def test_annotation_queues(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    client = server.client()
    with tracing_context(enabled=True, client=client):
        _outer("a")
    (run,) = server.named("_outer")
    queue = client.create_annotation_queue(name="abstained", rubric_instructions="look")
    key = {"run_id": run["id"], "session_id": run["session_id"], "start_time": run["start_time"]}
    client.add_runs_to_annotation_queue(queue.id, runs=[key])
    client.add_runs_to_annotation_queue(queue.id, run_ids=[run["id"]])
    assert [found.name for found in client.list_runs_from_annotation_queue(queue.id)] == ["_outer"]
    assert [found.name for found in client.list_annotation_queues(name="abstained")] == ["abstained"]
    assert client.read_annotation_queue(queue.id).rubric_instructions == "look"
    with pytest.raises(LangSmithNotFoundError):
        client.read_annotation_queue(uuid4())
    assert server.unknown == []


def test_what_no_route_answers_is_told() -> None:
    with LangSmithServer() as server:
        with pytest.raises(LangSmithNotFoundError):
            server.client().list_prompts()
        assert server.unknown == [("GET", "/repos")]


@pytest.mark.slow
def test_pytest_plugin(langsmith_server: LangSmithServerFactory, pytester: pytest.Pytester) -> None:
    server = langsmith_server()
    pytester.makepyfile(
        """
        import pytest
        from langsmith import testing as t

        @pytest.mark.langsmith
        @pytest.mark.parametrize("q", ["a", "b"])
        def test_q(q):
            t.log_inputs({"q": q})
            t.log_outputs({"a": q})
            t.log_reference_outputs({"a": q})
            with t.trace_feedback():
                t.log_feedback(key="same", score=1)
        """
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment(LANGSMITH_TEST_SUITE="suite").items():
            patch.setenv(name, value)
        done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q")
    done.assert_outcomes(passed=2)
    assert sorted((row["key"], row["score"]) for row in server.feedback) == [
        ("pass", 1), ("pass", 1), ("same", 1), ("same", 1),
    ]  # fmt: skip
    assert [d["name"] for d in server.store.datasets.values()] == ["suite"]
    assert len(server.store.examples) == 2
    assert json.loads(json.dumps(server.runs))
    assert server.unknown == []
