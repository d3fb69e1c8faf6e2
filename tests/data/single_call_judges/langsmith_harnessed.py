from langsmith import evaluate
from openevals.llm import create_llm_as_judge
from openevals.prompts import CORRECTNESS_PROMPT

from app import target
from judgeharness_integrations import JudgeHarness
from judgeharness_langsmith import HarnessRunEvaluator

judge = create_llm_as_judge(prompt=CORRECTNESS_PROMPT, model="openai:gpt-4o")
evaluate(target, data="faq", evaluators=[HarnessRunEvaluator(judge, JudgeHarness.standard("labels"))])
