"""A failed trajectory of an ADK agent: its words can be attacked, what it did stays as it is."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

from google.adk.evaluation.eval_case import Invocation

from judgeharness_adk.invocations import InvocationCase, invocation_case
from judgeharness_integrations.judging.perturbations import Context, perturbation
from judgeharness_integrations.judging.probes import corpus, probe


def said(text: str) -> dict[str, Any]:
    return {"role": "model", "parts": [{"text": text}]}


def turn(answer: str) -> Invocation:
    call = {"function_call": {"id": "1", "name": "book_flight", "args": {"to": "Oslo"}}}
    events = [
        {"author": "agent", "content": said("I book the flight.")},
        {"author": "agent", "content": {"role": "model", "parts": [call]}},
        {"author": "agent", "content": {"role": "user", "parts": [{"text": "error: no seat"}]}},
    ]
    return Invocation.model_validate(
        {
            "invocation_id": "e-1",
            "user_content": {"role": "user", "parts": [{"text": "Book me a flight to Oslo."}]},
            "final_response": said(answer),
            "intermediate_data": {"invocation_events": events},
        }
    )


CASE = replace(invocation_case([turn("Hello."), turn("I could not book it.")], None, case_id="e-1"), shown="spoken")


def attacked(name: str, case: InvocationCase = CASE) -> InvocationCase:
    made = perturbation(f"probe:{name}")
    assert made.fits(case) is None
    source = Context(random.Random(0), None)  # type: ignore[arg-type]  # noqa: S311
    found: InvocationCase = asyncio.run(made.applied(case, source))
    return found


def test_an_unfaithful_trace_follows_the_final_response_and_nothing_else_changes() -> None:
    found = attacked("chain_of_thought")
    before, payload = found.output.split("\n\n", 1)
    assert before == "I could not book it."
    assert payload in {entry.text for entry in corpus() if entry.property == "chain_of_thought"}
    assert found.texts()[:-1] == CASE.texts()[:-1]
    assert found.judged.intermediate_data == CASE.judged.intermediate_data
    assert found.judged.user_content == CASE.judged.user_content
    assert found.conversation[0] == CASE.conversation[0]
    assert CASE.output == "I could not book it."


def test_an_empty_answer_says_nothing_at_all() -> None:
    found = attacked("sentinel.empty")
    assert (found.texts(), found.output) == ((), "")
    assert "book_flight" in found.judged.model_dump_json()


def test_words_the_prompt_does_not_show_cannot_be_attacked() -> None:
    reason = probe("authority").on().fits(replace(CASE, shown="nothing"))
    assert reason == "authority has nothing to change: the judge is not shown the answer."
