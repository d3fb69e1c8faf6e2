"""A weather agent whose judge is measured. It runs offline: two scripted models stand in for the real ones.

    pip install '.[adk]'
    adk eval examples/adk_agent examples/adk_agent/weather.test.json --print_detailed_results

For real models change `model` below and `judge_model` in `test_config.json`: "gemini-2.5-flash" with a Google key,
"openai/gpt-4o" with litellm and an OpenAI key.
"""

from google.adk.agents import Agent
from google.adk.models.registry import LLMRegistry

import judgeharness_adk

from .offline_models import UnsteadyJudge, WeatherModel

judgeharness_adk.register()  # this line and its import: ADK's judges are measured from here on

LLMRegistry.register(WeatherModel)  # real models need no such lines
LLMRegistry.register(UnsteadyJudge)

REPORTS = {
    "Oslo": "It is 4 degrees and raining in Oslo. Take a coat.",
    "Rome": "It is 24 degrees and sunny in Rome. A shirt will do.",
    "Lima": "It is 18 degrees and foggy in Lima. You may want something warm.",
}


def get_weather(city: str) -> dict[str, str]:
    """Tells the weather of a city, and what to wear."""
    return {"report": REPORTS[city]}


root_agent = Agent(
    name="weather",
    model="offline-weather",  # the line to change: "gemini-2.5-flash", or "openai/gpt-4o"
    instruction="Ask the tool about the weather, then repeat what it says.",
    tools=[get_weather],
)
