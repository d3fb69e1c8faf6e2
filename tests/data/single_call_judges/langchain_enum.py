from langchain_anthropic import ChatAnthropic
from langchain_classic.evaluation import EvaluatorType, load_evaluator

KIND = EvaluatorType.LABELED_SCORE_STRING
scorer = load_evaluator(  # expect: JH002
    KIND,
    llm=ChatAnthropic(model="claude-sonnet-4-5"),  # the judge
    criteria={"helpfulness": "Is the answer helpful to a beginner?"},
    normalize_by=10,
)


async def helpfulness(question, answer, reference):
    graded = await scorer.aevaluate_strings(prediction=answer, input=question, reference=reference)
    return graded["score"]
