from collections import Counter

from langchain_openai import ChatOpenAI
from openevals.llm import create_llm_as_judge

MODEL = ChatOpenAI(model="gpt-4o", temperature=0.0)
judge = create_llm_as_judge(prompt="Is this polite?\n{outputs}", judge=MODEL)  # expect: JH008


def polite(text):
    votes = Counter()
    for _ in range(10):
        votes[judge(outputs=text)["score"]] += 1
    print(dict(votes))
    return votes.most_common(1)[0][0]  # expect: JH003
