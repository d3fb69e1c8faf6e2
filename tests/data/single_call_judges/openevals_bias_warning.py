from openevals.llm import create_llm_as_judge

PAIRWISE = """You are an impartial judge. Two assistants answered the same question.

Question: {inputs}
Assistant A: {outputs}
Assistant B: {other}

Avoid any position biases and make sure that the order in which the answers were presented does not influence you.
Which one is better?"""

judge = create_llm_as_judge(prompt=PAIRWISE, model="openai:gpt-4o", choices=[0.0, 1.0])  # expect: JH001, JH002


def prefer(question, a, b):
    return judge(inputs=question, outputs=a, other=b)["score"]
