"""Judges of trajectories: conversations, as messages or as the text of a case file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from openevals.trajectory.llm import (
    TRAJECTORY_ACCURACY_PROMPT,
    create_async_trajectory_llm_as_judge,
    create_trajectory_llm_as_judge,
)
from support.openai_server import chat_model
from support.openevals_judging import Serve, once, scored, told, without

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_openevals import harness_judge

FACTORIES = pytest.mark.parametrize("factory", [create_trajectory_llm_as_judge, create_async_trajectory_llm_as_judge])
OPENAI: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the weather in Oslo?"},
    {"role": "assistant", "content": "I will look it up.", "tool_calls": None},
    {"role": "tool", "tool_call_id": "1", "content": "rain"},
    {"role": "assistant", "content": "It rains in Oslo."},
]
LANGCHAIN = [
    HumanMessage("What is the weather in Oslo?"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "1"}]),
    AIMessage("It rains in Oslo."),
]


@pytest.mark.sampled(3)
@FACTORIES
@pytest.mark.parametrize("outputs", [OPENAI, LANGCHAIN, {"messages": OPENAI}], ids=["openai", "langchain", "dict"])
def test_only_what_the_assistant_says_is_perturbed(openai_server: Serve, factory: Any, outputs: Any) -> None:
    server = openai_server([scored(score=True)])
    bare = factory(prompt=TRAJECTORY_ACCURACY_PROMPT, judge=chat_model(server))
    judge = harness_judge(bare, JudgeHarness.quick("labels"))
    answer = told(judge, outputs=outputs)
    assert without(answer, "metadata") == without(told(bare, outputs=outputs), "metadata")
    assert answer["key"] == "trajectory_accuracy"
    shown = {request.user for request in server.requests}
    assert len(shown) == 2
    assert all("<user>\nWhat is the weather in Oslo?\n</user>" in text for text in shown)
    assert judge.judge.run_name == "llm_as_trajectory_accuracy_judge"


@pytest.mark.slow
def test_it_keeps_its_reference_and_its_extras(openai_server: Serve) -> None:
    server = openai_server([scored(0.5)])
    bare = create_trajectory_llm_as_judge(judge=chat_model(server), continuous=True)
    answer = harness_judge(bare, once())(outputs=OPENAI, reference_outputs=OPENAI)
    assert without(answer, "metadata") == without(bare(outputs=OPENAI, reference_outputs=OPENAI), "metadata")
    assert harness_judge(bare)(outputs=OPENAI)["score"] == 0.5


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It rains in Oslo.", "<assistant>\nIt rains in Oslo.\n</assistant>"),
        (json.dumps(OPENAI), "<tool>\n<tool_result>\n<id>1</id>\n<content>rain</content>"),
        (json.dumps({"messages": OPENAI}), "<user>\nWhat is the weather in Oslo?\n</user>"),
        ("[]", "<assistant>\n[]\n</assistant>"),
        ('["rain"]', '<assistant>\n["rain"]\n</assistant>'),
    ],
)
def test_a_case_of_text_is_shown_as_messages(openai_server: Serve, text: str, shown: str) -> None:
    server = openai_server([scored(score=True)])
    judge = harness_judge(create_trajectory_llm_as_judge(judge=chat_model(server))).judge
    case = AnswerCase(case_id="a", input="q", output=text, reference="It rains.", context="c", gold="PASS")
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    result = harness.evaluate(judge, case)
    assert (result.verdict, result.rows[0].gold) == ("PASS", "PASS")
    assert shown in server.requests[0].user
    assert "<assistant>\nIt rains.\n</assistant>" in server.requests[0].user
    assert judge.view(AnswerCase(case_id="b", output=text)).reference_outputs is None
