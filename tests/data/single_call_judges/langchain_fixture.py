import pytest
from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

CASES = [("2 + 2?", "4", "Four."), ("Capital of Peru?", "Lima", "It is Lima.")]


@pytest.fixture(scope="session")
def judge():
    return load_evaluator("qa", llm=ChatOpenAI(model="gpt-4o"))  # expect: JH002


@pytest.mark.parametrize(("question", "reference", "answer"), CASES)
def test_answers(judge, question, reference, answer):
    graded = judge.evaluate_strings(input=question, prediction=answer, reference=reference)
    assert graded["value"] == "CORRECT"
