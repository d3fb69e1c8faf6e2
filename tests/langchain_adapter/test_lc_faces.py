"""The faces a LangChain chain has beside its evaluation give the measurement, in the chain's own shapes."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from langchain_classic.evaluation import load_evaluator as classic_load
from langchain_classic.evaluation.qa.eval_chain import ContextQAEvalChain, QAEvalChain
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda
from support.openai_server import OpenAIServer, Reply, always_first, chat_model, longer_wins

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import NotGradedError, UnsupportedEvaluatorError
from judgeharness_langchain import harness_evaluator
from judgeharness_langchain.faces import MeasuredText

Serve = Callable[..., OpenAIServer]
PAIR = {"prediction": "short", "prediction_b": "a much longer answer", "input": "Which one?"}
OTHER = {"prediction": "the longest answer of all", "prediction_b": "tiny", "input": "And now?"}
EXAMPLES = [{"query": "What is my name?", "answer": "Ada"}, {"query": "What is yours?", "answer": "Grace"}]
PREDICTIONS = [{"result": "Ada"}, {"result": "Ada"}]
GRADED_BY_NAME = "GRADE: CORRECT", "GRADE: INCORRECT"


class Runs(BaseCallbackHandler):
    """Notes the chain runs it is told of."""

    def __init__(self) -> None:
        self.begun: list[dict[str, Any]] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **told: Any) -> None:
        del serialized, inputs
        self.begun.append(told)

    @property
    def roots(self) -> list[dict[str, Any]]:
        return [run for run in self.begun if run["parent_run_id"] is None]


def pairwise(server: OpenAIServer, **options: Any) -> Any:
    return harness_evaluator(classic_load("pairwise_string", llm=chat_model(server)), **options)


def invoked(chain: Any, given: Any) -> Any:
    return chain.invoke(given)


def ainvoked(chain: Any, given: Any) -> Any:
    return asyncio.run(chain.ainvoke(given))


def called(chain: Any, given: Any) -> Any:
    return chain(given)


def acalled(chain: Any, given: Any) -> Any:
    return asyncio.run(chain.acall(given))


def streamed(chain: Any, given: Any) -> Any:
    return next(iter(chain.stream(given)))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("face", [invoked, ainvoked, called, acalled, streamed])
def test_a_call_returns_inputs_and_the_measurement_under_the_chains_key(
    openai_server: Serve, face: Callable[[Any, Any], Any]
) -> None:
    server = openai_server(longer_wins)
    chain = pairwise(server)
    answer = face(chain, PAIR)
    assert server.calls == 6
    assert answer.keys() == {*PAIR, "results"}
    assert {key: answer[key] for key in PAIR} == PAIR
    assert (answer["results"]["value"], answer["results"]["score"]) == ("B", 0)
    assert answer["results"]["harness"]["sample_distribution"] == [{"verdict": "B", "count": 6}]


@pytest.mark.slow
def test_an_abstention_reaches_every_face(openai_server: Serve) -> None:
    chain = pairwise(openai_server(always_first), harness=JudgeHarness.quick("pairwise"))
    answers = [chain.invoke(PAIR)["results"], chain.apply([PAIR])[0]["results"], chain.predict(**PAIR)]
    assert {(answer["value"], answer["harness"]["status"]) for answer in answers} == {(None, "abstained")}


async def as_completed(chain: Any, given: list[Any]) -> list[Any]:
    return [answer async for answer in chain.abatch_as_completed(given)]


LISTS: dict[str, tuple[Callable[[Any, list[Any]], Any], list[str]]] = {
    "batch": (lambda chain, given: chain.batch(given), [*PAIR, "results"]),
    "apply": (lambda chain, given: chain.apply(given), ["results"]),
    "abatch": (lambda chain, given: asyncio.run(chain.abatch(given)), [*PAIR, "results"]),
    "aapply": (lambda chain, given: asyncio.run(chain.aapply(given)), ["results"]),
    "completed": (lambda chain, given: in_place(chain.batch_as_completed(given)), [*PAIR, "results"]),
    "acompleted": (lambda chain, given: in_place(asyncio.run(as_completed(chain, given))), [*PAIR, "results"]),
}


def in_place(answers: Any) -> list[Any]:
    return [answer for _, answer in sorted(answers, key=lambda pair: pair[0])]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", LISTS)
def test_lists_are_measured_case_by_case(openai_server: Serve, name: str) -> None:
    server, (face, keys) = openai_server(longer_wins), LISTS[name]
    answers = face(pairwise(server, harness=JudgeHarness.quick("pairwise")), [PAIR, OTHER])
    assert [answer["results"]["value"] for answer in answers] == ["B", "A"]
    assert [list(answer) for answer in answers] == [keys, keys]
    assert server.calls == 2 * 2


@pytest.mark.slow
def test_a_list_is_asked_as_a_whole_before_one_error_with_every_result(openai_server: Serve) -> None:
    server = openai_server(lambda request: Reply.status(401) if "tiny" in request.text else longer_wins(request))
    chain = pairwise(server, harness=JudgeHarness.quick("pairwise", max_attempts=1))
    with pytest.raises(NotGradedError) as caught:
        chain.apply([OTHER, PAIR])
    assert [result.status for result in caught.value.results] == ["not_graded", "decided"]
    first, second = chain.batch([OTHER, PAIR], return_exceptions=True)
    assert isinstance(first, NotGradedError)
    assert second["results"]["value"] == "B"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chain_class", "key", "output"), [(QAEvalChain, "answer", "results"), (ContextQAEvalChain, "context", "text")]
)
def test_question_answering_evaluates_examples_and_predictions(
    openai_server: Serve, chain_class: Any, key: str, output: str
) -> None:
    server = openai_server(lambda request: Reply.text(f"Hm.\nGRADE: {'IN' * ('Grace' in request.text)}CORRECT"))
    chain = harness_evaluator(chain_class.from_llm(chat_model(server)), JudgeHarness.quick("labels"))
    examples = [{"question": one["query"], "truth": one["answer"]} for one in EXAMPLES]
    keys = {"question_key": "question", f"{key}_key": "truth", "prediction_key": "said"}
    answers = chain.evaluate(examples, [{"said": one["result"]} for one in PREDICTIONS], **keys)

    assert [list(answer) for answer in answers] == [[output], [output]]
    assert [answer[output].splitlines()[0] for answer in answers] == list(GRADED_BY_NAME)
    assert [answer[output].harness["verdict"] for answer in answers] == ["PASS", "FAIL"]
    assert answers[0][output].harness["sample_distribution"] == [{"verdict": "PASS", "count": 2}]
    assert server.calls == 4
    kept = pickle.loads(pickle.dumps(answers[0][output]))  # noqa: S301 - our own
    assert (kept, kept.harness["verdict"]) == (answers[0][output], "PASS")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("It is right.\nGRADE: CORRECT", "GRADE: CORRECT\nIt is right."),
        ("**Grade:** CORRECT.\nIn line with the answer.", "GRADE: CORRECT\nIn line with the answer."),
        ("CORRECT", "GRADE: CORRECT"),
    ],
)
def test_a_text_says_its_grade_once(openai_server: Serve, reply: str, text: str) -> None:
    bare = QAEvalChain.from_llm(chat_model(openai_server([Reply.text(reply)])))
    (answer,) = harness_evaluator(bare, JudgeHarness.quick("labels")).evaluate(EXAMPLES[:1], PREDICTIONS[:1])
    assert answer["results"] == text


def test_a_text_without_a_verdict_says_why_and_reads_as_none(openai_server: Serve) -> None:
    replies = iter(GRADED_BY_NAME)
    server = openai_server(lambda _: Reply.text(next(replies)))
    chain = harness_evaluator(QAEvalChain.from_llm(chat_model(server)), JudgeHarness.quick("labels", max_concurrency=1))
    (answer,) = chain.evaluate(EXAMPLES[:1], PREDICTIONS[:1])
    assert answer["results"].startswith("abstained: ")
    assert chain.judge.evaluator._prepare_output(answer)["score"] is None


def test_a_single_sample_answers_with_the_chains_own_text(openai_server: Serve) -> None:
    server = openai_server([Reply.text("foo"), Reply.text("fine\nGRADE: CORRECT")])
    bare = QAEvalChain.from_llm(chat_model(server))
    chain = harness_evaluator(bare, JudgeHarness.single("labels"))
    answers = chain.evaluate(EXAMPLES[:1] * 2, PREDICTIONS[:1] * 2)
    assert {answer["results"] for answer in answers} <= {"foo", "fine\nGRADE: CORRECT"}
    assert all(isinstance(answer["results"], MeasuredText) for answer in answers)


@pytest.mark.slow
def test_a_normalised_score_keeps_the_chains_scale_in_its_own_output(openai_server: Serve) -> None:
    server = openai_server([Reply.text("Rating: [[7]]")])
    bare = classic_load("score_string", llm=chat_model(server), normalize_by=10)
    chain = harness_evaluator(bare, JudgeHarness.quick("scores"))
    given = {"prediction": "an answer", "input": "a question"}
    assert chain.invoke(given)["results"]["score"] == bare.invoke(given)["results"]["score"] == 7
    assert chain.evaluate_strings(**given)["score"] == 0.7


@pytest.mark.slow
def test_configuration_and_callbacks_reach_the_run_and_its_samples(openai_server: Serve) -> None:
    chain, runs, run_id = pairwise(openai_server(longer_wins), harness=JudgeHarness.quick("pairwise")), Runs(), uuid4()
    config = {
        "callbacks": [runs],
        "tags": ["nightly"],
        "metadata": {"suite": 3},
        "run_name": "judged",
        "run_id": run_id,
    }
    answer = chain.invoke(PAIR, config, include_run_info=True)
    (root,) = runs.roots
    samples = [run for run in runs.begun if run["parent_run_id"] == run_id]
    assert (root["name"], root["run_id"]) == ("judged", run_id)
    assert answer["__run"].run_id == run_id
    assert len(samples) == 2
    assert all("nightly" in run["tags"] and run["metadata"]["suite"] == 3 for run in (root, *samples))

    runs.begun.clear()
    assert list(chain(PAIR, True, [runs], tags=["weekly"])) == ["results"]  # noqa: FBT003 - as the chain takes it
    assert [(run["name"], run["tags"]) for run in runs.roots] == [("PairwiseStringEvalChain", ["weekly"])]
    runs.begun.clear()
    chain.apply([PAIR], callbacks=[runs])
    assert len(runs.roots) == 1


def test_a_chain_stays_part_of_chains(openai_server: Serve) -> None:
    chain = pairwise(openai_server(longer_wins), harness=JudgeHarness.quick("pairwise"))
    assert isinstance(chain, Runnable)
    composed = (
        RunnableLambda(lambda text: {**PAIR, "input": text}) | chain | (lambda answer: answer["results"]["value"])
    )
    assert composed.invoke("Which?") == "B"


def test_what_the_chain_says_of_itself_is_said_and_nothing_asks_past_the_harness(openai_server: Serve) -> None:
    server = openai_server(longer_wins)
    bare = classic_load("pairwise_string", llm=chat_model(server))
    chain = harness_evaluator(bare)
    assert (chain.input_keys, chain.output_key, chain.prompt) == (bare.input_keys, "results", bare.prompt)
    assert copy.copy(chain).output_keys == ["results"]
    with pytest.raises(AttributeError) as caught:
        chain.generate([PAIR])
    assert str(caught.value) == (
        "PairwiseStringEvalChain.generate would go round the harness: "
        "call evaluate_string_pairs, invoke, batch or apply."
    )
    assert not hasattr(chain, "evaluate")
    assert not hasattr(chain, "_call")
    assert server.calls == 0


class AskingChain(QAEvalChain):
    """A chain of the caller's own with a face that asks the model itself."""

    def predict(self, callbacks: Any = None, **given: Any) -> str:
        del callbacks
        return str(self.llm.invoke(str(given)).content)


