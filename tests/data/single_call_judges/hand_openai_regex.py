"""LLM-as-a-judge with the prompt of a paper."""

import re

from openai import OpenAI

client = OpenAI()

JUDGE_PROMPT = """Please act as an impartial judge and evaluate the quality of the responses provided by two AI assistants.
Avoid any position biases and ensure that the order in which the responses were presented does not influence your decision.
Output your final verdict by strictly following this format: "[[A]]" if assistant A is better, "[[B]]" if assistant B is
better, and "[[C]]" for a tie.

[Question]
{question}
[Assistant A]
{a}
[Assistant B]
{b}"""


def judge(question, a, b):
    completion = client.chat.completions.create(  # expect: JH001, JH002
        model="gpt-4-turbo",
        temperature=0,
        messages=[{"role": "user", "content": JUDGE_PROMPT.format(question=question, a=a, b=b)}],
    )
    text = completion.choices[0].message.content
    match = re.search(r"\[\[([ABC])\]\]", text)  # expect: JH006
    return match.group(1) if match else "C"  # expect: JH012


def win_rate(rows):
    verdicts = [judge(row["question"], row["ours"], row["theirs"]) for row in rows]
    return verdicts.count("A") / len(verdicts)  # expect: JH003
