from langchain_classic import evaluation as ev
from langchain_classic.evaluation import load_evaluator as le
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="gpt-4o")
conciseness = le("criteria", criteria="conciseness", llm=model)  # expect: JH002
against_reference = ev.load_evaluator("labeled_criteria", criteria="correctness", llm=model)  # expect: JH002
same_text = ev.load_evaluator("exact_match")


def check(answer, reference, question):
    return {
        "concise": conciseness.evaluate_strings(prediction=answer, input=question)["value"],
        "correct": against_reference.evaluate_strings(prediction=answer, input=question, reference=reference)["value"],
        "same": same_text.evaluate_strings(prediction=answer, reference=reference)["score"],
    }
