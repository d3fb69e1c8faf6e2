from openai import OpenAI

client = OpenAI()


def ask(prompt, temperature=1.0):
    return client.responses.create(model="gpt-4o", input=prompt, temperature=temperature).output_text


def brainstorm(topic):
    ideas = ask(f"Give ten ideas about {topic}", temperature=1.2).splitlines()
    best = max(ideas, key=lambda idea: rank(idea, topic))
    return best


def rank(idea, topic):
    answer = ask(f"On a scale of 1 to 10, how good is this idea for {topic}? Number only.\n{idea}", temperature=0)  # expect: JH002  # missed: JH009
    try:
        return int(answer)
    except ValueError:
        return 5  # expect: JH012
