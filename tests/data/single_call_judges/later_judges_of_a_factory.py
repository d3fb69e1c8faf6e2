from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI


def make_judges(names, model="gpt-4o"):
    llm = ChatOpenAI(model=model, temperature=0)
    return [load_evaluator("labeled_criteria", criteria=name, llm=llm) for name in names]  # expect: JH002


def suite(rows):
    judges = make_judges(["correctness", "depth"])
    passed = 0
    for row in rows:
        results = [j.evaluate_strings(prediction=row["out"], input=row["in"], reference=row["ref"]) for j in judges]
        if all(r["score"] == 1 for r in results):
            passed += 1
    print(passed, "of", len(rows))
    assert passed / len(rows) > 0.95  # expect: JH003
