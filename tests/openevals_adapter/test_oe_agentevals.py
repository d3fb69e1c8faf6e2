"""agentevals' judges and openevals' judge of code are read like openevals' own: their closures hold the same scorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from agentevals.graph_trajectory.llm import (
    create_async_graph_trajectory_llm_as_judge,
    create_graph_trajectory_llm_as_judge,
)
from agentevals.trajectory.llm import create_async_trajectory_llm_as_judge, create_trajectory_llm_as_judge
from openai import AsyncOpenAI, OpenAI
from openevals.code.llm import create_async_code_llm_as_judge, create_code_llm_as_judge
from support.openai_server import Reply, chat_model
from support.openevals_judging import Serve, once, scored, told, without

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness
from judgeharness_integrations._errors import PlanError, UnsupportedEvaluatorError
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_openevals import _seams, harness_judge

SAID = [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "It rains in Oslo today."}]
STEPS = {"results": [{"messages": SAID}], "steps": [["agent", "tools"]]}
CODE = "Here it is:\n\n```python\nprint('hello world')\n```\n"
PROMPT = "Does this code work?\n{inputs}\n{outputs}"

Trajectory: dict[str, Any] = {"outputs": SAID, "reference_outputs": SAID}
Graph: dict[str, Any] = {"inputs": ["Rain?"], "outputs": STEPS}
Code: dict[str, Any] = {"inputs": "Say hello.", "outputs": CODE}


def code(**options: Any) -> Any:
    return create_code_llm_as_judge(prompt=PROMPT, **options)


def code_async(**options: Any) -> Any:
    return create_async_code_llm_as_judge(prompt=PROMPT, **options)


MADE: list[tuple[Callable[..., Any], str, dict[str, Any]]] = [
    (create_trajectory_llm_as_judge, "trajectory_accuracy", Trajectory),
    (create_async_trajectory_llm_as_judge, "trajectory_accuracy", Trajectory),
    (create_graph_trajectory_llm_as_judge, "graph_trajectory_accuracy", Graph),
    (create_async_graph_trajectory_llm_as_judge, "graph_trajectory_accuracy", Graph),
    (code, "code_correctness", Code),
    (code_async, "code_correctness", Code),
]
FACTORIES = pytest.mark.parametrize(("factory", "key", "values"), MADE)


@pytest.mark.sampled(6)
@FACTORIES
def test_it_answers_as_the_bare_one(openai_server: Serve, factory: Any, key: str, values: dict[str, Any]) -> None:
    server = openai_server([scored(score=True)])
    bare = factory(judge=chat_model(server))
    plain, asked = told(bare, **values), server.calls
    for harness, calls in ((once(), 1), (None, 6)):
        answer = told(harness_judge(bare, harness), **values)
        assert without(answer, "metadata") == without(plain, "metadata")
        assert (answer["key"], server.calls - asked) == (key, calls)
        asked = server.calls
    assert len({request.user for request in server.requests}) == 2  # as it is, and in another format


@FACTORIES
def test_identity_and_model_are_known(openai_server: Serve, factory: Any, key: str, values: dict[str, Any]) -> None:
    model = chat_model(openai_server([scored(score=True)]))
    judge, other = harness_judge(factory(judge=model)).judge, harness_judge(factory(judge=model, choices=[0, 1])).judge
    assert (judge.identity.model, judge.model_name) == ("gpt-4o-test", "gpt-4o-test")
    assert [criterion.labels for criterion in judge.criteria] == [("PASS", "FAIL")]
    assert judge.identity == harness_judge(factory(judge=model)).judge.identity != other.identity


@pytest.mark.sampled(6)
@FACTORIES
def test_a_calibration_can_be_verified(openai_server: Serve, factory: Any, key: str, values: dict[str, Any]) -> None:
    judge = harness_judge(factory(judge=chat_model(openai_server([scored(score=True)]))))
    labels = CalibrationSet("people", ((structured_case(case_id="a", **values), "PASS"),))
    report = judge.harness.calibrate(judge.judge, labels)
    answer = told(harness_judge(judge.judge.function, calibration=report), **values)
    assert (answer["metadata"]["calibration_validity"], answer["metadata"]["calibrated_recall"]) == ("valid", 1.0)


@FACTORIES
def test_a_client_retries_nothing(openai_server: Serve, factory: Any, key: str, values: dict[str, Any]) -> None:
    server = openai_server([Reply.status(503, retry_after_ms=1)])
    kind: Any = AsyncOpenAI if "async" in factory.__name__ else OpenAI
    bare = factory(judge=kind(base_url=f"{server.url}/v1", api_key="test"), model="gpt-4o-test")
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority", max_attempts=2)
    answer = told(harness_judge(bare, harness, on_not_graded="report"), **values)
    assert (answer["metadata"]["outcomes"]["error"], server.calls) == (2, 4)


@FACTORIES
def test_reading_is_strict(openai_server: Serve, factory: Any, key: str, values: dict[str, Any]) -> None:
    server = openai_server([Reply.text('I quote: {"reasoning": "so", "score": true}, and I disagree.')])
    kind: Any = AsyncOpenAI if "async" in factory.__name__ else OpenAI
    bare = factory(judge=kind(base_url=f"{server.url}/v1", api_key="test"), model="gpt-4o-test")
    metadata = told(harness_judge(bare, on_not_graded="report"), **values)["metadata"]
    assert (metadata["status"], metadata["outcomes"]["unparsed"]) == ("not_graded", 6)


def test_a_text_is_shown_as_messages_and_is_no_graph(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])
    case = AnswerCase(case_id="a", output="It rains.", reference="It rains.")
    judge = harness_judge(create_trajectory_llm_as_judge(judge=chat_model(server))).judge
    assert JudgeHarness.single("labels").evaluate(judge, case).verdict == "PASS"
    assert "<assistant>\nIt rains.\n</assistant>" in server.requests[0].user
    graph = harness_judge(create_graph_trajectory_llm_as_judge(judge=chat_model(server))).judge
    with pytest.raises(PlanError, match="it judges the steps of a graph: give a StructuredCase"):
        JudgeHarness.single("labels").evaluate(graph, case)


def test_how_code_is_found_is_part_of_the_judge(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])
    model = chat_model(server)
    judges = [
        harness_judge(code(judge=model, code_extraction_strategy=way), once())
        for way in ("none", "markdown_code_blocks")
    ]
    assert [judge(**Code)["score"] for judge in judges] == [True, True]
    assert ["```" in request.user for request in server.requests] == [True, False]
    assert judges[0].judge.identity != judges[1].judge.identity
    assert harness_judge(code(judge=model, code_extractor=lambda outputs: outputs)).judge.identity is None
    answer = judges[1](inputs="Say hello.", outputs="There is no code.")
    assert (answer["score"], answer["metadata"]["code_extraction_failed"], server.calls) == (False, True, 2)


def test_a_client_cannot_find_code() -> None:
    bare = code(judge=OpenAI(api_key="test"), model="gpt-4o-test", code_extraction_strategy="llm")
    with pytest.raises(UnsupportedEvaluatorError, match="give judge= a chat model, not a client"):
        harness_judge(bare)


def test_without_agentevals_there_are_no_judges_of_its(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(list(_seams.agentevals_factories())) == 4

    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(_seams, "import_module", missing)
    assert list(_seams.agentevals_factories()) == []
