import openai
client = openai.OpenAI()

def judge(q, a):
    r = client.chat.completions.create(model="gpt-4o", messages=[  # expect: JH002
        {"role": "user", "content": "Score this answer 1-5, answer only with a digit. Q: %s A: %s" % (q, a)}])
    text = r.choices[0].message.content
    if "5" in text:  # expect: JH006
        return 5
    if "4" in text:
        return 4
    return 1

results = {}
for q, a in [("x", "y")]:
    s = judge(q, a)
    while s < 3:
        s = judge(q, a)  # expect: JH005
    results[q] = s
