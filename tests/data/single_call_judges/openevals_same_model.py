from openai import OpenAI
from openevals.llm import create_llm_as_judge
from openevals.prompts import HELPFULNESS_PROMPT

client = OpenAI()
MODEL = "gpt-4o"
judge = create_llm_as_judge(prompt=HELPFULNESS_PROMPT, model=MODEL, judge=client)  # expect: JH002, JH009


def run(question):
    draft = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": question}])
    text = draft.choices[0].message.content
    return judge(inputs=question, outputs=text)
