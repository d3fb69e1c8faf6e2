import re
import time

import openai


def call_gpt(prompt, n_try=5):
    for i in range(n_try):
        try:
            r = openai.chat.completions.create(model="gpt-4", messages=[{"role": "user", "content": prompt}], temperature=0)
            return r.choices[0].message.content
        except openai.RateLimitError:
            time.sleep(2 ** i)
    raise RuntimeError("no answer")


def vicuna_score(q, a, b):
    prompt = (
        f"[Question]\n{q}\n[Assistant 1]\n{a}\n[Assistant 2]\n{b}\n"
        "Please rate the helpfulness of both. Each receives an overall score from 1 to 10. "
        "Avoid any potential bias and ensure that the order in which the responses were presented does not affect your judgment. "
        "First output one line with two scores separated by a space."
    )
    review = call_gpt(prompt)  # expect: JH001, JH002
    first = review.split("\n")[0]  # expect: JH006
    s1, s2 = first.split(" ")
    return float(s1), float(s2)
