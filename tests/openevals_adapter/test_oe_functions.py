"""Plain functions of the protocol, lists of results, and what happens to a caller's values."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langsmith.evaluation import EvaluationResult
from openevals.llm import create_llm_as_judge
from support.openai_server import chat_model
from support.openevals_judging import Serve, once, scored, told, without

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_openevals import OpenevalsJudge, harness_judge

GOOD = {"answer": "It is a good answer."}


def longer(outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> dict[str, Any]:
    found = len(outputs["answer"]) > len(reference_outputs["answer"])
    return {"key": "longer", "score": found, "comment": "counted", "metadata": {"by": "characters"}}


async def alonger(outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> dict[str, Any]:
    return longer(outputs, reference_outputs)


class Longer:
    def __call__(self, *, outputs: Any, reference_outputs: Any, **kwargs: Any) -> dict[str, Any]:
        return longer(outputs, reference_outputs)


class AsyncLonger:
    async def __call__(self, *, outputs: Any, reference_outputs: Any, **kwargs: Any) -> dict[str, Any]:
        return longer(outputs, reference_outputs)


def positional(outputs: Any, reference_outputs: Any, /) -> dict[str, Any]:
    return longer(outputs, reference_outputs)


def anything(**values: Any) -> dict[str, Any]:
    return longer(values["outputs"], values["reference_outputs"])


@pytest.mark.parametrize(
    "function",
    [longer, alonger, Longer(), AsyncLonger(), positional, anything, functools.partial(longer)],
    ids=["function", "async", "object", "async object", "positional-only", "keywords", "partial"],
)
def test_a_function_is_called_with_what_it_takes(function: Any) -> None:
    judge = harness_judge(function)
    arguments = {"outputs": GOOD, "reference_outputs": {"answer": "Short."}}
    answer = told(judge, **arguments) if function is not positional else judge(*arguments.values())
    assert without(answer, "metadata") == {"key": "longer", "score": True, "comment": "counted"}
    assert (answer["metadata"]["by"], answer["metadata"]["status"]) == ("characters", "decided")
    assert answer["metadata"]["harness"]["warnings"] == []
    assert (judge.judge.identity is None) == (judge.judge.unidentified is not None)


def test_what_it_does_not_take_is_kept_from_it() -> None:
    judge = harness_judge(longer)
    assert judge(inputs={"question": "?"}, outputs=GOOD, reference_outputs={"answer": ""})["score"] is True
    with pytest.raises(TypeError, match="reference_outputs"):
        judge(outputs=GOOD)
    with pytest.raises(TypeError, match="context"):
        judge(outputs=GOOD, reference_outputs=GOOD, context="c")


def test_a_function_judges_plain_cases_too() -> None:
    def same(outputs: str, reference_outputs: str, context: str, length: float, inputs: str = "none") -> dict[str, Any]:
        return {"key": "same", "score": outputs == reference_outputs == context and length == 3.0 and inputs == "none"}

    case = AnswerCase(case_id="a", output="yes", reference="yes", context="yes", attributes={"length": 3.0, "x": "y"})
    result = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority").evaluate(
        OpenevalsJudge.of(same), case
    )
    assert (result.verdict, result.only.criterion, result.judge) == ("PASS", "same", "same")


def test_labels_stay_labels() -> None:
    judge = harness_judge(lambda outputs: {"score": "PASS"})
    assert without(judge(outputs="a text"), "metadata") == {"score": "PASS", "comment": None}
    assert harness_judge(lambda outputs: "polite", key="tone")(outputs="a text")["score"] == "polite"


@pytest.mark.parametrize(
    ("native", "score"),
    [(True, True), (False, False), (0.25, 0.25), (3, 3), (float("nan"), None), (None, None), ("", None), ({}, None)],
)
def test_bare_scores_become_results(native: Any, score: Any) -> None:
    def measured(outputs: str) -> Any:
        return native

    answer = harness_judge(measured)(outputs="a text")
    if native == {}:
        assert answer.keys() == {"verdict", "comment", "metadata"}
        answer |= {"key": "measured", "score": answer["verdict"]}
    assert (answer["key"], answer["score"]) == ("measured", score)
    assert answer["metadata"]["status"] == ("decided" if score is not None else "not_graded")
    assert answer["metadata"]["outcomes"]["unparsed"] == (0 if score is not None else 6)


def test_scores_of_other_libraries_are_scores() -> None:
    numpy = pytest.importorskip("numpy")
    assert harness_judge(lambda outputs: {"key": "k", "score": numpy.bool_(1)})(outputs="text")["score"] is True
    assert harness_judge(lambda outputs: {"key": "k", "score": numpy.float32(0.5)})(outputs="text")["score"] == 0.5


def test_results_of_langsmith_are_read() -> None:
    judge = harness_judge(lambda outputs: EvaluationResult(key="tone", score=0.5, comment="so so"))
    answer = judge(outputs="a text")
    assert (answer["key"], answer["score"], answer["comment"]) == ("tone", 0.5, "so so")


def test_a_list_of_results_is_several_criteria() -> None:
    turn = iter(range(100))
    lock = threading.Lock()

    def several(outputs: str) -> list[dict[str, Any]]:
        with lock:
            number = next(turn)
        return [
            {"key": "tone", "score": True, "comment": "kind", "source_run_id": f"run-{number}"},
            {"key": "split", "score": number % 2 == 0, "comment": str(number)},
            {"key": "length", "score": 7},
            {"key": "lost", "score": None},
        ]

    answer = harness_judge(several)(outputs="a text")
    assert [(part["key"], part["score"]) for part in answer] == [
        ("tone", True), ("split", None), ("length", 7), ("lost", None),
    ]  # fmt: skip
    assert answer[0]["source_run_id"].startswith("run-")
    assert answer[1]["comment"].startswith("abstained: ")
    assert answer[3]["comment"].startswith("not graded: ")
    assert [part["metadata"]["status"] for part in answer] == ["decided", "abstained", "decided", "not_graded"]
    json.dumps(answer)


def test_a_list_of_one_stays_a_list_and_the_bare_list_is_kept() -> None:
    def one(outputs: str) -> list[dict[str, Any]]:
        return [{"key": "tone", "score": 0.5, "comment": "kind", "metadata": None}]

    assert [part["score"] for part in harness_judge(one)(outputs="a text")] == [0.5]
    bare = harness_judge(one, once())(outputs="a text")
    assert [without(part, "metadata") for part in bare] == [without(part, "metadata") for part in one("a text")]


def test_what_is_no_result_is_unparsed() -> None:
    answer = harness_judge(lambda outputs: ["no result"])(outputs="a text")
    assert answer[0]["metadata"]["outcomes"]["unparsed"] == 6


@pytest.mark.parametrize(
    ("native", "what"),
    [
        (object(), "a value of type object"),
        ({"key": "tone", "score": object()}, "a value of type object"),
        ([{"key": "tone", "score": b"1"}], "a value of type bytes"),
        ({"choices": [object()]}, "a dict with choices, which is no verdict"),
    ],
)
def test_an_answer_nobody_understands_says_what_it_was_after_one_call(native: Any, what: str) -> None:
    asked: list[str] = []

    def strange(outputs: str) -> Any:
        asked.append(outputs)
        return native

    with pytest.raises(UsageError, match=f"^judge 'strange' answered {what}"):
        harness_judge(strange)(outputs="a text")
    assert len(asked) == 1


def test_a_function_that_raises_is_an_error_row_and_a_bare_one_raises() -> None:
    def broken(outputs: str) -> bool:
        raise RuntimeError("no database")

    answer = harness_judge(broken, on_not_graded="report")(outputs="a text")
    assert (answer["key"], answer["score"]) == ("broken", None)
    assert "no database" in answer["comment"]
    assert answer["metadata"]["outcomes"]["error"] == 6
    with pytest.raises(RuntimeError, match="no database"):
        harness_judge(broken, once())(outputs="a text")


def test_scores_folded_to_pass_or_fail_are_truth_values() -> None:
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="median(pass_at=0.5)")
    assert harness_judge(lambda outputs: 0.7, harness)(outputs="a text")["score"] is True


def test_two_values_that_differ_a_little_agree_by_default() -> None:
    turn = iter(range(100))
    answer = harness_judge(lambda outputs: 0.5 + 0.05 * (next(turn) % 2))(outputs="a text")
    assert answer["metadata"]["consistency_rate"] == 1.0


@pytest.mark.slow
def test_neither_the_callers_values_nor_those_of_other_samples_are_changed(openai_server: Serve) -> None:
    seen: list[Any] = []

    def greedy(inputs: dict[str, Any], outputs: dict[str, Any]) -> bool:
        seen.append(len(outputs["messages"]) + len(inputs["messages"]))
        outputs["messages"].append("mine")
        inputs["messages"].clear()
        return True

    said = [HumanMessage("Where?", id="1"), AIMessage("In the north, I think.", id="2")]
    inputs, outputs = {"messages": list(said)}, {"messages": list(said)}
    harness_judge(greedy)(inputs=inputs, outputs=outputs)
    assert seen == [4] * 6
    assert inputs == outputs == {"messages": said}

    server = openai_server([scored(score=True)])
    judge = harness_judge(create_llm_as_judge(prompt="{inputs} {outputs}", judge=chat_model(server)))
    assert judge(inputs=inputs, outputs=outputs)["metadata"]["planned_samples"] == 6
    assert outputs["messages"] == said
    assert outputs["messages"][1] is said[1]


def test_what_cannot_be_copied_is_shared() -> None:
    lock = threading.Lock()
    seen: list[Any] = []

    def holding(outputs: dict[str, Any]) -> bool:
        seen.append(outputs["parts"][0] is lock and outputs["text"] == "a text")
        outputs["parts"].append("mine")
        return True

    outputs = {"text": "a text", "parts": [lock]}
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
    harness_judge(holding, harness)(outputs=outputs)
    assert seen == [True, True]
    assert outputs["parts"] == [lock]


def test_attachments_are_passed_untouched() -> None:
    given = {"photo": {"mime_type": "image/png", "presigned_url": "https://example.org/Claude.png"}}
    seen: list[Any] = []

    def looking(outputs: str, attachments: Any) -> bool:
        seen.append((outputs, attachments))
        return True

    harness = JudgeHarness(perturbations=["name_swap"], repetitions=1, aggregation_rule="majority")
    harness_judge(looking, harness)(outputs="Claude said it.", attachments=given)
    assert seen[0][0] != "Claude said it."
    assert seen[0][1] == given


def test_extra_keywords_reach_the_prompt_and_the_case(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])
    bare = create_llm_as_judge(prompt="{context}: {outputs}", judge=chat_model(server))
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    judge = harness_judge(bare, harness)
    first, second = (judge(outputs="an answer", context=text)["metadata"]["harness"]["case_id"] for text in "ab")
    assert first != second
    assert {request.user for request in server.requests} == {"a: an answer", "b: an answer"}


def test_samples_are_kept_only_by_the_call_that_returns_them() -> None:
    judge = OpenevalsJudge.of(longer)
    case = structured_case(case_id="a", outputs=GOOD, reference_outputs={"answer": ""})
    harness = JudgeHarness.standard("labels")
    assert harness.evaluate(judge, case).verdict == "PASS"
    assert judge.samples is None
    assert asyncio.run(harness.aevaluate(judge, case)).verdict == "PASS"
