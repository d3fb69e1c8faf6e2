from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

from judgeharness_integrations import JudgeHarness
from judgeharness_langchain import harness_evaluator

llm = ChatOpenAI(model="gpt-4o", temperature=1.0)
evaluator = harness_evaluator(load_evaluator("pairwise_string", llm=llm), JudgeHarness.standard("pairwise"))


def compare(rows):
    return [
        evaluator.evaluate_string_pairs(prediction=row["a"], prediction_b=row["b"], input=row["input"])
        for row in rows
    ]
