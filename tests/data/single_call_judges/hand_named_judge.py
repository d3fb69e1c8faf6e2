"""The judge is a person of the novel, and the model writes."""

from openai import OpenAI

client = OpenAI()


def judge(character):
    reply = client.responses.create(model="gpt-4o", input=f"Continue the dialogue. {character} says:")
    return reply.output_text


def play(characters):
    return "\n".join(judge(one) for one in characters)
