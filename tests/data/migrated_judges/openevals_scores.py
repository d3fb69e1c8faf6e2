"""Judges of openevals: a boolean, a continuous score, given choices, and an async one."""

import asyncio
import json

from langchain_openai import ChatOpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge

MODEL = "openevals-scores"
PROMPT = "Is the answer short?\nQuestion: {inputs}\nAnswer: {outputs}"
harness_judge = "a name that is taken"

model = ChatOpenAI(model=MODEL, max_retries=0)
JUDGES = {
    "short": create_llm_as_judge(prompt=PROMPT, judge=model, feedback_key="short"),
    "share": create_llm_as_judge(prompt=PROMPT, judge=model, feedback_key="share", continuous=True),
    "graded": create_llm_as_judge(
        prompt=PROMPT, judge=model, feedback_key="graded", choices=[0.0, 0.5, 1.0]  # three grades
    ),
}
later = create_async_llm_as_judge(prompt=PROMPT, judge=model, feedback_key="later")


async def ask_later(texts):
    return [(await later(inputs="Where?", outputs=text))["score"] for text in texts]


if __name__ == "__main__":
    TEXTS = ("Here.", "In a place that is rather hard to find, I am afraid.")
    answers = []
    for text in TEXTS:
        for name, judge in JUDGES.items():
            answer = judge(inputs="Where?", outputs=text)
            answers.append([name, answer["key"], answer["score"]])
    print(json.dumps([*answers, asyncio.run(ask_later(TEXTS))]))
