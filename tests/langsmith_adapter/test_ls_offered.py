"""Where LangSmith traces, one-line wraps are trees without a second import; where it does not, nothing is loaded."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_classic.evaluation import load_evaluator
from langsmith import aevaluate, evaluate, run_trees, tracing_context
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from support.langsmith_fixtures import LangSmithServerFactory
from support.langsmith_server import LangSmithServer
from support.openai_server import OpenAIServer, Reply, always_first, chat_model

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations.judging.execution.observing import Span
from judgeharness_langchain import harness_evaluator
from judgeharness_langsmith import HarnessRunEvaluator, LangSmithTracing, tracing
from judgeharness_openevals import harness_judge

Serve = Callable[..., OpenAIServer]
CHAIN = ("PairwiseStringEvalChain", "chain", [("ChatOpenAI", "llm", [])])
NAMES = ("none", "position_swap")
PAIR = {"input": "Which?", "prediction": "first", "prediction_b": "second"}


def tree(*below: Any, names: tuple[str, ...] = NAMES) -> tuple[Any, ...]:
    return ("judge_harness", "chain", [(f"sample[{name}#0]", "chain", list(below)) for name in names])


def once(*names: str, **options: Any) -> JudgeHarness:
    chosen: dict[str, Any] = {"repetitions": 1, "aggregation_rule": "majority", "max_concurrency": 1, **options}
    return JudgeHarness(perturbations=names or NAMES, **chosen)


def pairwise(server: OpenAIServer, harness: JudgeHarness | None = None) -> Any:
    bare = load_evaluator("pairwise_string", llm=chat_model(server))  # type: ignore[arg-type]
    return harness_evaluator(bare, harness or once())


@contextmanager
def traced(server: LangSmithServer) -> Iterator[None]:
    with tracing_context(enabled=True, client=server.client()):
        yield


@pytest.mark.slow
def test_the_one_line_wrap_of_langchain_is_one_tree(
    langsmith_server: LangSmithServerFactory, openai_server: Serve
) -> None:
    server = langsmith_server()
    with traced(server):
        answer = pairwise(openai_server(always_first)).evaluate_string_pairs(**PAIR)
    assert answer["harness"]["status"] == "abstained"
    assert server.trees() == [tree(CHAIN)]
    [root] = server.named("judge_harness")
    assert root["extra"]["metadata"]["status"] == "abstained"
    assert server.unknown == []


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"])
def test_the_environment_alone_is_enough(
    langsmith_server: LangSmithServerFactory,
    openai_server: Serve,
    monkeypatch: pytest.MonkeyPatch,
    switch: str,
) -> None:
    server = langsmith_server()
    for name, value in server.environment(LANGSMITH_PROJECT="mine").items():
        monkeypatch.setenv(name if name != "LANGSMITH_TRACING" else switch, value)
    pairwise(openai_server(always_first)).evaluate_string_pairs(**PAIR)
    run_trees.get_cached_client().flush()
    assert server.trees("mine") == [tree(CHAIN)]


@pytest.mark.slow
def test_inside_evaluate_it_is_below_the_evaluator(
    langsmith_server: LangSmithServerFactory, openai_server: Serve
) -> None:
    server = langsmith_server()
    client, judge = server.client(), pairwise(openai_server(always_first))
    made = client.create_dataset("questions")
    client.create_examples(dataset_id=made.id, examples=[{"inputs": {"q": "Which?"}}])

    def better(outputs: dict[str, Any]) -> dict[str, Any]:
        return {"key": "better", "score": judge.evaluate_string_pairs(**PAIR | outputs)["score"]}

    list(evaluate(lambda inputs: {"prediction": inputs["q"]}, data="questions", evaluators=[better], client=client))
    assert server.trees("evaluators") == [("better", "chain", [tree(CHAIN)])]


@pytest.mark.slow
def test_the_one_line_wrap_of_openevals_is_one_tree_with_the_measurement_at_its_root(
    langsmith_server: LangSmithServerFactory, openai_server: Serve
) -> None:
    server = langsmith_server()
    model = chat_model(openai_server([Reply.json({"reasoning": "it is", "score": True})]))
    bare = create_llm_as_judge(prompt="Is {outputs} right?", judge=model, feedback_key="right")
    with traced(server):
        assert harness_judge(bare, once("none"))(outputs="a text")["score"] is True
    [(name, _, [(sample, _, [(evaluator, _, _)])])] = server.trees()
    assert (name, sample, evaluator) == ("judge_harness", "sample[none#0]", "llm_as_right_judge")
    assert [run["name"] for run in server.runs.values() if run["run_type"] == "llm"] == ["ChatOpenAI"]


# what is not offered


class Watcher:
    """One of the caller's own."""

    def __init__(self, *, private: bool = False) -> None:
        self.private = private
        self.kinds: list[str] = []

    def begin(self, span: Span) -> None:
        self.kinds.append(span.kind)

    def end(self, span: Span) -> None:
        pass


@pytest.mark.slow
def test_one_beside_observers_of_other_kinds_and_none_beside_ones_own(
    langsmith_server: LangSmithServerFactory, openai_server: Serve
) -> None:
    server, watcher = langsmith_server(), Watcher()
    with traced(server):
        for observers in ([watcher], [LangSmithTracing()]):
            pairwise(openai_server(always_first), once(observers=observers)).evaluate_string_pairs(**PAIR)
    assert server.trees() == [tree(CHAIN)] * 2
    assert watcher.kinds == ["run", "case", "call", "call"]


