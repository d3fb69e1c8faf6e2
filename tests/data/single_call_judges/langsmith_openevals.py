from langsmith import Client
from openevals.llm import create_llm_as_judge
from openevals.prompts import CORRECTNESS_PROMPT

from app import target

judge = create_llm_as_judge(prompt=CORRECTNESS_PROMPT, model="openai:gpt-4o", feedback_key="correct")  # expect: JH002


def correct(inputs, outputs, reference_outputs):
    return judge(inputs=inputs, outputs=outputs, reference_outputs=reference_outputs)


Client().evaluate(target, data="faq", evaluators=[correct], experiment_prefix="nightly")
