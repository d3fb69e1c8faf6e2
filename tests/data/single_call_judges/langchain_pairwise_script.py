"""Compares two prompt versions on twenty support questions."""

import json
import sys

from langchain.evaluation import load_evaluator  # expect: JH010
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(model="gpt-4o-mini")
evaluator = load_evaluator("pairwise_string", llm=llm)  # expect: JH001, JH002


def main(path):
    rows = [json.loads(line) for line in open(path)]
    wins = 0
    for row in rows:
        result = evaluator.evaluate_string_pairs(
            prediction=row["old"], prediction_b=row["new"], input=row["question"]
        )
        if result["value"] == "B":
            wins += 1
    print(f"new prompt wins {wins / len(rows):.0%}")  # expect: JH003


if __name__ == "__main__":
    main(sys.argv[1])