@pytest.mark.parametrize("observers", [[LangSmithTracing(private=True)], [Watcher(private=True)]])
def test_private_measurements_are_not_offered_one(
    langsmith_server: LangSmithServerFactory, observers: list[Any]
) -> None:
    server = langsmith_server()
    with traced(server):
        once("none", observers=observers).evaluate(lambda case: True, AnswerCase(case_id="c", output="SECRET"))
    assert server.runs == {}


def test_where_nobody_watches_nobody_is_offered(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    with traced(server):
        once("none", observers=()).evaluate(lambda case: True, AnswerCase(case_id="c", output="a"))
    assert server.runs == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'upload_(results|runs)' parameter is in beta")
def test_without_upload_one_line_wraps_are_silent(
    langsmith_server: LangSmithServerFactory, openai_server: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = langsmith_server()
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    client, judging = server.client(), openai_server(always_first)
    judge = pairwise(judging)
    made = client.create_dataset("questions")
    client.create_examples(dataset_id=made.id, examples=[{"inputs": {"q": "SECRET"}}])

    def better(outputs: dict[str, Any]) -> dict[str, Any]:
        return {"key": "better", "score": judge.evaluate_string_pairs(**PAIR | outputs)["score"]}

    target = {"prediction": "SECRET"}
    rows = list(
        evaluate(lambda inputs: target, data="questions", evaluators=[better], client=client, upload_results=False)
    )
    assert (len(rows), judging.calls) == (1, 2)
    run_trees.get_cached_client().flush()
    assert server.runs == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'upload_(results|runs)' parameter is in beta")
@pytest.mark.parametrize(
    "wrap", [lambda judge: harness_judge(judge, once("none")), HarnessRunEvaluator], ids=["judge", "runs"]
)
def test_without_upload_aevaluate_is_silent(
    langsmith_server: LangSmithServerFactory, openai_server: Serve, monkeypatch: pytest.MonkeyPatch, wrap: Any
) -> None:
    server = langsmith_server()
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    client, model = server.client(), chat_model(openai_server([Reply.json({"reasoning": "it is", "score": True})]))
    made = client.create_dataset("questions")
    client.create_examples(dataset_id=made.id, examples=[{"inputs": {"q": "Which?"}}])
    judge = wrap(create_async_llm_as_judge(prompt="Is {outputs} right?", judge=model, feedback_key="right"))

    async def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": "SECRET"}

    async def scores() -> list[Any]:
        rows = await aevaluate(target, data="questions", evaluators=[judge], client=client, upload_results=False)
        return [row["evaluation_results"]["results"][0].score async for row in rows]

    assert asyncio.run(scores()) == [True]
    run_trees.get_cached_client().flush()
    assert (server.runs, "SECRET" in server.text) == ({}, False)


OFF = """
import sys
from judgeharness_integrations import AnswerCase, JudgeHarness
JudgeHarness.quick("labels").evaluate(lambda case: True, AnswerCase(case_id="c", output="a text"))
{then}
print(sorted(name for name in sys.modules if name in ("langsmith", "judgeharness_langsmith.tracing")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("switch", "loaded"), [("", []), ("false", []), ("true", ["judgeharness_langsmith.tracing", "langsmith"])]
)
def test_nothing_is_imported_while_tracing_is_off(
    langsmith_server: LangSmithServerFactory, monkeypatch: pytest.MonkeyPatch, switch: str, loaded: list[str]
) -> None:
    server = langsmith_server()
    for name, value in server.environment(LANGSMITH_TRACING=switch).items():
        monkeypatch.setenv(name, value)
    then = "from langsmith import run_trees; run_trees.get_cached_client().flush()" if loaded else ""
    command = [sys.executable, "-c", OFF.format(then=then)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == repr(loaded)
    assert len(server.named("judge_harness")) == len(loaded) // 2


# how samples are sent


def parts_of(server: LangSmithServer, run: dict[str, Any]) -> set[str]:
    sent = [name for request in server.posted if isinstance(request.body, dict) for name in request.body]
    return {name.partition(".")[0] for name in sent if run["id"] in name}


def test_a_sample_is_sent_once_when_it_has_ended(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    with traced(server):
        once("none").evaluate(lambda case: True, AnswerCase(case_id="c", output="a"))
    [root], [sample] = server.named("judge_harness"), server.named("sample[none#0]")
    assert (parts_of(server, root), parts_of(server, sample)) == ({"post", "patch"}, {"post"})
    assert sample["end_time"] >= sample["start_time"]


@pytest.mark.parametrize(("longest_s", "seen"), [(-1.0, [0, 1]), (60.0, [0, 0])])
def test_samples_of_a_long_measurement_do_not_wait_for_its_end(
    langsmith_server: LangSmithServerFactory, monkeypatch: pytest.MonkeyPatch, longest_s: float, seen: list[int]
) -> None:
    monkeypatch.setattr(tracing, "_LONGEST_HELD_S", longest_s)
    server, found = langsmith_server(), list[int]()

    def judge(case: AnswerCase) -> bool:
        found.append(len(server.named("sample[none#0]")))
        return True

    with traced(server):
        once("none", repetitions=2).evaluate(judge, AnswerCase(case_id="c", output="a"))
    assert found == seen
    assert server.trees() == [("judge_harness", "chain", [(f"sample[none#{n}]", "chain", []) for n in range(2)])]
