"""A LangChain judge, before and after the one changed line.

With OPENAI_API_KEY set it asks gpt-4o-mini; without it, a scripted model that likes whatever is shown first.
Needs: pip install '.[langchain-classic]' (and langchain-openai with a key).
"""

import os

from langchain_classic.evaluation import PairwiseStringEvalChain
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from judgeharness_langchain import harness_evaluator


def chat_model() -> BaseChatModel:
    """Return a real model with a key, a scripted one without."""
    if "OPENAI_API_KEY" in os.environ:
        from langchain_openai import ChatOpenAI  # noqa: PLC0415

        return ChatOpenAI(model="gpt-4o-mini", max_retries=0)
    return FakeListChatModel(responses=["The first answer reads better. [[A]]"])


PAIR = {
    "input": "What is the capital of France?",
    "prediction": "Paris.",
    "prediction_b": "The capital of France is Paris.",
}

bare = PairwiseStringEvalChain.from_llm(chat_model())
answer = bare.evaluate_string_pairs(**PAIR)
print("one call:   ", answer["value"], answer["score"])

harnessed = harness_evaluator(bare)
answer = harnessed.evaluate_string_pairs(**PAIR)
measured = answer["harness"]
print("harnessed:  ", answer["value"], answer["score"], measured["status"])
print("samples:    ", measured["sample_distribution"], "under", ", ".join(measured["perturbations"]))
print("not measured:", *measured["not_measured"], sep="\n  - ")
