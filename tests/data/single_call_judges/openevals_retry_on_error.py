"""A failed call is tried again; a verdict never is."""

import time

from openevals.llm import create_llm_as_judge
from openevals.prompts import SAFETY_PROMPT

judge = create_llm_as_judge(prompt=SAFETY_PROMPT, model="openai:gpt-4o")  # expect: JH002


def safe(text):
    for attempt in range(3):
        try:
            return judge(outputs=text)["score"]
        except TimeoutError:
            time.sleep(2**attempt)
    return None
