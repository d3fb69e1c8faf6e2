"""Models without a network: a judge that follows a script, and the weather agent's own model.

    with scripted_judge(in_turn("yes", "no"), delay=0.05) as judge:
        ...  # judge_model_options.judge_model = judge.model
    assert (judge.calls, judge.in_flight_max) == (5, 1)

In a process of its own (`run_adk_eval` without `in_process`) the agent's file registers the judge:

    write_agent_folder(tmp_path, extra="from support.adk_judges import always, register_judge\\n"
                                       "register_judge('scripted-judge', always('yes'))")
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai import types

from support.adk_answers import CITIES, Answers, JudgePrompt, always, by_city, in_turn, per_rubric

__all__ = [
    "ScriptedJudge",
    "ScriptedLlm",
    "ScriptedWeather",
    "always",
    "by_city",
    "in_turn",
    "per_rubric",
    "register_judge",
    "scripted_judge",
]


@dataclass
class ScriptedJudge:
    """A judge model's script, and what it was asked.

    Attributes:
        model: The name to put into `judge_model_options.judge_model`.
        script: What to answer.
        delay: Seconds each answer takes.
        requests: What was received, in order of arrival.
        in_flight_max: The highest number of calls unanswered at one time.
    """

    model: str
    script: Answers
    delay: float = 0.0
    requests: list[LlmRequest] = field(default_factory=list)
    in_flight_max: int = 0
    in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def calls(self) -> int:
        return len(self.requests)

    @property
    def prompts(self) -> list[JudgePrompt]:
        return [JudgePrompt(_text(request)) for request in self.requests]

    async def reply(self, request: LlmRequest) -> LlmResponse:
        with self._counted(request):
            await asyncio.sleep(self.delay)
            prompt = JudgePrompt(_text(request))
            return _says(types.Part(text=self.script(prompt)), prompt.text)

    @contextlib.contextmanager
    def _counted(self, request: LlmRequest) -> Iterator[None]:
        with self.lock:
            self.requests.append(request)
            self.in_flight += 1
            self.in_flight_max = max(self.in_flight_max, self.in_flight)
        try:
            yield
        finally:
            with self.lock:
                self.in_flight -= 1


class ScriptedLlm(BaseLlm):
    """The judge models that `register_judge` made, by name."""

    judges: ClassVar[dict[str, ScriptedJudge]] = {}

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"scripted-judge.*"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        yield await self.judges[self.model].reply(llm_request)


class ScriptedWeather(BaseLlm):
    """The weather agent's model: it asks the tool about the city the user named, then repeats what the tool said."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"scripted-weather"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        last = (llm_request.contents[-1].parts or [types.Part()])[0]
        if last.function_response:
            said = (last.function_response.response or {})["report"]
            yield _says(types.Part(text=said), _text(llm_request))
        else:
            city = next(city for city in CITIES if city in (last.text or ""))
            yield _says(types.Part.from_function_call(name="get_weather", args={"city": city}), _text(llm_request))


def register_judge(model: str, script: Answers, *, delay: float = 0.0) -> ScriptedJudge:
    """Make a judge model that ADK finds by name; `isolated_adk` forgets it again."""
    LLMRegistry.register(ScriptedLlm)
    ScriptedLlm.judges[model] = ScriptedJudge(model=model, script=script, delay=delay)
    return ScriptedLlm.judges[model]


@contextlib.contextmanager
def scripted_judge(script: Answers, *, delay: float = 0.0, model: str = "scripted-judge") -> Iterator[ScriptedJudge]:
    """A judge model that ADK finds by name, until the block ends."""
    judge = register_judge(model, script, delay=delay)
    try:
        yield judge
    finally:
        ScriptedLlm.judges.pop(model, None)


def _text(request: LlmRequest) -> str:
    return "\n".join(part.text for content in request.contents for part in content.parts or () if part.text)


def _says(part: types.Part, prompt: str) -> LlmResponse:
    """One finished answer, with one word a token."""
    read, written = len(prompt.split()), len((part.text or "").split())
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=read, candidates_token_count=written, total_token_count=read + written
    )
    return LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)
