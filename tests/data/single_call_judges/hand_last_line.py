"""The verdict is the whole last line; anything else is unparsed."""

from openai import OpenAI

client = OpenAI()
PROMPT = "Evaluate the answer and write PASS or FAIL alone on the last line.\n\n{answer}"


def judge(answer):
    reply = client.responses.create(model="gpt-4o", input=PROMPT.format(answer=answer))  # expect: JH002
    last = reply.output_text.strip().splitlines()[-1].strip()
    return last if last in ("PASS", "FAIL") else None
