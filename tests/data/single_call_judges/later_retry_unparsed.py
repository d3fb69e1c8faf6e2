import google.generativeai as genai

model = genai.GenerativeModel("gemini-1.5-pro")


def which(prompt, a, b, retries=3):
    text = f"Two replies to the same prompt.\nPrompt: {prompt}\nA: {a}\nB: {b}\nWhich reply is better? Answer A, B or tie."
    for _ in range(retries):
        try:
            answer = model.generate_content(text).text.strip().upper()  # expect: JH002
            if answer in {"A", "B", "TIE"}:
                return answer
        except Exception as error:
            print("retrying", error)
    return "TIE"
