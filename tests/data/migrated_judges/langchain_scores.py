"""Scores from 1 to 10, by a class that keeps its graders."""

import json

import langchain_classic.evaluation as evaluation
from langchain_openai import ChatOpenAI

MODEL = 'langchain-scores'


class Graders:
    """Two graders of one model."""

    def __init__(self, model):
        llm = ChatOpenAI(model=model, max_retries=0)
        self.plain = evaluation.ScoreStringEvalChain.from_llm(llm)  # 1 to 10
        self.labeled = evaluation.load_evaluator('labeled_score_string', llm=llm, normalize_by=10)

    def grade(self, question, answer, reference):
        plain = self.plain.evaluate_strings(input=question, prediction=answer)
        labeled = self.labeled.evaluate_strings(input=question, prediction=answer, reference=reference)
        return [plain['score'], labeled['score']]


if __name__ == '__main__':
    graders = Graders(MODEL)
    rows = [('2+2?', 'Four.', '4'), ('Why?', 'Because of the long and winding road.', 'None')]
    print(json.dumps([graders.grade(*row) for row in rows]))
