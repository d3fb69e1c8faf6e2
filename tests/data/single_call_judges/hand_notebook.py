# %% [markdown]
# # Which prompt is better?

# %%
import json
from openai import OpenAI

client = OpenAI()
rows = [json.loads(line) for line in open("answers.jsonl")]

# %%
judge_system = "You are an expert evaluator. Score the answer from 1 to 5. Only output the score."

# %%
scores = []
for row in rows:
    r = client.chat.completions.create(  # expect: JH002
        model="gpt-4o",
        messages=[{"role": "system", "content": judge_system}, {"role": "user", "content": row["answer"]}],
    )
    scores.append(float(r.choices[0].message.content))

# %%
sum(scores) / len(scores)  # expect: JH003
