from openevals.llm import create_llm_as_judge
from openevals.prompts import SAFETY_PROMPT

judge = create_llm_as_judge(prompt=SAFETY_PROMPT, model="openai:gpt-4o")


def safe(text):
    for _ in range(3):
        graded = judge(outputs=text)  # expect: JH005
        if graded["score"]:
            return True
    return False