def test_a_face_of_the_callers_own_does_not_ask_past_the_harness(openai_server: Serve) -> None:
    server = openai_server([Reply.text("GRADE: CORRECT")])
    chain = harness_evaluator(AskingChain.from_llm(chat_model(server)), JudgeHarness.quick("labels"))
    given = {**EXAMPLES[0], **PREDICTIONS[0]}
    with pytest.raises(AttributeError, match=r"AskingChain\.predict would go round the harness: call evaluate_strings"):
        chain.predict(**given)
    assert server.calls == 0
    assert chain.invoke(given)["results"].harness["verdict"] is not None
    assert server.calls > 1


def test_missing_and_strange_variables_are_refused_before_anything_is_asked(openai_server: Serve) -> None:
    server = openai_server(longer_wins)
    with pytest.raises(ValueError, match=r"Missing some input keys: \{'prediction_b'\}"):
        pairwise(server).invoke({"prediction": "a", "input": "b"})
    bare = classic_load("score_string", llm=chat_model(server))
    bare.prompt = PromptTemplate.from_template("{input} {prediction} {mood}")
    with pytest.raises(UnsupportedEvaluatorError) as caught:
        harness_evaluator(bare).invoke({"input": "a", "prediction": "b", "mood": "c"})
    assert str(caught.value) == (
        "ScoreStringEvalChain.invoke takes 'mood', which the harness cannot place: "
        "call evaluate_strings(prediction=...)."
    )
    assert server.calls == 0


