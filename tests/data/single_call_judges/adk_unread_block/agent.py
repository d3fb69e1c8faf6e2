from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="shop", model="gemini-2.5-flash", instruction="Help customers.")
