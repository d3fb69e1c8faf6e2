import os
from openai import AzureOpenAI

from prompts import JUDGE_PROMPT

azure = AzureOpenAI(api_key=os.environ["KEY"])


class Judge:
    def __init__(self, deployment):
        self.deployment = deployment

    def _complete(self, messages):
        return azure.chat.completions.create(model=self.deployment, messages=messages, temperature=0.0).choices[0].message.content

    def score(self, question, answer):
        messages = [{"role": "system", "content": JUDGE_PROMPT}]
        messages.append({"role": "user", "content": f"{question}\n---\n{answer}"})
        text = self._complete(messages)  # expect: JH002
        try:
            return float(text)
        except ValueError:
            return None
