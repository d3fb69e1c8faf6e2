import statistics

import openevals

RUBRIC = """You grade a poem. Rate its rhythm from 0 to 1.

<poem>{outputs}</poem>"""

rhythm = openevals.create_llm_as_judge(prompt=RUBRIC, model="openai:gpt-4o", choices=[0.0, 0.5, 1.0])


def score(poem):
    scores = [rhythm(outputs=poem)["score"] for _ in range(3)]
    return statistics.median(scores)  # expect: JH003, JH004, JH013
