import os

from google import genai

client = genai.Client(api_key=os.environ["GEMINI_API_KEY"])


def rate_summary(article, summary):
    prompt = (
        "Rate the following summary on a scale of 1 to 10. "
        "Reply with the number only.\n\n"
        f"Article:\n{article}\n\nSummary:\n{summary}"
    )
    response = client.models.generate_content(model="gemini-2.5-flash", contents=prompt)  # expect: JH002
    try:
        return int(response.text.strip())
    except ValueError:
        return 0  # expect: JH012
