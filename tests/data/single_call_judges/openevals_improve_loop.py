"""The answer is rewritten until it passes: every round judges another text."""

from openevals.llm import create_llm_as_judge
from openevals.prompts import CORRECTNESS_PROMPT

from app import rewrite

judge = create_llm_as_judge(prompt=CORRECTNESS_PROMPT, model="openai:gpt-4o")  # expect: JH002


def improve(question, answer, reference):
    graded = judge(inputs=question, outputs=answer, reference_outputs=reference)
    while not graded["score"]:
        answer = rewrite(question, answer, graded["comment"])
        graded = judge(inputs=question, outputs=answer, reference_outputs=reference)
    return answer
