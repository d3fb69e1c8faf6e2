"""Measurements kept beside ADK's results: on disk as soon as a case is finished, without secrets."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry
from google.genai.types import Part
from support.adk_answers import always
from support.adk_folder import invocation
from support.adk_offline import isolated_adk
from support.adk_outcomes import evaluate_with

import judgeharness_adk
from judgeharness_adk import outcomes as sidecar

OURS = MetricEvaluatorRegistry()
judgeharness_adk.register(OURS)
KILLED = """
import asyncio, os, signal, sys
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai.types import Content, Part
from support.adk_folder import invocation
import judgeharness_adk

asked = 0

class Killing(BaseLlm):
    @classmethod
    def supported_models(cls):
        return ["killing"]

    async def generate_content_async(self, llm_request, stream=False):
        global asked
        asked += 1
        if asked == 8:  # the second call about the third invocation
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(0.01)
        text = "ID: polite\\nProperty: The answer is polite.\\nRationale: It is.\\nVerdict: yes"
        yield LlmResponse(content=Content(role="model", parts=[Part(text=text)]))

LLMRegistry.register(Killing)
registry = MetricEvaluatorRegistry()
judgeharness_adk.register(registry)
metric = "rubric_based_final_response_quality_v1"
criterion = BaseCriterion.model_validate({
    "threshold": 0.5,
    "judge_model_options": {"judge_model": "killing", "num_samples": 3},
    "rubrics": [{"rubric_id": "polite", "rubric_content": {"text_property": "The answer is polite."}}],
    "judge_harness": {"max_concurrency": 1},
})
evaluator = registry.get_evaluator(EvalMetric(metric_name=metric, criterion=criterion))
asyncio.run(evaluator.evaluate_invocations([invocation(city) for city in ("Oslo", "Rome", "Lima")]))
"""


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        yield


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in folder.glob(f"**/*{sidecar.SUFFIX}") for line in file.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_kill_loses_no_case_that_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, capture_output=True, check=False)  # noqa: S603
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    lines = _lines(tmp_path)
    assert [line["result"]["case_id"] for line in lines] == ["turn_Oslo", "turn_Rome"]
    assert [len(line["result"]["rows"]) for line in lines] == [3, 3]


def test_a_line_says_what_was_measured_in_order(tmp_path: Path) -> None:
    evaluate_with(OURS, always("yes"), turns=[invocation("Oslo"), invocation("Rome")], samples=2)
    lines = _lines(tmp_path)
    told = ["schema", "metric", "invocation_id", "rubrics", "standing", "parts", "preparation", "input", "output"]
    assert [list(line) for line in lines] == [[*told, "result"]] * 2
    assert list(lines[0]["result"])[-1] == "rows"
    assert lines[0]["parts"] == lines[1]["parts"]
    assert lines[0]["invocation_id"] != lines[1]["invocation_id"]


def test_a_directory_that_was_taken_away_is_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "kept"
    sidecar.write({"line": 1}, folder)
    sidecar.write({"line": "\ud83d"}, folder)  # half an emoji
    [file] = folder.iterdir()
    assert file.read_text() == '{"line":1}\n{"line":"\\ud83d"}\n'
    assert os.name == "nt" or file.stat().st_mode & 0o777 == 0o600
    shutil.rmtree(folder)
    sidecar.write({"line": 3}, folder)
    [other] = folder.iterdir()
    assert (other.name == file.name, other.read_text()) == (False, '{"line":3}\n')
    with caplog.at_level(logging.WARNING, "judgeharness_adk"):
        sidecar.write({"line": 4}, other)
    assert "cannot be written to" in caplog.text


def test_no_line_holds_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a-secret-of-this-test-1")
    turns = [invocation(name) for name in ("Oslo", "Rome")]
    for turn in turns:
        turn.user_content.parts = [Part(text="What does a-secret-of-this-test-1 open?")]
    evaluate_with(OURS, always("yes"), turns=turns, samples=2)
    lines = _lines(tmp_path)
    assert [line["input"] for line in lines] == ["What does [redacted] open?"] * 2
    assert "a-secret-of-this-test-1" not in json.dumps(lines)
