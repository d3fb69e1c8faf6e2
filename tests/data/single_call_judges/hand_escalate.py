"""A cheap judge first; where it is unsure a stronger one decides. Two judges, one call each."""

from openai import OpenAI

client = OpenAI()
SYSTEM = "You evaluate customer answers. Reply with exactly one of: good, bad, unsure."


def cheap(text):
    r = client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}])  # expect: JH002
    return r.choices[0].message.content.strip()


def strong(text):
    r = client.chat.completions.create(model="gpt-4.1", messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}])  # expect: JH002
    return r.choices[0].message.content.strip()


def verdict(text):
    first = cheap(text)
    if first == "unsure":
        return strong(text)
    return first == "good"
