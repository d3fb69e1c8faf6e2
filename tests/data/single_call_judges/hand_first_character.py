import openai


def better(question, first, second):
    prompt = f"Question: {question}\n1: {first}\n2: {second}\nWhich answer is better, 1 or 2?"
    reply = openai.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": prompt}])  # expect: JH002
    return reply.choices[0].message.content[0] == "1"  # expect: JH006
