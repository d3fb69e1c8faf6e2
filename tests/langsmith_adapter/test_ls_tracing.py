"""The trace tree of a measurement, as the real client sends it to a loopback LangSmith."""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from typing import Any
from uuid import uuid4

import pytest
from langchain_classic.evaluation import load_evaluator
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tracers.context import tracing_v2_enabled
from langchain_core.tracers.langchain import LangChainTracer
from langsmith import evaluate, traceable, tracing_context
from langsmith.run_helpers import get_current_run_tree, get_tracing_context, trace
from openevals.llm import create_llm_as_judge
from support.langsmith_fixtures import LangSmithServerFactory
from support.langsmith_server import LangSmithServer
from support.openai_server import OpenAIServer, Reply, Request, always_first, chat_model

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness, PairwiseCase, Perturbation
from judgeharness_integrations.judging.execution.observing import Spans, model_span
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.judge import Answer, FunctionJudge, JudgeIdentity, Judgment, note_understood
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_langchain import harness_evaluator
from judgeharness_langsmith import LangSmithTracing

Serve = Callable[..., OpenAIServer]
PAIR = PairwiseCase(case_id="pair", input="Which?", output="first", output_b="second")
OWN = ("judge", "judge_model", "aggregation", "repetitions", "perturbations", "calibration_source", "status")


@traceable
def look(text: str) -> str:
    return text


def looking(case: PairwiseCase) -> str:
    look(case.output)
    return "A"


async def looking_later(case: PairwiseCase) -> str:
    await asyncio.sleep(0)
    return looking(case)


def harness(*perturbations: str, **options: Any) -> JudgeHarness:
    defaults = {
        "repetitions": 1,
        "aggregation_rule": "majority",
        "max_concurrency": 1,
        "observers": [LangSmithTracing()],
    }
    return JudgeHarness(perturbations=perturbations or ("none",), **(defaults | options))


@contextmanager
def traced(server: LangSmithServer, **context: Any) -> Iterator[None]:
    with tracing_context(enabled=True, client=server.client(), **context):
        yield


def sample(name: str, *below: Any) -> tuple[Any, ...]:
    return (f"sample[{name}]", "chain", list(below))


LOOK = ("look", "chain", [])
TREE = ("judge_harness", "chain", [sample("none#0", LOOK), sample("position_swap#0", LOOK)])


