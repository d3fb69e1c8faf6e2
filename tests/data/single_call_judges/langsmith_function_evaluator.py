import json

import openai
from langsmith import evaluate

from app import target

client = openai.OpenAI()


def faithful(inputs: dict, outputs: dict) -> dict:
    """A function evaluator that asks a model."""
    reply = client.chat.completions.create(  # expect: JH002
        model="gpt-4o",
        response_format={"type": "json_object"},
        messages=[
            {"role": "system", "content": "You grade answers. Reply in JSON: {\"score\": 0 or 1, \"reason\": ...}"},
            {"role": "user", "content": f"Context: {inputs['context']}\nAnswer: {outputs['answer']}"},
        ],
    )
    graded = json.loads(reply.choices[0].message.content)
    return {"key": "faithful", "score": graded["score"], "comment": graded["reason"]}


def short(outputs: dict) -> bool:
    return len(outputs["answer"]) < 400


evaluate(target, data="rag", evaluators=[faithful, short])
