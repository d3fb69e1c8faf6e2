from enum import Enum

import instructor
from openai import OpenAI
from pydantic import BaseModel


class Label(str, Enum):
    good = "good"
    bad = "bad"


class Review(BaseModel):
    reasoning: str
    label: Label


client = instructor.from_openai(OpenAI())


def review(code):
    """LLM code reviewer used as reward."""
    result = client.chat.completions.create(  # expect: JH002
        model="gpt-4o",
        response_model=Review,
        messages=[{"role": "user", "content": f"Evaluate the quality of this function:\n{code}"}],
    )
    return 1.0 if result.label is Label.good else 0.0


def reward(batch):
    return [review(c) for c in batch]