def metadata(run: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = run["extra"]["metadata"]
    return found


def uploads(server: LangSmithServer) -> list[str]:
    return [request.path for request in server.posted if request.method != "GET"]


# the tree


@pytest.mark.sampled(4)
@pytest.mark.parametrize("multipart", [True, False])
@pytest.mark.parametrize("judge", [looking, looking_later])
def test_a_measurement_is_a_tree(langsmith_server: LangSmithServerFactory, multipart: bool, judge: Any) -> None:  # noqa: FBT001
    server = langsmith_server(multipart=multipart)
    with traced(server):
        result = harness("none", "position_swap").evaluate(judge, PAIR)
    assert server.tree() == TREE
    (run,) = server.named("judge_harness")
    assert run["tags"] == ["judge-harness"]
    assert run["inputs"] == {"case_id": "pair", "input": "Which?", "output": "first", "output_b": "second"}
    assert run["outputs"] == result.to_dict()
    told = metadata(run)
    assert {name: told[name] for name in OWN} == {
        "judge": judge.__name__,
        "judge_model": None,
        "aggregation": "majority",
        "repetitions": 1,
        "perturbations": ["none", "position_swap"],
        "calibration_source": None,
        "status": "abstained",
    }
    assert (told["consistency_rate"], told["abstained"]) == (0.5, True)
    marks = ("__ls_framework", "__ls_evaluator", "__ls_language")
    assert [told[name] for name in marks] == ["judgeharness", judge.__name__, "python"]
    original, swapped = server.named("sample[none#0]") + server.named("sample[position_swap#0]")
    names = ("perturbation", "repetition", "order", "outcome", "verdict")
    assert [metadata(original)[name] for name in names] == ["none", 0, "original", "ok", "A"]
    assert [metadata(swapped)[name] for name in names] == ["position_swap", 0, "swapped", "ok", "B"]
    assert swapped["outputs"] == {"verdict": "B"}
    assert {run["status"] for run in server.runs.values()} == {"success"}
    assert server.unknown == []


def test_no_secret_of_a_cases_name_is_uploaded_and_its_run_id_is_found(
    langsmith_server: LangSmithServerFactory,
) -> None:
    server, case, run_id = langsmith_server(), AnswerCase(case_id="c sk-abcdef012345", output="x"), uuid4()
    with traced(server):
        harness(observers=[LangSmithTracing(run_ids={case.case_id: run_id})]).evaluate(lambda case: "PASS", case)
    (run,) = server.named("judge_harness")
    assert (run["id"], run["inputs"]["case_id"], run["outputs"]["case_id"]) == (str(run_id), *["c [redacted]"] * 2)
    assert "sk-abcdef" not in server.text


def test_what_marks_the_case_does_not_mark_its_samples(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    with traced(server, metadata={"build": 7}, tags=["ci"]):
        harness().evaluate(looking, PAIR)
    (run,), (one,), (below,) = (server.named(name) for name in ("judge_harness", "sample[none#0]", "look"))
    assert [each["tags"] for each in (run, one, below)] == [["ci", "judge-harness"], ["ci"], ["ci"]]
    assert {metadata(each)["build"] for each in (run, one, below)} == {7}
    assert not {*OWN, "__ls_framework"} & {*metadata(one), *metadata(below)}
    assert metadata(below)["perturbation"] == "none"  # LangSmith can be asked for what happened in swapped samples
    assert not {"perturbation", "order", "outcome"} & set(metadata(run))


def test_the_callers_run_is_the_parent_and_is_current_again(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()

    @traceable
    def suite() -> None:
        one = harness("none", "position_swap")
        before, run = get_tracing_context(), get_current_run_tree()
        one.evaluate(looking, PAIR)
        look("between")
        list(one.evaluate_many(looking, [PAIR]))
        assert get_current_run_tree() is run
        assert get_tracing_context() == before

    with traced(server, project_name="mine"):
        suite()
    assert server.tree("mine") == ("suite", "chain", [TREE, LOOK, TREE])


def test_a_caller_that_awaits(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()

    @traceable
    async def suite() -> None:
        one = harness("none", "position_swap")
        await asyncio.gather(one.aevaluate(looking_later, PAIR), one.aevaluate(looking, PAIR))
        async with aclosing(one.aevaluate_many(looking, [PAIR])) as results:
            assert len([result async for result in results]) == 1
        look("after")

    with traced(server):
        asyncio.run(suite())
    assert server.tree() == ("suite", "chain", [TREE, TREE, TREE, LOOK])


@pytest.mark.slow
def test_cases_side_by_side_keep_their_samples(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    cases = [PairwiseCase(case_id=str(number), output=str(number), output_b="b") for number in range(20)]
    with traced(server):
        results = list(harness("none", "position_swap", max_concurrency=8).evaluate_many(looking, cases))
    assert len(results) == 20
    trees = server.trees()
    assert [(name, Counter(child[0] for child in below)) for name, _, below in trees] == [
        ("judge_harness", Counter({"sample[none#0]": 1, "sample[position_swap#0]": 1}))
    ] * 20
    assert all(child[2] == [LOOK] for _, _, below in trees for child in below)
    looked = {run["parent_run_id"]: run["inputs"]["text"] for run in server.named("look")}
    for run in server.named("judge_harness"):  # what was looked at below a case is that case
        samples = [each for each in server.runs.values() if each["parent_run_id"] == run["id"]]
        assert {looked[each["id"]] for each in samples} == {run["inputs"]["output"], "b"}


@pytest.mark.slow
def test_callers_in_threads_share_an_observer(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    one = harness("none", "position_swap")

    @traceable
    def caller(number: int) -> str:
        return one.evaluate(looking, PairwiseCase(case_id=str(number), output="a", output_b="b")).case_id

    with traced(server), ThreadPoolExecutor(4) as threads:
        jobs = [threads.submit(contextvars.copy_context().run, caller, number) for number in range(8)]
        assert [job.result() for job in jobs] == [str(number) for number in range(8)]
    assert server.trees() == [("caller", "chain", [TREE])] * 8


def test_a_parent_in_another_project(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    client = server.client()
    one = harness("none", "position_swap", observers=[LangSmithTracing(client=client, project_name="judging")])
    with tracing_context(enabled=True):
        one.evaluate(looking, PAIR)
        with trace("outer", client=client, project_name="outer"):
            one.evaluate(looking, PAIR)
    assert server.trees("judging") == [TREE]
    assert server.trees("outer") == [("outer", "chain", [TREE])]


def test_structured_cases_and_cases_of_the_callers_own(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    case = structured_case(case_id="s", inputs={"q": "?"}, outputs={"a": 1}, reference_outputs={"a": 2})
    with traced(server):
        harness().evaluate(ScriptedJudge(["PASS"]), case)
        harness().evaluate(ScriptedJudge(["PASS"]), {"case_id": "mine", "text": "t"})
    structured, own = server.named("judge_harness")
    assert structured["inputs"] == {
        "case_id": "s", "inputs": {"q": "?"}, "outputs": {"a": 1}, "reference_outputs": {"a": 2},
    }  # fmt: skip
    assert own["inputs"] == {"case_id": "mine", "case": {"case_id": "mine", "text": "t"}}


def test_several_criteria_are_told_by_name(langsmith_server: LangSmithServerFactory) -> None:
    def judge(case: Any) -> Judgment:
        answers = (Answer(criterion="brief", verdict="PASS", reasoning="short"), Answer(criterion="kind", verdict=None))
        return Judgment(answers=answers)

    server = langsmith_server()
    with traced(server):
        harness().evaluate(judge, AnswerCase(case_id="c", output="a"))
    (run,), (one,) = server.named("judge_harness"), server.named("sample[none#0]")
    told = metadata(run)
    assert told["status"] == {"brief": "decided", "kind": "not_graded"}
    assert told["consistency_rate"] == {"brief": 1.0, "kind": None}
    assert "abstained" not in told
    assert metadata(one)["verdict"] == {"brief": "PASS", "kind": None}
    assert metadata(one)["outcome"] == {"brief": "ok", "kind": "unparsed"}
    assert one["outputs"] == {"verdict": {"brief": "PASS", "kind": None}, "reasoning": "short"}
    assert one["error"] is None


def test_rewrites_are_the_cases_and_not_a_samples(langsmith_server: LangSmithServerFactory) -> None:
    def rewriter(text: str) -> str:
        return look(text).upper()

    server = langsmith_server()
    with traced(server):
        harness("paraphrase", repetitions=2, rewriter=rewriter).evaluate(looking, AnswerCase(case_id="c", output="a"))
    name, _, below = server.tree()
    assert name == "judge_harness"
    rewrite = ("rewrite[rewriter]", "chain", [LOOK])
    assert sorted(below) == sorted([rewrite, sample("paraphrase#0", LOOK), sample("paraphrase#1", LOOK)])
    (run,) = server.named("rewrite[rewriter]")
    assert not {"perturbation", "repetition", "order"} & set(metadata(run))
    assert run["status"] == "success"


def test_a_rewrite_that_failed_is_an_error(langsmith_server: LangSmithServerFactory) -> None:
    def rewriter(text: str) -> str:
        raise ValueError(text)

    server = langsmith_server()
    with traced(server):
        harness("paraphrase", rewriter=rewriter).evaluate(looking, AnswerCase(case_id="c", output="a"))
    (run,) = server.named("rewrite[rewriter]")
    assert (run["status"], run["error"]) == ("error", "ValueError")


def test_models_that_nobody_else_traces_are_llm_runs(langsmith_server: LangSmithServerFactory) -> None:
    async def judge(case: Any) -> str:
        with model_span("gemini-2.5-flash", provider="Gemini") as outcome:
            outcome.update(model="gemini-2.5-flash-001", input_tokens=12, output_tokens=3, cached_input_tokens=8)
        with model_span("house-model", provider="LiteLlm") as outcome:
            outcome.update(input_tokens=12, output_tokens=None)
        with pytest.raises(ConnectionError), model_span("gpt-4o"):
            raise ConnectionError
        return "PASS"

    server = langsmith_server()
    with traced(server):
        harness().evaluate(judge, "case")
    models = [(name, "llm", []) for name in ("gemini-2.5-flash", "house-model", "gpt-4o")]
    assert server.tree() == ("judge_harness", "chain", [sample("none#0", *models)])
    gemini, house, gpt = (server.named(name)[0] for name, _, _ in models)
    used = {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15, "input_token_details": {"cache_read": 8}}
    assert gemini["outputs"] == {"usage_metadata": used}
    assert gemini["total_tokens"] == 15
    names = ("ls_provider", "ls_model_name", "ls_model_type")
    assert [metadata(gemini)[name] for name in names] == ["google_genai", "gemini-2.5-flash-001", "chat"]
    assert [metadata(house)[name] for name in names] == ["litellm", "house-model", "chat"]
    assert house["outputs"] == {"usage_metadata": {"input_tokens": 12}}
    assert metadata(gpt)["ls_provider"] == "openai"
    assert (gpt["error"], gpt["outputs"]) == ("ConnectionError", {})


def test_run_ids_are_given_by_case_and_once(langsmith_server: LangSmithServerFactory) -> None:
    server, wanted = langsmith_server(), uuid4()
    with traced(server):
        one = harness(observers=[LangSmithTracing(run_ids={"pair": wanted})])
        one.evaluate(looking, PAIR)
        one.evaluate(looking, PAIR)
    first, second = server.named("judge_harness")
    assert first["id"] == str(wanted) == first["trace_id"] != second["id"]


def test_a_calibration_set_has_trees_of_its_own(langsmith_server: LangSmithServerFactory) -> None:
    server, wanted = langsmith_server(), uuid4()
    judge = ScriptedJudge(["A"], identity=JudgeIdentity(name="j"))
    labelled = CalibrationSet("labels", ((PAIR, "A"), (PairwiseCase(case_id="other", output="a", output_b="b"), "B")))
    one = harness(calibration_set=labelled, observers=[LangSmithTracing(run_ids={"pair": wanted})])

    @traceable
    def suite() -> None:
        one.evaluate(judge, PAIR)

    with traced(server):
        suite()
    tree = ("judge_harness", "chain", [sample("none#0")])
    assert server.tree() == ("suite", "chain", [tree] * 3)
    first, *labelled_runs = server.named("judge_harness")
    assert first["id"] == str(wanted)
    assert metadata(first)["calibration_source"] == "labels"
    assert [metadata(run)["calibration_source"] for run in labelled_runs] == [None, None]
    assert [run["inputs"]["case_id"] for run in labelled_runs] == ["pair", "other"]


# what fails


def test_failing_samples_are_errors_and_the_observer_stays(langsmith_server: LangSmithServerFactory) -> None:
    answers = iter([ValueError("no key"), "A long answer\nof two lines", "A"])

    def judge(case: Any) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    server = langsmith_server()
    with traced(server):
        harness(repetitions=3, min_valid=1).evaluate(judge, PAIR)
    raised, unread, fine = (server.named(f"sample[none#{number}]")[0] for number in range(3))
    assert raised["error"] == "ValueError: no key"
    assert (metadata(raised)["outcome"], metadata(raised)["verdict"]) == ("error", None)
    assert unread["error"] == "unparsed"
    assert fine["error"] is None
    assert [run["status"] for run in server.named("judge_harness")] == ["success"]


def test_a_perturbation_that_raises_fails_its_samples(langsmith_server: LangSmithServerFactory) -> None:
    def broken(case: Any) -> Any:
        raise ZeroDivisionError

    server = langsmith_server()
    with traced(server):
        harness("none", Perturbation("broken", broken)).evaluate(looking, PAIR)  # type: ignore[arg-type]
    assert [run["status"] for run in server.named("sample[broken#0]")] == ["error"]


def test_cancelling_ends_every_run(langsmith_server: LangSmithServerFactory) -> None:
    started = asyncio.Event()

    async def judge(case: Any) -> str:
        started.set()
        await asyncio.sleep(60)
        return "A"

    async def cancelled() -> None:
        note_understood(known := FunctionJudge(function=judge))  # or its first call would go alone
        task = asyncio.ensure_future(harness("none", "position_swap", max_concurrency=2).aevaluate(known, PAIR))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    server = langsmith_server()
    with traced(server):
        asyncio.run(cancelled())
    assert server.tree() == ("judge_harness", "chain", [sample("none#0"), sample("position_swap#0")])
    assert {(run["error"], run["end_time"] is None) for run in server.runs.values()} == {("interrupted", False)}
    (run,) = server.named("judge_harness")
    assert metadata(run)["__ls_framework"] == "judgeharness"


def test_a_stream_closed_early_ends_its_runs(langsmith_server: LangSmithServerFactory) -> None:
    async def judge(case: str) -> str:
        await asyncio.sleep(0 if case == "quick" else 60)
        return "PASS"

    async def closed_early() -> None:
        async with aclosing(harness(max_concurrency=2).aevaluate_many(judge, ["quick", "slow"])) as results:
            await anext(results)

    server = langsmith_server()
    with traced(server):
        asyncio.run(closed_early())
    assert [run["error"] for run in server.named("judge_harness")] == [None, "interrupted"]


def test_the_end_of_a_budget_ends_the_runs(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    with traced(server):
        list(harness(repetitions=2, budget=Budget(max_calls=1)).evaluate_many(looking, [PAIR]))
    assert [run["error"] for run in server.named("sample[none#1]")] == ["interrupted"]
    (run,) = server.named("judge_harness")
    assert (run["error"], run["outputs"]["state"]) == (None, "budget_exhausted")


# what frameworks trace


def langchain_judge(server: OpenAIServer) -> Any:
    return load_evaluator("pairwise_string", llm=chat_model(server))  # type: ignore[arg-type]


def compare(judge: Any, one: JudgeHarness) -> Any:
    return harness_evaluator(judge, one).evaluate_string_pairs(input="Which?", prediction="SECRET", prediction_b="b")


@pytest.mark.slow
@pytest.mark.parametrize("multipart", [True, False])
def test_langchain_runs_land_below_their_samples(
    langsmith_server: LangSmithServerFactory,
    openai_server: Serve,
    multipart: bool,  # noqa: FBT001
) -> None:
    server, judging = langsmith_server(multipart=multipart), openai_server(always_first)

    @traceable
    def suite() -> None:
        compare(langchain_judge(judging), harness("none", "position_swap", repetitions=2, max_concurrency=4))

    with traced(server):
        suite()
    chain = ("PairwiseStringEvalChain", "chain", [("ChatOpenAI", "llm", [])])
    (_, _, [(name, _, below)]) = server.tree()
    assert name == "judge_harness"
    assert sorted(below) == [
        sample(f"{name}#{number}", chain) for name in ("none", "position_swap") for number in (0, 1)
    ]
    models = server.named("ChatOpenAI")
    assert {run["extra"]["metadata"]["ls_provider"] for run in models} == {"openai"}
    for run in models:
        (message,) = run["outputs"]["generations"][0]
        assert message["message"]["kwargs"]["usage_metadata"]["total_tokens"] > 0
    assert sorted(metadata(run)["order"] for run in models) == ["original"] * 2 + ["swapped"] * 2
    assert server.unknown == []


@pytest.mark.slow
def test_langchain_below_an_asynchronous_caller(langsmith_server: LangSmithServerFactory, openai_server: Serve) -> None:
    server, judging = langsmith_server(), openai_server(always_first)
    judge = harness_evaluator(langchain_judge(judging), harness())

    @traceable
    async def suite() -> None:
        await judge.aevaluate_string_pairs(input="Which?", prediction="a", prediction_b="b")

    with traced(server):
        asyncio.run(suite())
    chain = ("PairwiseStringEvalChain", "chain", [("ChatOpenAI", "llm", [])])
    assert server.tree() == ("suite", "chain", [("judge_harness", "chain", [sample("none#0", chain)])])


def test_a_harness_inside_a_langchain_runnable(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    app = RunnableLambda(lambda text: harness().evaluate(looking, PAIR).verdict, name="app")
    with traced(server):
        assert app.invoke("q") == "A"
    assert server.tree() == ("app", "chain", [("judge_harness", "chain", [sample("none#0", LOOK)])])


def openevals_judge(server: OpenAIServer) -> Any:
    model = chat_model(server)
    judged = create_llm_as_judge(prompt="Is {outputs} right?", judge=model, feedback_key="right")
    return lambda case: bool(judged(outputs=case.output)["score"])  # type: ignore[call-overload]


def right(request: Request) -> Reply:
    return Reply.text('{"reasoning": "it is", "score": true}')


@pytest.mark.slow
def test_openevals_runs_land_below_their_samples(
    langsmith_server: LangSmithServerFactory, openai_server: Serve
) -> None:
    server = langsmith_server()
    with traced(server):
        harness().evaluate(openevals_judge(openai_server(right)), AnswerCase(case_id="c", output="a"))
    name, _, (one,) = server.tree()
    assert (name, one[0]) == ("judge_harness", "sample[none#0]")
    assert [(child[0], child[1]) for child in one[2]] == [("llm_as_right_judge", "chain")]
    models = [run for run in server.runs.values() if run["run_type"] == "llm"]
    assert [run["name"] for run in models] == ["ChatOpenAI"]
    (run,) = server.named("judge_harness")
    assert metadata(run)["__ls_framework"] == "judgeharness"


# what is not sent


def secret(observer: LangSmithTracing, judging: OpenAIServer) -> None:
    """Judge a secret with LangChain, with openevals and with a traced function."""
    one = harness("none", "position_swap", observers=[observer])
    assert compare(langchain_judge(judging), one)["harness"]["status"] == "abstained"
    case = AnswerCase(case_id="c", output="SECRET")
    grading = harness("none", "paraphrase", observers=[observer], rewriter=look)
    assert grading.evaluate(openevals_judge(judging), case).verdict == "PASS"

    async def asking(case: AnswerCase) -> str:
        assert get_current_run_tree() is None  # frameworks note things on it
        with model_span("gpt-4o"):
            return look(case.output)

    assert grading.evaluate(asking, case).verdict == "SECRET"


def either(request: Request) -> Reply:
    return always_first(request) if "Assistant A" in request.user else right(request)


@pytest.mark.slow
def test_nothing_is_sent_while_tracing_is_off(langsmith_server: LangSmithServerFactory, openai_server: Serve) -> None:
    server = langsmith_server()
    secret(LangSmithTracing(client=server.client()), openai_server(either))
    with tracing_context(enabled=False, client=server.client()):
        secret(LangSmithTracing(), openai_server(either))
    assert uploads(server) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("private", "enabled"), [(True, True), (False, "local"), (True, "local")])
def test_private_and_local_send_nothing(
    langsmith_server: LangSmithServerFactory,
    openai_server: Serve,
    private: bool,  # noqa: FBT001
    enabled: Any,
) -> None:
    server = langsmith_server()
    with tracing_context(enabled=enabled, client=server.client()):
        secret(LangSmithTracing(private=private), openai_server(either))
    assert uploads(server) == []


@pytest.mark.slow
def test_what_is_around_a_private_measurement_is_traced(
    langsmith_server: LangSmithServerFactory, openai_server: Serve
) -> None:
    server, judging = langsmith_server(), openai_server(either)

    @traceable
    def suite() -> None:
        secret(LangSmithTracing(private=True), judging)
        look("after")

    with traced(server):
        suite()
    assert server.tree() == ("suite", "chain", [LOOK])
    assert "SECRET" not in server.text


def test_rewrites_and_calls_of_an_executor_of_ones_own_are_private_each(
    langsmith_server: LangSmithServerFactory,
) -> None:
    server = langsmith_server()
    spans = Spans([LangSmithTracing(private=True)])
    with traced(server):
        for kind in ("call", "rewrite"):
            with spans.around(kind, "c"):  # type: ignore[arg-type]
                look("SECRET")
        look("after")
    assert server.tree() == LOOK
    assert "SECRET" not in server.text


@pytest.mark.slow
@pytest.mark.parametrize("private", [True, False])
def test_tracers_that_langchain_hands_down_are_private_too(
    langsmith_server: LangSmithServerFactory,
    openai_server: Serve,
    private: bool,  # noqa: FBT001
) -> None:
    server, judging = langsmith_server(), openai_server(either)
    client = server.client()
    told: list[Any] = []

    def judge(config: RunnableConfig) -> None:
        told.append(config["callbacks"])
        compare(langchain_judge(judging), harness(observers=[LangSmithTracing(private=private)]))

    def app(_: str, config: RunnableConfig) -> None:
        judge(config)

    with tracing_v2_enabled(client=client):
        judge({"callbacks": None})
    RunnableLambda(app).invoke("q", {"callbacks": [LangChainTracer(client=client)]})
    assert len(told) == 2
    assert ("SECRET" in server.text) is not private
    assert bool(server.named("ChatOpenAI")) is not private


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::langsmith._internal._beta_decorator.LangSmithBetaWarning")
def test_evaluate_without_upload_leaks_no_prompt(
    langsmith_server: LangSmithServerFactory, openai_server: Serve
) -> None:
    server, judging = langsmith_server(), openai_server(either)
    client = server.client()
    client.create_example({"q": "?"}, dataset_id=client.create_dataset("d").id, reference_outputs={"a": "SECRET"})
    before = len(uploads(server))
    seen: list[str] = []

    def judged(outputs: dict[str, Any]) -> bool:
        secret(LangSmithTracing(), judging)
        seen.append(outputs["a"])
        return True

    evaluate(lambda inputs: {"a": "b"}, data="d", evaluators=[judged], client=client, upload_results=False)
    assert seen == ["b"]
    assert uploads(server)[before:] == []


def test_evaluators_are_traced_below_their_run(langsmith_server: LangSmithServerFactory) -> None:
    server = langsmith_server()
    client = server.client()
    client.create_example({"q": "?"}, dataset_id=client.create_dataset("d").id, reference_outputs={"a": "x"})

    def judged(outputs: dict[str, Any]) -> bool:
        return harness().evaluate(looking, PAIR).verdict == "A"

    evaluate(lambda inputs: {"a": "b"}, data="d", evaluators=[judged], client=client)
    below = ("judge_harness", "chain", [sample("none#0", LOOK)])
    assert server.tree("evaluators") == ("judged", "chain", [below])
    assert server.unknown == []
