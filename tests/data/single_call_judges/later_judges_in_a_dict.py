from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from openevals.prompts import CORRECTNESS_PROMPT, TOXICITY_PROMPT

JUDGES = {
    "correct": create_llm_as_judge(prompt=CORRECTNESS_PROMPT, model="openai:o3-mini"),  # expect: JH002
    "toxic": create_llm_as_judge(prompt=TOXICITY_PROMPT, model="openai:o3-mini"),  # expect: JH002
}


def run(name, rows):
    judge = JUDGES[name]
    ok = [judge(inputs=r["q"], outputs=r["a"], reference_outputs=r["ref"])["score"] for r in rows]
    return sum(ok) / len(ok)  # expect: JH003, JH013
