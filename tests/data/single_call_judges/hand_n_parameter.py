from openai import OpenAI

client = OpenAI()


def correct(question, answer, reference):
    """Five samples in one request; more than half must say yes."""
    response = client.chat.completions.create(
        model="gpt-4o-mini",
        n=5,
        messages=[
            {
                "role": "user",
                "content": f"Grade the answer. Question: {question} Reference: {reference} Answer: {answer}\nSay yes or no.",
            }
        ],
    )
    yes = sum(choice.message.content.strip().lower() == "yes" for choice in response.choices)
    return yes > 2  # expect: JH003, JH004
