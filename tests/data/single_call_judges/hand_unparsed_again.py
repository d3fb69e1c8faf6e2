"""An answer that cannot be read is asked for again: a failed answer is no verdict."""

import json

from openai import OpenAI

client = OpenAI()
PROMPT = 'Judge the answer. Reply with {{"verdict": "pass"}} or {{"verdict": "fail"}} and nothing else.\n\n{answer}'


def parsed(text):
    try:
        return json.loads(text)["verdict"]
    except (ValueError, KeyError):
        return None


def judge(answer):
    verdict = None
    while verdict is None:
        reply = client.responses.create(model="gpt-4o", input=PROMPT.format(answer=answer))  # expect: JH002
        verdict = parsed(reply.output_text)
    return verdict
