import json
from typing import Any

from openai import OpenAI

oai = OpenAI()

EVAL_PROMPT = """
Given the source document and the generated summary, determine whether the summary is factually consistent.
Think step by step, then output a JSON object: {{"consistent": true|false}}.

Document: {doc}
Summary: {summary}
"""


def factual_consistency(rows: list[dict[str, Any]]) -> float:
    hits = 0
    for row in rows:
        resp = oai.chat.completions.create(  # expect: JH002
            model="gpt-4o-2024-08-06",
            messages=[{"role": "user", "content": EVAL_PROMPT.format(doc=row["doc"], summary=row["summary"])}],
            response_format={"type": "json_object"},
        )
        if json.loads(resp.choices[0].message.content)["consistent"]:
            hits += 1
    return hits / len(rows)  # expect: JH003
