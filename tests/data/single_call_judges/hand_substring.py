from langchain_openai import ChatOpenAI

llm = ChatOpenAI(model="gpt-4o-mini")

PROMPT = """Does the answer follow from the context? Reply with PASS or FAIL.

Context: {context}
Answer: {answer}"""


def grounded(context: str, answer: str) -> bool:
    reply = llm.invoke(PROMPT.format(context=context, answer=answer))  # expect: JH002
    return "PASS" in reply.content  # expect: JH006
