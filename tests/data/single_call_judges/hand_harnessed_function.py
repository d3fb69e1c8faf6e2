import re

from openai import OpenAI

from judgeharness_integrations import AnswerCase, JudgeHarness

client = OpenAI()
PROMPT = "Judge whether the answer is correct. Reply with PASS or FAIL only.\n\n{answer}"


def correct(case):
    reply = client.responses.create(model="gpt-4o", input=PROMPT.format(answer=case.output))
    found = re.fullmatch(r"PASS|FAIL", reply.output_text.strip())
    return found.group() if found else None


harness = JudgeHarness.standard("labels")


def measured(rows):
    return harness.evaluate_many(correct, [AnswerCase(case_id=r["id"], output=r["output"]) for r in rows])
