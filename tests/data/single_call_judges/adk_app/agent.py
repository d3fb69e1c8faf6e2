from google.adk.agents import Agent

root_agent = Agent(name="weather", model="gemini-2.5-flash", instruction="Answer questions about the weather.")
