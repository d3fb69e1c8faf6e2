import pytest
from openevals import create_llm_as_judge

@pytest.fixture
def helpful():
    return create_llm_as_judge(prompt="Is {outputs} helpful for {inputs}?", model="openai:gpt-4o", continuous=True)  # expect: JH002

@pytest.mark.parametrize("case", range(10))
def test_helpful(helpful, case, bot):
    q = f"question {case}"
    scores = [helpful(inputs=q, outputs=bot(q))["score"] for _ in range(3)]
    assert sum(scores) / 3 > 0.7  # expect: JH003, JH013
