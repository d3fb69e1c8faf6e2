from langchain_classic.evaluation import load_evaluator as load
from langchain_openai import ChatOpenAI


class Suite:
    kinds = ("conciseness", "helpfulness")

    def __init__(self):
        self.model = ChatOpenAI(model="gpt-4o", temperature=0)
        self.judges = {k: load("criteria", criteria=k, llm=self.model) for k in self.kinds}  # expect: JH008

    def stable(self, kind, text, prompt):
        votes = []
        for _ in range(3):
            votes.append(self.judges[kind].evaluate_strings(prediction=text, input=prompt)["score"])
        return sum(votes) >= 2  # expect: JH003, JH004, JH013
