from openevals.llm import create_llm_as_judge
from openevals.prompts import HALLUCINATION_PROMPT

from judgeharness_integrations import JudgeHarness
from judgeharness_openevals import harness_judge

raw = create_llm_as_judge(prompt=HALLUCINATION_PROMPT, model="openai:gpt-4o")
hallucination = harness_judge(raw, JudgeHarness.standard("labels"))


def rate(rows):
    verdicts = [hallucination(inputs=r["q"], outputs=r["a"], context=r["context"]) for r in rows]
    return sum(v["score"] is True for v in verdicts) / len(verdicts)
