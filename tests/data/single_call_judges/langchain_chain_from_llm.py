from __future__ import annotations

from langchain_classic.evaluation import ScoreStringEvalChain
from langchain_classic.evaluation.comparison import PairwiseStringEvalChain
from langchain_openai import ChatOpenAI


class Arena:
    """Plays two models against each other."""

    def __init__(self, model: str) -> None:
        llm = ChatOpenAI(model=model, temperature=0)
        self.referee = PairwiseStringEvalChain.from_llm(llm=llm)  # expect: JH001, JH002
        self.scorer = ScoreStringEvalChain.from_llm(llm=llm)  # expect: JH002

    def play(self, prompt: str, left: str, right: str) -> str | None:
        outcome = self.referee.evaluate_string_pairs(prediction=left, prediction_b=right, input=prompt)
        return outcome["value"]

    def score(self, prompt: str, answer: str) -> float:
        return self.scorer.evaluate_strings(prediction=answer, input=prompt)["score"]
