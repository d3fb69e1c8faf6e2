"""What no evaluation through the front door reaches."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.outputs import Generation, LLMResult
from openevals.llm import create_llm_as_judge
from support.openai_server import chat_model
from support.openevals_judging import PROMPT, Serve, scored

import judgeharness_openevals
from judgeharness_integrations import AnswerCase
from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.judging.adapterkit import Capture, captured, watched_client
from judgeharness_integrations.judging.judge import Probe
from judgeharness_integrations.judging.perturbations import perturbation
from judgeharness_openevals import create_harnessed_pairwise_judge, harness_judge
from judgeharness_openevals import results as tracing


def asked(judge: Any) -> None:
    case = AnswerCase(case_id="a", output="an answer")
    probe = Probe(case=case, case_id="a", perturbation=perturbation("none"), repetition=0, seed=0)
    asyncio.run(judge.judge(probe))


def test_a_judge_that_is_asked_without_a_plan_refuses_what_does_not_fit(openai_server: Serve) -> None:
    model = chat_model(openai_server([scored(score=True)]))
    with pytest.raises(CaseError, match=r"cannot judge case 'a': its prompt names inputs, which the case lacks\."):
        asked(harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model)).judge)
    with pytest.raises(CaseError, match=r"cannot judge case 'a': it compares two answers"):
        asked(create_harnessed_pairwise_judge(judge=model).judge)


def test_an_answer_without_content_is_no_answer() -> None:
    capture = Capture()
    capture.on_llm_end(LLMResult(generations=[[]]))
    assert capture.last is None
    assert capture.empty is not None
    capture.on_llm_end(LLMResult(generations=[[Generation(text="plain")]]))
    assert capture.last is not None
    assert (capture.last.text, capture.empty) == ("plain", None)
    empty = SimpleNamespace(choices=[])
    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **_: empty)))
    with captured() as capture, pytest.raises(ConnectionError, match="the reply holds no answer"):
        watched_client(client).chat.completions.create(model="m")
    assert capture.last is None
    said = SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="x"))])
    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **_: said)))
    assert watched_client(client).chat.completions.create(model="m") is said  # outside a sample, too


@pytest.mark.parametrize(
    ("native", "said"),
    [
        ([{"key": "a", "score": 0.5, "comment": "c"}], [{"key": "a", "score": 0.5, "comment": "c"}]),
        ({"key": "a", "score": "warm", "comment": None}, [{"key": "a", "value": "warm", "comment": None}]),
        (
            {"polite": True, "stars": 4},  # no result of LangSmith's
            [],
        ),
        ({"key": "a", "value": "warm"}, [{"key": "a", "value": "warm", "comment": None}]),
        (
            {"score": None},
            [
                {
                    "key": "measured",
                    "value": "NOT GRADED",
                    "comment": "not graded: 0 valid of 6 samples, 3 needed; 6 unparsed",
                }
            ],
        ),
    ],
)
def test_what_is_logged_in_a_test_case(monkeypatch: pytest.MonkeyPatch, native: Any, said: list[Any]) -> None:
    logged: list[dict[str, Any]] = []
    plugin = SimpleNamespace(trace_feedback=_unnamed, log_feedback=lambda **row: logged.append(row))
    monkeypatch.setattr(tracing, "testing", plugin)
    monkeypatch.setattr(tracing, "in_test_case", lambda: True)

    def measured(outputs: str) -> Any:
        return native

    harness_judge(measured)(outputs="a text")
    assert logged == said


def _unnamed(name: str) -> Any:
    return nullcontext(name)


def test_there_are_no_other_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        judgeharness_openevals.nothing  # noqa: B018
    for name in judgeharness_openevals.__all__:
        assert getattr(judgeharness_openevals, name)
