import ollama


def sentiment(text):
    r = ollama.chat(model="llama3", messages=[{"role": "user", "content": f"Positive or negative? {text}"}])
    return "positive" in r["message"]["content"].lower()


def judge(answer, gold):
    r = ollama.chat(  # expect: JH002
        model="llama3",
        messages=[{"role": "user", "content": f"Grade: is '{answer}' equivalent to '{gold}'? Reply correct/incorrect."}],
    )
    return "incorrect" not in r["message"]["content"].lower()  # expect: JH006
