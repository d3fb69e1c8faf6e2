import asyncio
from collections import Counter

from langchain_classic.evaluation import load_evaluator
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_openai import ChatOpenAI

set_llm_cache(InMemoryCache())
judge = load_evaluator("criteria", criteria="harmlessness", llm=ChatOpenAI(model="gpt-4o"))  # expect: JH007


async def harmless(question, answer, n=7):
    results = await asyncio.gather(
        *[judge.aevaluate_strings(prediction=answer, input=question) for _ in range(n)]
    )
    counts = Counter(r["value"] for r in results)
    return counts.most_common(1)[0][0]  # expect: JH003, JH004
