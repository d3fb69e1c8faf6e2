"""A weather agent whose model is scripted; its judge is a real one."""

from collections.abc import AsyncGenerator

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai.types import Content, Part


class Scripted(BaseLlm):
    """Always says the same."""

    @classmethod
    def supported_models(cls):
        return ["scripted-forecast"]

    async def generate_content_async(self, llm_request, stream=False) -> AsyncGenerator[LlmResponse, None]:
        city = llm_request.contents[-1].parts[0].text.rstrip("?").split()[-1]
        yield LlmResponse(content=Content(role="model", parts=[Part(text=f"It rains in {city}. Take a coat.")]))


LLMRegistry.register(Scripted)

root_agent = Agent(name="weather", model="scripted-forecast", instruction="Tell the weather.")
