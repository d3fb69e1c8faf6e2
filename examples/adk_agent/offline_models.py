"""Two models without a network: the agent's own, and a judge that does not always say the same."""

import re
from collections import Counter
from collections.abc import AsyncGenerator

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part
from pydantic import PrivateAttr


class WeatherModel(BaseLlm):
    """Asks the tool about the city the user named, then repeats what the tool said."""

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the names it answers to."""
        return ["offline-weather"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer the last message."""
        del stream
        last = (llm_request.contents[-1].parts or [Part()])[0]
        if last.function_response:
            yield _said(Part(text=(last.function_response.response or {})["report"]))
        else:
            city = re.findall(r"[A-Z][a-z]+", last.text or "")[-1]
            yield _said(Part.from_function_call(name="get_weather", args={"city": city}))


class UnsteadyJudge(BaseLlm):
    """Says yes to every rubric but one: it wavers about what to wear when the answer is not plain.

    "will do" is a no every fifth time; "may want" is a yes only where that rubric stands last.
    """

    _asked: Counter[str] = PrivateAttr(default_factory=Counter)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the names it answers to."""
        return ["offline-judge"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer in the format that ADK's rubric prompts ask for."""
        del stream
        prompt = "".join(part.text or "" for part in llm_request.contents[-1].parts or ())
        self._asked[prompt] += 1
        answer = prompt.rpartition("<final_answer>")[2].partition("</final_answer>")[0].strip()
        rubrics = re.findall(r"\[id: (.+?)\] (.+)", prompt.rpartition("<properties>")[2])
        blocks = []
        for place, (name, text) in enumerate(rubrics, start=1):
            verdict, why = "yes", f"The answer is: {answer}"
            if "wear" in text and "may want" in answer and place < len(rubrics):
                verdict, why = "no", "A guess at what the user may want is no advice."
            elif "wear" in text and "will do" in answer and self._asked[prompt] % 5 == 0:
                verdict, why = "no", "It does not say for which time of the day."
            reading = self._asked[prompt]  # no two samples are copies
            blocks.append(f"ID: {name}\nProperty: {text}\nRationale: Reading {reading}. {why}\nVerdict: {verdict}")
        yield _said(Part(text="\n\n".join(blocks)))


def _said(part: Part) -> LlmResponse:
    usage = GenerateContentResponseUsageMetadata(prompt_token_count=100, candidates_token_count=20)
    return LlmResponse(content=Content(role="model", parts=[part]), usage_metadata=usage)
