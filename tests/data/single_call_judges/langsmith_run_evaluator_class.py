from langchain_openai import ChatOpenAI
from langsmith.evaluation import EvaluationResult, RunEvaluator
from pydantic import BaseModel, Field


class Grade(BaseModel):
    """Whether the tone fits."""

    verdict: bool = Field(description="true if the tone is friendly")
    reason: str


class Friendly(RunEvaluator):
    def __init__(self):
        self.llm = ChatOpenAI(model="gpt-4o-mini").with_structured_output(Grade)

    def evaluate_run(self, run, example=None):
        grade = self.llm.invoke(f"Judge the tone of this reply to a customer:\n{run.outputs['output']}")  # expect: JH002
        return EvaluationResult(key="friendly", score=grade.verdict, comment=grade.reason)