@pytest.mark.parametrize(("name", "shape"), [("pairwise_string", "pairwise"), ("score_string", "scores")])
def test_messages_name_langchains_own_class(openai_server: Serve, name: str, shape: Any) -> None:
    server = openai_server([Reply.text("[[7]]")])
    bare = classic_load(name, llm=chat_model(server))
    chain, kind = harness_evaluator(bare, JudgeHarness.single(shape)), type(bare).__name__
    for evaluator in (bare, chain):
        with pytest.warns(UserWarning, match=f"^Ignoring reference in {kind}, as it is not") as told:
            evaluator._check_evaluation_args(reference="truth", input_="b")
        assert str(told[0].message) == chain._skip_reference_warning == bare._skip_reference_warning
    assert chain._skip_input_warning == bare._skip_input_warning
    given = PAIR if shape == "pairwise" else {"prediction": "a"}
    evaluate = chain.evaluate_string_pairs if shape == "pairwise" else chain.evaluate_strings
    with pytest.raises(ValueError, match=f"^{kind} requires an input string"):
        evaluate(**{**given, "input": None})


def test_an_evaluator_of_ones_own_is_called_by_its_name_too() -> None:
    class Own:
        def evaluate_strings(self, **texts: Any) -> dict[str, Any]:
            raise NotImplementedError

    own = harness_evaluator(Own(), JudgeHarness.single("labels"), shape="labels")
    assert own._skip_reference_warning == "Ignoring reference in Own, as it is not expected."
    assert not isinstance(own, Runnable)
