"""A judge that is down: judges of openevals raise then, and so do harnessed ones; real clients, loopback server."""

from __future__ import annotations

import logging
import textwrap
from typing import Any

import pytest
from langsmith import evaluate, tracing_context
from openai import AsyncOpenAI, OpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from support.langsmith_fixtures import LangSmithServerFactory
from support.openai_server import OpenAIServer, Reply, chat_model
from support.openevals_judging import CASE, PROMPT, Serve, by_format, once, told

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import NotGradedError, UsageError
from judgeharness_integrations.judging.execution import Budget
from judgeharness_langsmith import HarnessRunEvaluator
from judgeharness_openevals import create_async_harnessed_pairwise_judge, create_harnessed_pairwise_judge, harness_judge

pytest_plugins = ["pytester"]

FACTORIES = pytest.mark.parametrize("factory", [create_llm_as_judge, create_async_llm_as_judge])
PAIRWISE = pytest.mark.parametrize("factory", [create_harnessed_pairwise_judge, create_async_harnessed_pairwise_judge])
DEAD_KEY = Reply.status(401)
PAIR: dict[str, Any] = {"inputs": "Which?", "outputs": ["short", "a longer answer"]}
SCHEMA = {
    "title": "review",
    "description": "r",
    "type": "object",
    "properties": {"polite": {"type": "boolean"}, "right": {"type": "boolean"}},
    "required": ["polite", "right"],
}


def quick(shape: Any = "labels", **options: Any) -> JudgeHarness:
    return JudgeHarness.standard(shape, max_attempts=1, on_unfit="skip", **options)


def judged(server: OpenAIServer, factory: Any = create_llm_as_judge, **options: Any) -> Any:
    bare = factory(prompt=PROMPT, judge=chat_model(server), feedback_key="right")
    return harness_judge(bare, options.pop("harness", quick()), **options)


@pytest.mark.sampled(3)
@FACTORIES
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        pytest.param(DEAD_KEY, "AuthenticationError", id="401"),
        pytest.param(Reply.status(500), "APIError", id="500"),
        pytest.param(Reply.reset(), "ConnectionError", id="dropped"),
    ],
)
def test_a_judge_that_is_down_raises(openai_server: Serve, factory: Any, reply: Reply, kind: str) -> None:
    server = openai_server([reply])
    with pytest.raises(
        NotGradedError, match=rf"^not graded: all 6 samples failed \(\w*{kind} 6\), the first with .*: check "
    ) as raised:
        told(judged(server, factory), **CASE)
    result = raised.value.result
    assert (result.status, result.only.outcomes["error"], server.calls) == ("not_graded", 6, 6)


@pytest.mark.parametrize(
    ("factory", "client"), [(create_llm_as_judge, OpenAI), (create_async_llm_as_judge, AsyncOpenAI)]
)
def test_an_openai_client_that_is_refused_raises_too(openai_server: Serve, factory: Any, client: Any) -> None:
    asked = client(base_url=f"{openai_server([DEAD_KEY]).url}/v1", api_key="test", max_retries=0)
    judge = harness_judge(factory(prompt=PROMPT, judge=asked, model="gpt-4o-test"), quick())
    with pytest.raises(NotGradedError, match="AuthenticationError 6"):
        told(judge, **CASE)


@pytest.mark.slow
@PAIRWISE
def test_pairwise_judges_raise_too_and_report_where_told(openai_server: Serve, factory: Any) -> None:
    options: dict[str, Any] = {"judge": chat_model(openai_server([DEAD_KEY])), "harness": quick("pairwise")}
    with pytest.raises(NotGradedError, match="AuthenticationError 6"):
        told(factory(**options), **PAIR)
    answer = told(factory(**options, on_not_graded="report"), **PAIR)
    assert (answer["score"], answer["metadata"]["status"]) == (None, "not_graded")
    with pytest.raises(UsageError, match=r"^on_not_graded is 'raise' or 'report', not 'none'\.$"):
        factory(**options, on_not_graded="none")


@pytest.mark.slow
def test_several_criteria_of_a_dead_judge_are_one_error(openai_server: Serve) -> None:
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([DEAD_KEY])), output_schema=SCHEMA)
    with pytest.raises(NotGradedError, match=r"all 6 samples failed \(\w+ 6\)") as raised:
        harness_judge(bare, quick())(**CASE)
    assert set(raised.value.result.criteria) == {"polite", "right"}
    answer = harness_judge(bare, quick(), on_not_graded="report")(**CASE)
    assert (answer["polite"], answer["right"]) == (None, None)


@FACTORIES
def test_report_keeps_score_none(openai_server: Serve, factory: Any) -> None:
    answer = told(judged(openai_server([DEAD_KEY]), factory, on_not_graded="report"), **CASE)
    assert (answer["key"], answer["score"], answer["metadata"]["status"]) == ("right", None, "not_graded")
    assert answer["comment"].startswith("not graded: 0 valid of 6 samples")


