from functools import lru_cache
from statistics import mean

from openai import OpenAI

client = OpenAI()


@lru_cache(maxsize=None)
def grade(essay):
    reply = client.chat.completions.create(  # expect: JH007
        model="gpt-4o",
        messages=[{"role": "user", "content": "Grade this essay from 1 to 6, number only.\n" + essay}],
    )
    return int(reply.choices[0].message.content)


def stable_grade(essay):
    return mean(grade(essay) for _ in range(5))  # expect: JH003, JH004
