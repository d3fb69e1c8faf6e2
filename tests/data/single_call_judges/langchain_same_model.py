from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(model="gpt-4o")
grader = load_evaluator("score_string", llm=llm)  # expect: JH002, JH009


def answer_and_grade(question):
    answer = llm.invoke(question)
    return grader.evaluate_strings(prediction=answer.content, input=question)["score"]
