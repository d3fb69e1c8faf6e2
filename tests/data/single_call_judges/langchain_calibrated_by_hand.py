"""The judge's share is printed beside its agreement with two annotators."""

from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI
from sklearn.metrics import cohen_kappa_score

judge = load_evaluator("criteria", criteria="correctness", llm=ChatOpenAI(model="gpt-4o"))  # expect: JH002


def report(rows):
    verdicts = [judge.evaluate_strings(prediction=row["output"], input=row["input"])["value"] for row in rows]
    kappa = cohen_kappa_score(verdicts, [row["human"] for row in rows])
    return verdicts.count("Y") / len(verdicts), kappa
