from openai import OpenAI

client = OpenAI()


def compare(prompt, a, b):
    judged = client.chat.completions.create(  # expect: JH002
        model="gpt-4o",
        messages=[
            {"role": "system", "content": "You compare two answers and say which is better: first, second or tie."},
            {"role": "user", "content": f"{prompt}\n\nfirst: {a}\n\nsecond: {b}"},
        ],
    )
    word = judged.choices[0].message.content.strip().lower()
    if word == "first":
        return "A"
    elif word == "second":
        return "B"
    return "TIE"
