from langchain_classic.evaluation import CriteriaEvalChain
from langchain_openai import ChatOpenAI

import judgeharness_langchain as jl
from judgeharness_integrations import JudgeHarness


def build(model):
    chain = CriteriaEvalChain.from_llm(llm=ChatOpenAI(model=model), criteria="coherence")
    return jl.harness_evaluator(chain, JudgeHarness(perturbations=("none",), repetitions=5, aggregation_rule="majority"))
