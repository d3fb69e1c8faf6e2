"""Two calls with the same words in two branches: one of them runs."""

from openai import OpenAI

client = OpenAI()
PROMPT = "Judge the answer: PASS or FAIL only.\n{}"


def judge(answer, fast):
    if fast:
        reply = client.responses.create(model="gpt-4o-mini", input=PROMPT.format(answer))  # expect: JH002
    else:
        reply = client.responses.create(model="gpt-4.1", input=PROMPT.format(answer))  # expect: JH002
    return reply.output_text.strip() == "PASS"
