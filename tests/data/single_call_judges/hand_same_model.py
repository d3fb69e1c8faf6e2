from openai import OpenAI

client = OpenAI()
MODEL = "gpt-4o"


def chat(system, user):
    done = client.chat.completions.create(
        model=MODEL, messages=[{"role": "system", "content": system}, {"role": "user", "content": user}]
    )
    return done.choices[0].message.content


def write(topic):
    return chat("You are a novelist.", f"Write a short story about {topic}.")


def grade(story):
    text = chat("You grade short stories. Reply with a number from 1 to 10.", story)  # expect: JH002, JH009
    return int(text)


def run(topics):
    return {topic: grade(write(topic)) for topic in topics}
