from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

evaluator = load_evaluator("criteria", criteria="correctness", llm=ChatOpenAI(model="gpt-4o"))  # expect: JH002


def passes(question, answer):
    result = evaluator.evaluate_strings(prediction=answer, input=question)
    if result["value"] == "N":
        # the judge is too strict at times, give it another chance
        result = evaluator.evaluate_strings(prediction=answer, input=question)  # expect: JH005
    return result["value"] == "Y"
