import json

import litellm

SYSTEM = "You are a strict grader. Return a JSON object with the keys `reasoning` and `verdict` (correct or incorrect)."


async def grade(question: str, answer: str, reference: str, model: str = "gpt-4o") -> bool:
    response = await litellm.acompletion(  # expect: JH002
        model=model,
        messages=[
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"Q: {question}\nExpected: {reference}\nGot: {answer}"},
        ],
    )
    data = json.loads(response.choices[0].message.content)
    return data["verdict"] == "correct"
