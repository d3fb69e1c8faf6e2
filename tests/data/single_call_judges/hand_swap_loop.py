import re

from openai import OpenAI

client = OpenAI()
PROMPT = """Compare two replies. Do not let the order of the replies affect your judgement.
A: {first}
B: {second}
End with [[A]] or [[B]]."""


def once(first, second):
    text = client.responses.create(model="gpt-4o", input=PROMPT.format(first=first, second=second)).output_text
    marks = re.findall(r"\[\[(A|B)\]\]", text)
    return marks[-1] if marks else None


def both_orders(a, b):
    straight = once(a, b)
    swapped = {"A": "B", "B": "A", None: None}[once(b, a)]
    return straight if straight == swapped else None
