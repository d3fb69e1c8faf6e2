from openai import OpenAI
from openevals.llm import create_llm_as_judge

from judgeharness_integrations import JudgeHarness
from judgeharness_openevals import harness_judge as wrap

SINGLE = JudgeHarness.single("labels")


def build(prompt):
    return wrap(create_llm_as_judge(prompt=prompt, model="openai:gpt-4o", judge=OpenAI()), SINGLE)


checks = [build(p) for p in ("Is {outputs} polite?", "Is {outputs} true?")]
