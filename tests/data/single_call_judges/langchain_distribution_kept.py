"""The counts leave the function with the verdict: nothing is hidden, though nothing is calibrated."""

from collections import Counter

from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

judge = load_evaluator("criteria", criteria="relevance", llm=ChatOpenAI(model="gpt-4o"))


def relevance(question, answer):
    counts = Counter(judge.evaluate_strings(prediction=answer, input=question)["value"] for _ in range(9))
    verdict, _ = counts.most_common(1)[0]  # expect: JH003
    return {"verdict": verdict, "distribution": dict(counts)}
