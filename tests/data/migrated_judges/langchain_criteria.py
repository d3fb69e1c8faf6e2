"""Criteria and correctness, loaded when they are needed and asked with `await`."""

import asyncio
import json

MODEL = "langchain-criteria"


def judges():
    from langchain_classic.evaluation import EvaluatorType, load_evaluator, load_evaluators
    from langchain_openai import ChatOpenAI

    llm = ChatOpenAI(model=MODEL, max_retries=0)
    concise = load_evaluator("criteria", criteria="conciseness", llm=llm)
    return [concise, *load_evaluators([EvaluatorType.QA, EvaluatorType.LABELED_CRITERIA], llm=llm)]


async def main():
    found = []
    for judge in judges():
        for text in ("Paris.", "It is, as far as anybody can tell, the city of Paris."):
            given = {"reference": "Paris"} if judge.requires_reference else {}
            answer = await judge.aevaluate_strings(input="Capital of France?", prediction=text, **given)
            found.append([answer["value"], answer["score"]])
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
