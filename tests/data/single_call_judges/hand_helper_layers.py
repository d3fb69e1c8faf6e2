"""A thin client, a prompt builder, a parser, a judge: four functions."""

import re

import requests

URL = "http://localhost:8000/v1/chat/completions"


def ask_model(prompt):
    from openai import OpenAI

    client = OpenAI(base_url=URL)
    done = client.chat.completions.create(model="local", messages=[{"role": "user", "content": prompt}])
    return done.choices[0].message.content


def build_prompt(question, answer):
    return f"Evaluate the answer below. End with 'Rating: X' where X is 1 to 5.\n\n{question}\n\n{answer}"


def parse_rating(text):
    found = re.search(r"Rating:\s*(\d)", text)  # expect: JH006
    if found is None:
        raise ValueError("no rating")
    return int(found.group(1))


def judge(question, answer):
    reply = ask_model(build_prompt(question, answer))  # expect: JH002
    return parse_rating(reply)


def summarise(article):
    return ask_model("Summarise this article in three sentences:\n" + article)


def ping():
    return requests.get(URL, timeout=5).ok
