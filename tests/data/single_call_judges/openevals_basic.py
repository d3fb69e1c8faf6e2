from openevals.llm import create_llm_as_judge
from openevals.prompts import CORRECTNESS_PROMPT

correctness = create_llm_as_judge(  # expect: JH002
    prompt=CORRECTNESS_PROMPT,
    model="openai:o3-mini",
    feedback_key="correctness",
)


def test_capital():
    graded = correctness(inputs="Capital of France?", outputs="Paris", reference_outputs="Paris")
    assert graded["score"]
