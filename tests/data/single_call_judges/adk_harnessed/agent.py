import judgeharness_adk
from google.adk.agents import Agent

judgeharness_adk.register()

root_agent = Agent(name="faq", model="gemini-2.5-flash", instruction="Answer from the FAQ.")
