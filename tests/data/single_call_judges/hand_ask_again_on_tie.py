import re

from openai import OpenAI

client = OpenAI()
TEMPLATE = "Which response is better? Finish with 'Verdict: A', 'Verdict: B' or 'Verdict: TIE'.\n\nA: {a}\n\nB: {b}"


def compare(a, b, again=True):
    reply = client.responses.create(model="gpt-4.1", input=TEMPLATE.format(a=a, b=b))  # expect: JH002
    found = re.findall(r"Verdict: (A|B|TIE)", reply.output_text)
    verdict = found[-1] if found else None
    if verdict == "TIE" and again:
        return compare(a, b, again=False)  # expect: JH005
    return verdict
