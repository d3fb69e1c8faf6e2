try:
    from langchain.evaluation import load_evaluator  # expect: JH010
except ImportError:
    from langchain_classic.evaluation import load_evaluator

from app.models import judge_model


def make(strict=False):
    if strict:
        return load_evaluator("labeled_criteria", criteria="correctness", llm=judge_model())  # expect: JH002
    return load_evaluator("exact_match")
