from collections import Counter

from openai import OpenAI

client = OpenAI()


def judge_once(prompt):
    reply = client.chat.completions.create(  # expect: JH008
        model="gpt-4o",
        temperature=0,
        messages=[
            {"role": "system", "content": "Judge the candidate's answer. Reply PASS or FAIL."},
            {"role": "user", "content": prompt},
        ],
    )
    return reply.choices[0].message.content.strip()


def judge(prompt):
    counts = Counter(judge_once(prompt) for _ in range(5))
    return {"counts": counts, "n": 5}
