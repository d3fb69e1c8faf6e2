"""A classifier that picks a tool. It routes; it does not judge an answer."""

from openai import OpenAI

client = OpenAI()


def route(message):
    reply = client.responses.create(
        model="gpt-4o-mini",
        input=f"Which department should handle this message: billing, shipping or other?\n\n{message}",
    )
    text = reply.output_text.lower()
    return "billing" if "billing" in text else "shipping" if "shipping" in text else "other"
