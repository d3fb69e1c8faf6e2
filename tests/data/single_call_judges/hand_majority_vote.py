from collections import Counter

from openai import OpenAI

client = OpenAI()
PROMPT = "Compare the two answers to the question and say which one is better. Answer with A or B only.\n\n{}"


def ask_once(text):
    reply = client.responses.create(model="gpt-4o", input=PROMPT.format(text))
    return reply.output_text.strip()


def vote(text, n=5):
    votes = [ask_once(text) for _ in range(n)]
    return Counter(votes).most_common(1)[0][0]  # expect: JH003, JH004
