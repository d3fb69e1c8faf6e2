"""An experiment on LangSmith's `evaluate` that stays on this machine."""

import json
import warnings
from datetime import UTC, datetime
from uuid import uuid4

from langchain_openai import ChatOpenAI
from langsmith import Client, evaluate
from langsmith.schemas import Example
from openevals.llm import create_llm_as_judge

MODEL = "langsmith-experiment"
PROMPT = "Is the answer short?\nQuestion: {inputs}\nAnswer: {outputs}"
QUESTIONS = {"Where?": "Here.", "When?": "At a time that nobody can know in advance."}


def application(inputs):
    return {"answer": QUESTIONS[inputs["question"]]}


def has_a_dot(outputs):
    return "." in outputs["answer"]


def brief(run, example):
    """Asks by hand, and is wrapped as it is."""
    reply = model.invoke(f"Question: {example.inputs['question']}\nDoes it come to the point?\nAnswer: {run.outputs['answer']}")
    return json.loads(reply.content)["score"] > 0.2


warnings.filterwarnings("ignore", "'upload_(results|runs)' parameter is in beta")
dataset, now = uuid4(), datetime.now(UTC)
examples = [Example(id=uuid4(), inputs={"question": q}, dataset_id=dataset, created_at=now) for q in QUESTIONS]
model = ChatOpenAI(model=MODEL, max_retries=0)
politeness = create_llm_as_judge(prompt=PROMPT + " Politely.", judge=model, feedback_key="polite")
results = evaluate(
    application,
    data=examples,
    evaluators=[
        create_llm_as_judge(prompt=PROMPT, judge=model, feedback_key="short"),
        politeness,
        has_a_dot,
        brief,
    ],
    client=Client(api_url="http://127.0.0.1:9", api_key="offline", info={}),
    upload_results=False,
    disable_evaluator_tracing=True,
)
found = {
    row["run"].inputs["question"]: {
        one.key: one.score for one in row["evaluation_results"]["results"] if "." not in one.key
    }
    for row in results
}
print(json.dumps(found, sort_keys=True))
