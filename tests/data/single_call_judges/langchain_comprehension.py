from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

CRITERIA = ["conciseness", "relevance", "coherence"]
llm = ChatOpenAI(model="gpt-4o-mini")
evaluators = {name: load_evaluator("criteria", criteria=name, llm=llm) for name in CRITERIA}  # expect: JH002


def profile(rows):
    totals = {name: 0 for name in CRITERIA}
    for row in rows:
        for name, evaluator in evaluators.items():
            totals[name] += evaluator.evaluate_strings(prediction=row["output"], input=row["input"])["score"]  # expect: JH013
    return {name: total / len(rows) for name, total in totals.items()}  # expect: JH003
