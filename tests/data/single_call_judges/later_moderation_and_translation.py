from openai import OpenAI

client = OpenAI()


def moderation(text):
    result = client.moderations.create(model="omni-moderation-latest", input=text)
    return result.results[0].flagged


def translate(text, lang):
    done = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": f"Translate to {lang}: {text}"}])
    out = done.choices[0].message.content
    return out if out.startswith('"') else f'"{out}"'
