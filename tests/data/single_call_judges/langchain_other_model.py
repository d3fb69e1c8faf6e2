from langchain_anthropic import ChatAnthropic
from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

writer = ChatOpenAI(model="gpt-4o")
grader = load_evaluator("score_string", llm=ChatAnthropic(model="claude-sonnet-4-5"))  # expect: JH002


def answer_and_grade(question):
    answer = writer.invoke(question)
    return grader.evaluate_strings(prediction=answer.content, input=question)["score"]
