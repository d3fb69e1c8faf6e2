from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

PROMPT = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "You are a fair judge. Do not favor longer responses and ignore the order in which the two are shown.",
        ),
        ("user", "Response 1: {one}\nResponse 2: {two}\nWhich one is better?"),
    ]
)


class Choice(BaseModel):
    winner: int


chain = PROMPT | ChatOpenAI(model="gpt-4o").with_structured_output(Choice)


def choose(pairs):
    wins = [0, 0]
    for one, two in pairs:
        choice = chain.invoke({"one": one, "two": two})  # expect: JH001, JH002
        wins[choice.winner - 1] += 1
    return wins[0] / len(pairs)  # expect: JH003
