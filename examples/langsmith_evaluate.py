"""LangSmith's `evaluate` with an openevals judge, before and after the one changed line.

With LANGSMITH_API_KEY and OPENAI_API_KEY set it uploads an experiment and asks gpt-4o-mini; without them nothing leaves
the machine and a scripted model judges, which likes answers in bold.
Needs: pip install '.[langsmith,openevals]' pandas (and langchain-openai with a key).
"""

import os
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langsmith import Client, evaluate
from langsmith.schemas import Example
from openevals.llm import create_llm_as_judge

from judgeharness_langsmith import HarnessRunEvaluator

ONLINE = "LANGSMITH_API_KEY" in os.environ and "OPENAI_API_KEY" in os.environ
DATASET = "judge-harness-capitals"
QUESTIONS = {"What is the capital of France?": "Paris", "What is the capital of Peru?": "Lima"}
PROMPT = "Is the answer correct?\nQuestion: {inputs}\nAnswer: {outputs}\nReference: {reference_outputs}"


def chat_model() -> BaseChatModel:
    """Return a real model with a key, a scripted one without."""
    if ONLINE:
        from langchain_openai import ChatOpenAI  # noqa: PLC0415

        return ChatOpenAI(model="gpt-4o-mini", max_retries=0)
    from offline_judge import LikesBold  # noqa: PLC0415

    return LikesBold()


def examples(client: Client) -> Any:
    """Return the dataset's name, made when it is missing; examples that stay here when offline."""
    pairs = [({"question": question}, {"answer": answer}) for question, answer in QUESTIONS.items()]
    if not ONLINE:
        now, dataset = datetime.now(UTC), uuid4()
        return [Example(id=uuid4(), inputs=i, outputs=o, dataset_id=dataset, created_at=now) for i, o in pairs]
    if not client.has_dataset(dataset_name=DATASET):
        rows = [{"inputs": inputs, "reference_outputs": reference} for inputs, reference in pairs]
        client.create_examples(dataset_id=client.create_dataset(DATASET).id, examples=rows)
    return DATASET


def application(inputs: dict[str, Any]) -> dict[str, Any]:
    """Answer, in bold for one of the two questions."""
    answer = QUESTIONS[inputs["question"]]
    return {"answer": f"It is **{answer}**." if answer == "Paris" else f"It is {answer}."}


def show(title: str, evaluators: Iterable[Any], client: Client) -> None:
    """Evaluate and print the feedback columns."""
    results = evaluate(
        application,
        data=examples(client),
        evaluators=evaluators,
        client=client,
        upload_results=ONLINE,
        disable_evaluator_tracing=not ONLINE,
    )
    table = results.to_pandas().sort_values("reference.answer", ascending=False)
    print(f"\n{title}")
    print(table[[name for name in table if name.startswith("feedback.")]].to_string(index=False))


warnings.filterwarnings("ignore", "'upload_(results|runs)' parameter is in beta")
langsmith = Client() if ONLINE else Client(api_url="http://127.0.0.1:9", api_key="offline", info={})
bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(), feedback_key="correctness")
show("one call", [bare], langsmith)
show("harnessed", [HarnessRunEvaluator(bare)], langsmith)
