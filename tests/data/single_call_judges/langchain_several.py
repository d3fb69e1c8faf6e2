from langchain_classic.evaluation import EvaluatorType, load_evaluators
from langchain_openai import ChatOpenAI

evaluators = load_evaluators(  # expect: JH002, JH002
    [EvaluatorType.QA, EvaluatorType.CRITERIA, EvaluatorType.STRING_DISTANCE],
    llm=ChatOpenAI(model="gpt-4.1"),
)


def grade(example, answer):
    return [
        one.evaluate_strings(prediction=answer, reference=example["answer"], input=example["question"])
        for one in evaluators
    ]
