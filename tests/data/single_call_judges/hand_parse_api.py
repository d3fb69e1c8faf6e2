from openai import OpenAI
from pydantic import BaseModel

client = OpenAI()


class Verdict(BaseModel):
    explanation: str
    score: int


RUBRIC = "You are grading student essays against this rubric: clear thesis, evidence, style. Give a score of 0 to 3."


def grade(essay):
    completion = client.beta.chat.completions.parse(  # expect: JH002
        model="gpt-4o",
        messages=[{"role": "system", "content": RUBRIC}, {"role": "user", "content": essay}],
        response_format=Verdict,
    )
    return completion.choices[0].message.parsed.score


def course_average(essays):
    return sum(grade(one) for one in essays) / len(essays)  # expect: JH003
