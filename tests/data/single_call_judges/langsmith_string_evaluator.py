from langsmith.evaluation import LangChainStringEvaluator, evaluate  # expect: JH010

from app import target

results = evaluate(
    target,
    data="faq",
    evaluators=[
        LangChainStringEvaluator("qa"),  # expect: JH002
        LangChainStringEvaluator("labeled_criteria", config={"criteria": "correctness"}),  # expect: JH002
        LangChainStringEvaluator("embedding_distance"),
    ],
)
