from crewai import Agent, Crew, Task

critic = Agent(role="Critic", goal="Judge the article", backstory="A strict editor")
task = Task(description="Grade the article from 1 to 10", agent=critic, expected_output="A number")
print(Crew(agents=[critic], tasks=[task]).kickoff())
