from langsmith import Client, aevaluate
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(model="gpt-4o", temperature=0)
INSTRUCTIONS = "Grade the student answer against the reference. Respond with CORRECT or INCORRECT."


async def correctness(inputs, outputs, reference_outputs):
    msg = await llm.ainvoke([  # expect: JH002
        ("system", INSTRUCTIONS),
        ("user", f"{inputs} {outputs} {reference_outputs}"),
    ])
    return {"key": "correct", "score": "CORRECT" in msg.content}  # expect: JH006


async def main(target):
    await aevaluate(target, data="qa", evaluators=[correctness], num_repetitions=3)
