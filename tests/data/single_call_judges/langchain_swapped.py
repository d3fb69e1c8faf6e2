"""Both orders are asked and a winner must win both: no warning stands in for a swap."""

from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

evaluator = load_evaluator("pairwise_string", llm=ChatOpenAI(model="gpt-4o"))


def better(question, a, b):
    there = evaluator.evaluate_string_pairs(prediction=a, prediction_b=b, input=question)["value"]
    back = evaluator.evaluate_string_pairs(prediction=b, prediction_b=a, input=question)["value"]
    if there == "A" and back == "B":
        return "a"
    if there == "B" and back == "A":
        return "b"
    return "undecided"
