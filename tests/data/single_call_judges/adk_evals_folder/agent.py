import judgeharness_adk as harness
from google.adk.agents import Agent

harness.register()
root_agent = Agent(name="docs", model="gemini-2.5-flash", instruction="Answer from the docs.")