@pytest.mark.slow
@FACTORIES
def test_abstentions_and_answers_without_a_score_raise_nothing(openai_server: Serve, factory: Any) -> None:
    abstained = told(judged(openai_server(by_format), factory), **CASE)
    assert (abstained["score"], abstained["metadata"]["status"]) == (None, "abstained")
    for reply in (Reply.text("no JSON"), Reply.refusal()):
        answer = told(judged(openai_server([reply]), factory), **CASE)
        assert (answer["score"], answer["metadata"]["status"]) == (None, "not_graded")


@pytest.mark.slow
def test_a_spent_budget_raises_nothing_and_a_bare_design_the_judges_own(openai_server: Serve) -> None:
    server = openai_server([DEAD_KEY])
    answer = judged(server, harness=quick(budget=Budget(max_calls=2), max_concurrency=1))(**CASE)
    assert (answer["score"], answer["metadata"]["harness"]["state"]) == (None, "budget_exhausted")
    with pytest.raises(Exception, match="401") as raised:
        judged(server, harness=once())(**CASE)
    assert not isinstance(raised.value, NotGradedError)
    assert judged(server, harness=once(), on_not_graded="report")(**CASE)["score"] is None


def test_a_wrong_choice_is_refused(openai_server: Serve) -> None:
    with pytest.raises(UsageError, match=r"^on_not_graded is 'raise' or 'report', not 'rais'\.$"):
        judged(openai_server([DEAD_KEY]), on_not_graded="rais")


@pytest.mark.slow
def test_the_run_of_a_trace_holds_the_measurement(
    langsmith_server: LangSmithServerFactory, openai_server: Serve
) -> None:
    server = langsmith_server()
    judge = judged(openai_server([DEAD_KEY]))
    with (
        tracing_context(enabled=True, client=server.client(), project_name="judging"),
        pytest.raises(NotGradedError),
    ):
        judge(**CASE)
    (root,) = [run for run in server.runs.values() if not run.get("parent_run_id")]
    (outcome,) = root["outputs"]["criteria"].values()
    assert (root["name"], outcome["status"]) == ("judge_harness", "not_graded")


@pytest.mark.slow
def test_langsmith_keeps_its_way_row_by_row(
    langsmith_server: LangSmithServerFactory, openai_server: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    """What raises is LangSmith's error of that row, as with the bare judge; its own evaluators report."""
    server = langsmith_server()
    client = server.client()
    data = client.create_dataset("capitals")
    examples: Any = [{"inputs": {"q": n}, "reference_outputs": {"a": n}} for n in range(2)]
    client.create_examples(dataset_id=data.id, examples=examples)
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([DEAD_KEY])), feedback_key="right")

    def rows(evaluator: Any) -> list[Any]:
        found = evaluate(lambda inputs: {"a": "It is so."}, data="capitals", evaluators=[evaluator], client=client)
        return [one for row in found for one in row["evaluation_results"]["results"]]

    with caplog.at_level(logging.CRITICAL, logger="langsmith"):
        alone, harnessed = rows(bare), rows(harness_judge(bare, quick()))
        reported = rows(HarnessRunEvaluator(bare, quick()))
    assert [(one.key, one.score, one.extra) for one in harnessed] == [(one.key, one.score, one.extra) for one in alone]
    assert [one.extra for one in harnessed] == [{"error": True}] * 2
    assert all(one.comment.startswith("NotGradedError(") and "not graded: " in one.comment for one in harnessed)
    decisions = [one for one in reported if one.key == "right"]
    assert [(one.score, one.value) for one in decisions] == [(None, "NOT GRADED")] * 2


SUITE = """
import pytest
from openevals.llm import create_llm_as_judge
from support.openai_server import OpenAIServer, Reply, chat_model
from judgeharness_integrations import JudgeHarness
from judgeharness_openevals import harness_judge

def score(**options):
    with OpenAIServer([Reply.status(401)]) as server:
        bare = create_llm_as_judge(prompt="{outputs}", judge=chat_model(server), feedback_key="lost")
        harness = JudgeHarness.standard("labels", max_attempts=1, on_unfit="skip")
        return harness_judge(bare, harness, **options)(outputs="a text")["score"]

@pytest.mark.langsmith
def test_not_bad():
    assert score() is not False

@pytest.mark.langsmith
def test_not_bad_as_it_was():
    assert score(on_not_graded="report") is not False
"""


@pytest.mark.slow
def test_a_suite_that_passed_under_a_dead_judge_does_not_and_langsmith_is_told(
    langsmith_server: LangSmithServerFactory, pytester: pytest.Pytester, pytestconfig: pytest.Config
) -> None:
    server = langsmith_server()
    pytester.makepyfile(textwrap.dedent(SUITE))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment(LANGSMITH_TEST_SUITE="suite").items():
            patch.setenv(name, value)
        patch.setenv("PYTHONPATH", ":".join(str(pytestconfig.rootpath / part) for part in ("tests", "adapters", "")))
        done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-q")
    done.assert_outcomes(failed=1, passed=1)
    done.stdout.fnmatch_lines(
        ["*NotGradedError: not graded: all 6 samples failed (*AuthenticationError 6), the first with *"]
    )
    rows = [(row["key"], row.get("score"), row.get("value")) for row in server.feedback if row["key"] == "lost"]
    assert rows == [("lost", None, "NOT GRADED")] * 2
