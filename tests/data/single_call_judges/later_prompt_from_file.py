import re
from collections import defaultdict

import openai

judge_tpl = open("judge.txt").read()


def call(prompt):
    return openai.ChatCompletion.create(model="gpt-4", messages=[{"role": "user", "content": prompt}])["choices"][0]["message"]["content"]


def battle(q, a1, a2):
    out = call(judge_tpl.format(q=q, a=a1, b=a2))  # expect: JH002
    m = re.search(r"\[\[(A|B|C)\]\]", out)  # expect: JH006
    return m.group(1) if m else None


def leaderboard(battles):
    table = defaultdict(int)
    for q, (m1, a1), (m2, a2) in battles:
        v = battle(q, a1, a2)
        if v == "A":
            table[m1] += 1
        elif v == "B":
            table[m2] += 1
    return dict(table)
