from statistics import mode

from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

evaluator = load_evaluator("labeled_pairwise_string", llm=ChatOpenAI(model="gpt-4o", temperature=0))  # expect: JH001, JH008


def preferred(question, first, second, reference):
    """Ask five times and take the winner."""
    votes = []
    for _ in range(5):
        verdict = evaluator.evaluate_string_pairs(
            prediction=first, prediction_b=second, input=question, reference=reference
        )
        votes.append(verdict["value"])
    return mode(votes)  # expect: JH003, JH004
