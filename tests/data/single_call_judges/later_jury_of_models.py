from collections import Counter
from langchain_openai import ChatOpenAI

graders = [ChatOpenAI(model=m) for m in ("gpt-4o", "gpt-4.1", "o3-mini")]
TEMPLATE = "You are a meticulous grader. Is the answer right? Answer Y or N.\nQ: {q}\nA: {a}"


def jury(q, a):
    ballots = [g.invoke(TEMPLATE.format(q=q, a=a)).content.strip() for g in graders]  # expect: JH002
    return Counter(ballots).most_common(1)[0][0]  # expect: JH003
