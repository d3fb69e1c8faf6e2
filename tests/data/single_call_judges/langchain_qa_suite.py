"""Nightly regression of the retrieval chain."""

import pandas as pd
from langchain_classic.evaluation.qa import QAEvalChain
from langchain_openai import ChatOpenAI

from app.chain import chain


def nightly(examples):
    predictions = chain.batch(examples)
    grader = QAEvalChain.from_llm(ChatOpenAI(model="gpt-4o", temperature=0))  # expect: JH002
    graded = grader.evaluate(examples, predictions)
    frame = pd.DataFrame(graded)
    accuracy = (frame["results"] == "CORRECT").mean()  # expect: JH003
    if accuracy < 0.9:
        raise SystemExit(f"accuracy fell to {accuracy:.2f}")
    return accuracy
