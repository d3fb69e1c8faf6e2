"""Generates questions and cuts them apart with a regular expression; nothing is judged."""

import re

from openai import OpenAI

client = OpenAI()


def questions(topic, n):
    reply = client.responses.create(model="gpt-4o", input=f"Write {n} quiz questions about {topic}, numbered.")
    return re.findall(r"^\d+\.\s*(.+)$", reply.output_text, re.MULTILINE)
