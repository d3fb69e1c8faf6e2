"""A judge that is down: evaluators of LangChain raise then, and so do harnessed ones; real clients, loopback server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_classic.evaluation import load_evaluator as classic_load
from openai import APIConnectionError, AuthenticationError
from support.openai_server import OpenAIServer, Reply, Request, always_first, chat_model, longer_wins

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import NotGradedError, UsageError
from judgeharness_integrations.judging.execution import Budget
from judgeharness_langchain import PairwiseJudge, harness_evaluator, load_evaluator

pytest_plugins = ["pytester"]

Serve = Callable[..., OpenAIServer]
PAIR = {"prediction": "short", "prediction_b": "a much longer answer", "input": "Which one?"}
OTHER = {**PAIR, "prediction": "brief"}
SINGLE = {"prediction": "an answer", "input": "a question"}
DEAD_KEY = Reply.status(401)
DOWN = [
    pytest.param(DEAD_KEY, "AuthenticationError", id="401"),
    pytest.param(Reply.status(500), "APIError", id="500"),
    pytest.param(Reply.reset(), "ConnectionError", id="dropped"),
]


def quick(shape: Any = "pairwise", **options: Any) -> JudgeHarness:
    return JudgeHarness.standard(shape, max_attempts=1, **options)


def pairwise(server: OpenAIServer, **options: Any) -> Any:
    evaluator = classic_load("pairwise_string", llm=chat_model(server))
    return harness_evaluator(evaluator, options.pop("harness", quick()), **options)


def asked(face: str, evaluator: Any, **texts: str) -> dict[str, Any]:
    """Evaluate by one of the faces."""
    name = "evaluate_string_pairs" if "prediction_b" in texts else "evaluate_strings"
    if face == "sync":
        return dict(getattr(evaluator, name)(**texts))
    if face == "async":
        return dict(asyncio.run(getattr(evaluator, f"a{name}")(**texts)))
    runnable = evaluator.as_runnable()
    return dict(runnable.invoke(texts) if face == "runnable" else asyncio.run(runnable.ainvoke(texts)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("face", ["sync", "async", "runnable", "async runnable"])
@pytest.mark.parametrize(("reply", "kind"), DOWN)
def test_a_judge_that_is_down_raises_by_every_face(openai_server: Serve, face: str, reply: Reply, kind: str) -> None:
    server = openai_server([reply])
    with pytest.raises(
        NotGradedError, match=rf"^not graded: all 6 samples failed \(\w*{kind} 6\), the first with .*: check "
    ) as raised:
        asked(face, pairwise(server), **PAIR)
    result = raised.value.result
    assert (result.status, result.only.outcomes["error"], server.calls) == ("not_graded", 6, 6)
    assert result.reason.count("6 failed with") == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "shape"), [("score_string", "scores"), ("labeled_score_string", "scores"), ("labeled_criteria", "labels")]
)
def test_scoring_and_criteria_raise_too(openai_server: Serve, name: str, shape: str) -> None:
    for face in ("sync", "async"):
        harnessed = harness_evaluator(classic_load(name, llm=chat_model(openai_server([DEAD_KEY]))), quick(shape))
        reference = {"reference": "the truth"} if harnessed.requires_reference else {}
        with pytest.raises(NotGradedError, match="AuthenticationError 6"):
            asked(face, harnessed, **SINGLE, **reference)


@pytest.mark.slow
def test_a_judge_of_ours_and_our_loader_raise_too(openai_server: Serve) -> None:
    model = chat_model(openai_server([DEAD_KEY]))
    for harness in (quick(), JudgeHarness.single("pairwise", max_attempts=1)):
        with pytest.raises(NotGradedError):
            harness_evaluator(PairwiseJudge(model), harness).evaluate_string_pairs(**PAIR)
    with pytest.raises(NotGradedError):
        load_evaluator("pairwise_string", llm=model, harness=quick()).evaluate_string_pairs(**PAIR)
    reporting = load_evaluator("pairwise_string", llm=model, harness=quick(), on_not_graded="report")
    assert reporting.evaluate_string_pairs(**PAIR)["value"] is None


@pytest.mark.slow
def test_a_single_sample_raises_what_the_evaluator_raises_unless_it_is_to_be_reported(openai_server: Serve) -> None:
    single = JudgeHarness.single("pairwise", max_attempts=1)
    with pytest.raises(AuthenticationError):
        pairwise(openai_server([DEAD_KEY]), harness=single).evaluate_string_pairs(**PAIR)
    reported = pairwise(openai_server([DEAD_KEY]), harness=single, on_not_graded="report")
    assert reported.evaluate_string_pairs(**PAIR)["value"] is None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("face", ["sync", "async", "runnable", "async runnable"])
def test_report_keeps_value_none(openai_server: Serve, face: str) -> None:
    answer = asked(face, pairwise(openai_server([DEAD_KEY]), on_not_graded="report"), **PAIR)
    assert (answer["value"], answer["score"], answer["harness"]["status"]) == (None, None, "not_graded")
    assert answer["reasoning"].startswith("not graded: 0 valid of 6 samples")
    assert answer["harness"]["criteria"]["verdict"]["outcomes"]["error"] == 6


@pytest.mark.slow
@pytest.mark.parametrize("face", ["sync", "async"])
def test_an_abstention_and_answers_without_a_verdict_raise_nothing(openai_server: Serve, face: str) -> None:
    answer = asked(face, pairwise(openai_server(always_first)), **PAIR)
    assert (answer["value"], answer["score"], answer["harness"]["status"]) == (None, None, "abstained")
    for reply in (Reply.text("I cannot tell."), Reply.refusal()):
        answer = asked(face, pairwise(openai_server([reply])), **PAIR)
        assert (answer["value"], answer["score"], answer["harness"]["status"]) == (None, None, "not_graded")
    answer = asked(face, pairwise(openai_server([Reply.text("Who knows?"), *[DEAD_KEY] * 5])), **PAIR)
    assert answer["harness"]["criteria"]["verdict"]["outcomes"] == {"ok": 0, "unparsed": 1, "refused": 0, "error": 5}


def test_a_spent_budget_raises_nothing(openai_server: Serve) -> None:
    harness = quick(budget=Budget(max_calls=2), max_concurrency=1)
    answer = pairwise(openai_server([DEAD_KEY]), harness=harness).evaluate_string_pairs(**PAIR)
    assert (answer["value"], answer["harness"]["state"]) == (None, "budget_exhausted")
    assert answer["harness"]["criteria"]["verdict"]["outcomes"]["error"] == 2


def partly_dead(request: Request) -> Reply:
    """No answer about what is brief."""
    return DEAD_KEY if "brief" in request.user else longer_wins(request)


@pytest.mark.slow
@pytest.mark.parametrize("face", ["batch", "abatch"])
def test_a_batch_asks_everything_and_raises_with_every_result(openai_server: Serve, face: str) -> None:
    server = openai_server(partly_dead)
    runnable, inputs = pairwise(server).as_runnable(), [OTHER, PAIR, OTHER, PAIR]
    with pytest.raises(
        NotGradedError, match=r"^not graded: all 12 samples of 2 of 4 cases failed \(\w+ 12\)"
    ) as raised:
        _ = runnable.batch(inputs) if face == "batch" else asyncio.run(runnable.abatch(inputs))
    assert [result.verdict for result in raised.value.results] == [None, "B", None, "B"]
    assert raised.value.result is raised.value.results[0]
    assert server.calls == 24


@pytest.mark.slow
@pytest.mark.parametrize("face", ["batch", "abatch"])
def test_a_batch_returns_what_it_is_told_to_return(openai_server: Serve, face: str) -> None:
    def answers(evaluator: Any, **options: Any) -> list[Any]:
        runnable, inputs = evaluator.as_runnable(), [OTHER, PAIR]
        if face == "batch":
            return list(runnable.batch(inputs, **options))
        return list(asyncio.run(runnable.abatch(inputs, **options)))

    error, good = answers(pairwise(openai_server(partly_dead)), return_exceptions=True)
    assert isinstance(error, NotGradedError)
    assert good["value"] == "B"
    told = answers(pairwise(openai_server(partly_dead), on_not_graded="report"))
    assert [answer["value"] for answer in told] == [None, "B"]
    assert [answer["value"] for answer in answers(pairwise(openai_server(longer_wins)))] == ["B", "B"]


@pytest.mark.slow
def test_batches_as_completed_raise_last(openai_server: Serve) -> None:
    inputs = [OTHER, PAIR, PAIR]
    # the second loop may meet a connection of the first one, which another attempt mends
    several = JudgeHarness.standard("pairwise", max_attempts=3)
    runnable = pairwise(openai_server(partly_dead), harness=several).as_runnable()
    seen: list[tuple[int, Any]] = []
    with pytest.raises(NotGradedError) as raised:
        seen.extend((place, answer["value"]) for place, answer in runnable.batch_as_completed(inputs))
    assert [result.verdict for result in raised.value.results] == [None, "B", "B"]
    places = dict(runnable.batch_as_completed(inputs, return_exceptions=True))
    assert isinstance(places[0], NotGradedError)
    assert places[1]["value"] == "B"

    async def completed(seen: list[Any], **options: Any) -> None:
        async for place, answer in runnable.abatch_as_completed(inputs, **options):
            seen.append((place, answer))

    late: list[Any] = []
    with pytest.raises(NotGradedError):
        asyncio.run(completed(late))
    assert sorted(place for place, _ in late) == [1, 2]
    asyncio.run(completed(late, return_exceptions=True))
    assert len(late) == 5


def test_a_batch_raises_what_else_an_evaluation_raises_when_all_were_asked(openai_server: Serve) -> None:
    server = openai_server(partly_dead)
    runnable = pairwise(server, harness=JudgeHarness.single("pairwise", max_attempts=1)).as_runnable()
    with pytest.raises(AuthenticationError):
        runnable.batch([OTHER, PAIR, PAIR])
    assert server.calls == 3


def test_a_wrong_choice_is_refused_before_anything_is_asked(openai_server: Serve) -> None:
    server = openai_server(longer_wins)
    with pytest.raises(UsageError, match=r"^on_not_graded is 'raise' or 'report', not 'rais'\.$"):
        pairwise(server, on_not_graded="rais")
    with pytest.raises(UsageError, match=r"^on_not_graded is "):
        load_evaluator("pairwise_string", llm=chat_model(server), on_not_graded=None)  # type: ignore[arg-type]
    assert server.calls == 0


@pytest.mark.slow
def test_a_bare_evaluator_raises_where_its_model_is_down(openai_server: Serve) -> None:
    """What the harnessed evaluator stands in for."""
    for reply, kind in ((DEAD_KEY, AuthenticationError), (Reply.reset(), APIConnectionError)):
        bare = classic_load("pairwise_string", llm=chat_model(openai_server([reply])))
        with pytest.raises(kind):
            bare.evaluate_string_pairs(**PAIR)


SUITE = """
from langchain_classic.evaluation import load_evaluator
from support.openai_server import OpenAIServer, Reply, chat_model
from judgeharness_integrations import JudgeHarness
from judgeharness_langchain import harness_evaluator

def verdict(**options):
    with OpenAIServer([Reply.status(401)]) as server:
        evaluator = load_evaluator("pairwise_string", llm=chat_model(server))
        harness = JudgeHarness.standard("pairwise", max_attempts=1)
        evaluator = harness_evaluator(evaluator, harness, **options)
        return evaluator.evaluate_string_pairs(input="Q?", prediction="new", prediction_b="old answer")

def test_not_worse():
    assert verdict()["value"] != "B"

def test_not_worse_as_it_was():
    assert verdict(on_not_graded="report")["value"] != "B"
"""


@pytest.mark.slow
def test_a_suite_that_passed_under_a_dead_judge_does_not(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    ran = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-q")
    ran.assert_outcomes(failed=1, passed=1)
    ran.stdout.fnmatch_lines(
        ["*NotGradedError: not graded: all 6 samples failed (*AuthenticationError 6), the first with *"]
    )
