#!/usr/bin/env python3
"""Which of two answers is better? A nightly comparison of two prompts."""
from __future__ import annotations

import json

from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

MODEL = "langchain-pairwise"
PAIRS = [
    ("What is the capital of France?", "Paris.", "The capital of France is Paris."),
    ("Name a prime above 10.", "Eleven is a prime number above ten.", "11"),
    ("Is the sky green?", "No, it is not.", "No, it's blue."),
]

evaluator = load_evaluator(
    "pairwise_string",  # which is shown first matters, as everybody knows
    llm=ChatOpenAI(model=MODEL, max_retries=0),
)


def main() -> None:
    verdicts = []
    for question, first, second in PAIRS:
        answer = evaluator.evaluate_string_pairs(input=question, prediction=first, prediction_b=second)
        verdicts.append([answer["value"], answer["score"]])
    print(json.dumps(verdicts))


if __name__ == "__main__":
    main()
