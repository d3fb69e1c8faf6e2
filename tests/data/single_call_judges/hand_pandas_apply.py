import pandas as pd
from openai import OpenAI

client = OpenAI()
GRADER = "You are a grader. Answer 1 if the answer is supported by the source, else 0.\n\n{source}\n\n{answer}"


def supported(row):
    reply = client.responses.create(model="gpt-4o", input=GRADER.format(source=row.source, answer=row.answer))  # expect: JH002
    return int(reply.output_text)


def table(path):
    frame = pd.read_csv(path)
    frame["supported"] = frame.apply(supported, axis=1)
    print("supported:", frame["supported"].mean())  # expect: JH003
    return frame
