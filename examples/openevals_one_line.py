"""An openevals judge, before and after the one changed line.

With OPENAI_API_KEY set it asks gpt-4o-mini; without it, a scripted model that likes answers in bold.
Needs: pip install '.[openevals]' (and langchain-openai with a key).
"""

import os

from langchain_core.language_models import BaseChatModel
from openevals.llm import create_llm_as_judge

from judgeharness_openevals import harness_judge


def chat_model() -> BaseChatModel:
    """Return a real model with a key, a scripted one without."""
    if "OPENAI_API_KEY" in os.environ:
        from langchain_openai import ChatOpenAI  # noqa: PLC0415

        return ChatOpenAI(model="gpt-4o-mini", max_retries=0)
    from offline_judge import LikesBold  # noqa: PLC0415

    return LikesBold()


PROMPT = "Is the answer correct?\nQuestion: {inputs}\nAnswer: {outputs}\nReference: {reference_outputs}"
CASE = {
    "inputs": "What is the capital of France?",
    "outputs": "It is **Paris**.",
    "reference_outputs": "Paris",
}

bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(), feedback_key="correctness")
answer = bare(**CASE)
print("one call:  ", answer["key"], answer["score"])

judge = harness_judge(bare)  # the new line
answer = judge(**CASE)
measured = answer["metadata"]
print("harnessed: ", answer["key"], answer["score"], measured["status"])
print("samples:   ", measured["sample_distribution"], "folded by", measured["aggregation_rule"])
print("comment:   ", answer["comment"])
