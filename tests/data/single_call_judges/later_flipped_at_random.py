import random

from openai import OpenAI

client = OpenAI()
PROMPT = """You compare two chatbots. Ignore the order of the answers.
First: {x}
Second: {y}
Reply with first or second."""


def prefer(a, b):
    flipped = random.random() < 0.5
    x, y = (b, a) if flipped else (a, b)
    reply = client.responses.create(model="gpt-4o", input=PROMPT.format(x=x, y=y))  # expect: JH002
    word = reply.output_text.strip().lower()
    if word not in ("first", "second"):
        return None
    return "a" if (word == "first") != flipped else "b"
