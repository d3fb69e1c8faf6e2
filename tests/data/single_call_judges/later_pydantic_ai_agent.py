import asyncio
from pydantic import BaseModel
from pydantic_ai import Agent


class Grade(BaseModel):
    score: int
    reason: str


judge = Agent("openai:gpt-4o", output_type=Grade, system_prompt="You grade haikus from 1 to 5.")


async def grade(haiku):
    result = await judge.run(haiku)  # expect: JH002
    return result.output.score
