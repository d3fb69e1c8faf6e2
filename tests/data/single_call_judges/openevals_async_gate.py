import asyncio

from openevals import create_async_llm_as_judge
from openevals.prompts import CONCISENESS_PROMPT

from app import answer

THRESHOLD = 0.8
judge = create_async_llm_as_judge(prompt=CONCISENESS_PROMPT, continuous=True, model="openai:gpt-4o")  # expect: JH002


async def gate(questions):
    answers = await asyncio.gather(*(answer(q) for q in questions))
    graded = await asyncio.gather(*(judge(inputs=q, outputs=a) for q, a in zip(questions, answers)))
    mean = sum(g["score"] for g in graded) / len(graded)  # expect: JH003, JH013
    assert mean >= THRESHOLD, f"conciseness fell to {mean:.2f}"
