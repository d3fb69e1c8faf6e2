import json

from openai import OpenAI

client = OpenAI()


def judge(answer, reference):
    prompt = f"Is the answer correct? Reply in JSON with the key is_correct.\nAnswer: {answer}\nReference: {reference}"
    try:
        raw = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": prompt}])  # expect: JH002
        return bool(json.loads(raw.choices[0].message.content)["is_correct"])
    except Exception:
        return False  # expect: JH012
