"""Attachments of examples: fetched where a judge asks for them, whole for every sample, and nowhere written down."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example, Run
from support.langsmith_people import a_run
from support.langsmith_server import LangSmithServer
from support.openai_server import OpenAIServer, Reply, chat_model

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import CaseError, PlanError
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_langsmith import HarnessRunEvaluator

Serve = Callable[..., LangSmithServer]

RED, BLUE = b"\x89PNG red " * 40, b"\x89PNG blue " * 40
DESIGN: dict[str, Any] = {"perturbations": ["none", "format_change"], "repetitions": 2, "aggregation_rule": "majority"}
FIRST: dict[str, Any] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}


def application(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": "It is **red**."}


async def application_later(inputs: dict[str, Any]) -> dict[str, Any]:
    return application(inputs)


def dataset(client: Client, server: LangSmithServer, *contents: bytes, **more: Any) -> str:
    made = client.create_dataset("pictures")
    examples = [{"inputs": {"question": "Which colour?"}, "reference_outputs": {"answer": "see"}} for _ in contents]
    client.create_examples(dataset_id=made.id, examples=examples)
    server.attach("pictures", "photo", *contents, **more)
    return "pictures"


def fetched(server: LangSmithServer) -> int:
    return sum("/files/" in request.path for request in server.posted)


def is_red(outputs: dict[str, Any], attachments: dict[str, Any]) -> bool:
    assert type(attachments) is dict
    photo = attachments["photo"]
    assert photo["presigned_url"].endswith("?signature=secret")
    assert photo["mime_type"] == "image/png"
    assert photo["reader"].read(4) == b"\x89PNG"
    rest = photo["reader"].read()
    assert len(rest) > 300
    return b"red" in rest


async def is_red_later(outputs: dict[str, Any], attachments: dict[str, Any]) -> bool:
    return is_red(outputs, attachments)


def is_red_of_run(run: Run, example: Example, attachments: dict[str, Any]) -> bool:
    assert example.attachments is not None
    assert example.attachments["photo"]["reader"] is attachments["photo"]["reader"]
    return is_red(run.outputs or {}, attachments)


def is_red_of_case(case: Any) -> bool:
    return is_red(case.outputs, dict(case.extra["attachments"]))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("judge", [is_red, is_red_later, is_red_of_run, is_red_of_case])
def test_every_sample_of_a_function_reads_the_attachment_whole(
    langsmith_server: Serve, judge: Any, *, asynchronous: bool
) -> None:
    server = langsmith_server()
    client = server.client()
    data = dataset(client, server, RED, BLUE)
    asked = True if judge is is_red_of_case else None
    evaluators = [
        HarnessRunEvaluator(judge, JudgeHarness(**DESIGN), key=key, attachments=asked) for key in ("one", "two")
    ]
    options: dict[str, Any] = {"data": data, "evaluators": evaluators, "client": client, "max_concurrency": 2}
    if asynchronous:

        async def run() -> list[Any]:
            return [row async for row in await aevaluate(application_later, num_repetitions=2, **options)]

        rows = asyncio.run(run())
    else:
        rows = list(evaluate(application, num_repetitions=2, **options))
    assert server.unknown == []
    for evaluator in evaluators:
        results = list(evaluator.results.values())
        assert [len(result.rows) for result in results] == [4] * 4
        assert {row.outcome for result in results for row in result.rows} == {"ok"}
        assert sorted(result.verdict for result in results) == ["FAIL", "FAIL", "PASS", "PASS"]  # type: ignore[type-var]
        # the answers are equal: what is attached tells the cases apart, and nothing but that does
        assert len({result.case_id for result in results}) == 2
    readers = [row["example"].attachments["photo"]["reader"] for row in rows]
    assert {(reader.getvalue(), reader.tell()) for reader in readers} == {(RED, 0), (BLUE, 0)}  # as LangSmith left them


def test_nothing_attached_is_written_down(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()
    data = dataset(client, server, RED)
    evaluator = HarnessRunEvaluator(is_red, JudgeHarness(**DESIGN))
    evaluate(application, data=data, evaluators=[evaluator], client=client)
    (result,), (case,) = evaluator.results.values(), evaluator.cases
    written = [json.dumps(result.to_dict(rows=True)), server.text, repr(case), *case.all_texts()]
    assert (result.verdict, len(server.named("judge_harness"))) == ("PASS", 1)
    for text in written:
        for secret in ("PNG", base64.b64encode(RED).decode()[:20], "signature"):
            assert secret not in text


@pytest.mark.slow
def test_attachments_are_fetched_only_for_a_judge_that_takes_them(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()
    data = dataset(client, server, RED)

    def right(outputs: dict[str, Any]) -> bool:
        return bool(outputs)

    def looking(inputs: dict[str, Any], attachments: dict[str, Any]) -> dict[str, Any]:
        return {"answer": attachments["photo"]["reader"].read()[-4:].decode()}

    def by_example(run: Run, example: Example) -> bool:
        return example.attachments is not None and "photo" in example.attachments

    def evaluated(target: Any, *judges: Any, **told: Any) -> list[Any]:
        evaluators = [HarnessRunEvaluator(judge, JudgeHarness(**FIRST), **told) for judge in judges]
        evaluate(target, data=data, evaluators=evaluators, client=client)
        return [result for evaluator in evaluators for result in evaluator.results.values()]

    values, run = evaluated(application, right, by_example)
    assert (values.verdict, run.verdict, fetched(server)) == ("PASS", "FAIL", 0)
    values, run = evaluated(looking, right, by_example)  # the application asked for them
    assert (values.verdict, run.verdict, fetched(server)) == ("PASS", "PASS", 1)
    (forced,) = evaluated(application, by_example, attachments=True)
    assert (forced.verdict, fetched(server)) == ("PASS", 2)
    (hidden,) = evaluated(looking, by_example, attachments=False)
    assert hidden.verdict == "FAIL"


def test_an_attachment_that_is_gone_is_noted_without_its_address(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()
    data = dataset(client, server, RED)
    server.store.files.clear()
    evaluator = HarnessRunEvaluator(is_red, JudgeHarness(**FIRST))
    (row,) = evaluate(application, data=data, evaluators=[evaluator], client=client)
    assert {one.key for one in row["evaluation_results"]["results"]} == set(evaluator.feedback_keys)
    noted = {str(one.comment) for one in row["evaluation_results"]["results"]}
    assert all("attachment 'photo' cannot be read (LangSmithError)" in one for one in noted)
    assert "signature" not in server.text


def a_picture(content: bytes, **reader: Any) -> Example:
    given: dict[str, Any] = {"presigned_url": "https://example.org/p?signature=secret", "mime_type": "image/png"}
    given["reader"] = io.BytesIO(content)
    return Example(id=a_run().id, inputs={"q": "Which?"}, attachments={"photo": given | reader})


def test_an_attempt_that_failed_leaves_the_next_one_the_whole_file() -> None:
    lengths: list[int] = []

    def unsteady(outputs: dict[str, Any], attachments: dict[str, Any]) -> bool:
        lengths.append(len(attachments["photo"]["reader"].read()))
        if len(lengths) == 1:
            raise TimeoutError
        return True

    def of_case(case: Any) -> bool:
        return unsteady(case.outputs, case.extra["attachments"])

    for judge in (unsteady, of_case):
        lengths.clear()
        evaluator = HarnessRunEvaluator(judge, JudgeHarness(**FIRST, max_concurrency=1), attachments=True)
        assert evaluator.evaluate_run(a_run(), a_picture(RED))["results"][0].score is True
        assert lengths == [len(RED)] * 3


def test_a_large_file_is_copied_by_no_sample() -> None:
    content = bytes(20_000_000)
    held: list[Any] = []

    def looking(outputs: dict[str, Any], attachments: dict[str, Any]) -> bool:
        held.append(attachments["photo"]["reader"])
        return True

    example = a_picture(content)
    evaluator = HarnessRunEvaluator(looking, JudgeHarness(**FIRST | {"repetitions": 8}))
    evaluator.evaluate_run(a_run(), example)
    assert len(held) == len({id(reader) for reader in held}) == 8
    assert {id(reader.getvalue()) for reader in held} == {id(content)}


class Reader(io.BytesIO):
    """One of another kind, which has to be read to be known."""


@pytest.mark.parametrize("reader", [Reader(RED), io.BytesIO(RED)])
def test_what_the_caller_has_read_is_read_again_and_stays_where_it_was(reader: Any) -> None:
    assert reader.read(7) == RED[:7]
    evaluator = HarnessRunEvaluator(is_red, JudgeHarness(**FIRST))
    example = a_picture(RED, reader=reader)
    assert evaluator.evaluate_run(a_run(), example)["results"][0].score is True
    assert reader.tell() == 7


def test_prepare_hands_attachments_over() -> None:
    def as_mapping(run: Run, example: Example | None) -> dict[str, Any]:
        assert example is not None
        return {"prediction": "It is red.", "context": "A picture.", "attachments": example.attachments}

    def as_case(run: Run, example: Example | None) -> AnswerCase:
        assert example is not None
        return structured_case(outputs={"a": "It is red."}, extra={"attachments": example.attachments})

    def as_pair(run: Run, example: Example | None) -> dict[str, Any]:
        return {"output_b": "It is blue.", **as_mapping(run, example)}

    for prepare in (as_mapping, as_case):
        evaluator = HarnessRunEvaluator(is_red, JudgeHarness(**FIRST), prepare)
        scores = [evaluator.evaluate_run(a_run(), a_picture(one))["results"][0].score for one in (RED, BLUE)]
        first, second = evaluator.cases
        assert (scores, first.case_id == second.case_id) == ([True, False], False)
        assert not first.attributes
    with pytest.raises(CaseError, match="attachments go with one answer, not with an output_b"):
        HarnessRunEvaluator(is_red_of_case, prepare=as_pair).evaluate_run(a_run(), a_picture(RED))


@pytest.mark.slow
@pytest.mark.parametrize("asynchronous", [False, True])
def test_openevals_prompts_show_attachments_to_the_model(
    langsmith_server: Serve, openai_server: Callable[..., OpenAIServer], *, asynchronous: bool
) -> None:
    llm = pytest.importorskip("openevals.llm")
    server = langsmith_server()
    client = server.client()
    data = dataset(client, server, RED, BLUE)
    red, blue = (f"data:image/png;base64,{base64.b64encode(one).decode()}" for one in (RED, BLUE))
    asked: list[str] = []

    def answering(request: Any) -> Reply:
        blocks = request.messages[-1]["content"]
        (shown,) = (block["image_url"]["url"] for block in blocks if block["type"] == "image_url")
        asked.append(shown)
        return Reply.json({"reasoning": "as shown", "score": shown == red})

    make = llm.create_async_llm_as_judge if asynchronous else llm.create_llm_as_judge
    judge = make(
        prompt="Is {outputs} in the picture?\n{attachments}\nSay so.",
        judge=chat_model(openai_server(answering)),
        feedback_key="colour",
    )
    evaluator = HarnessRunEvaluator(judge, JudgeHarness(**DESIGN))
    if asynchronous:

        async def run() -> None:
            _ = [
                row
                async for row in await aevaluate(application_later, data=data, evaluators=[evaluator], client=client)
            ]

        asyncio.run(run())
    else:
        evaluate(application, data=data, evaluators=[evaluator], client=client)
    assert sorted(result.verdict for result in evaluator.results.values()) == ["FAIL", "PASS"]  # type: ignore[type-var]
    assert sorted(asked) == sorted([red] * 4 + [blue] * 4)
    own = [run for name in ("judge_harness", "sample[none#0]") for run in server.named(name)]
    assert len(own) == 4
    assert "base64" not in json.dumps(own, default=str)


def test_a_prompt_of_pictures_judges_no_example_without_one(openai_server: Callable[..., OpenAIServer]) -> None:
    llm = pytest.importorskip("openevals.llm")
    server = openai_server([Reply.text("never asked")])
    judge = llm.create_llm_as_judge(prompt="{outputs} {attachments}", judge=chat_model(server))
    evaluator = HarnessRunEvaluator(judge, JudgeHarness(**FIRST))
    nothing: list[Any] = [None, {}]
    for attached in nothing:
        with pytest.raises(PlanError, match="its prompt names attachments, which the case lacks"):
            evaluator.evaluate_run(a_run(), Example(id=a_run().id, inputs={"q": "?"}, attachments=attached))
    assert server.requests == []
