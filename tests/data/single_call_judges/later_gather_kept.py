import asyncio
from statistics import mean, stdev

from openai import AsyncOpenAI

client = AsyncOpenAI()
SYS = "Rate how well the summary covers the document from 0 to 10. Only answer with the number."


async def one(doc, summary):
    r = await client.chat.completions.create(
        model="gpt-4o-mini", temperature=0.7,
        messages=[{"role": "system", "content": SYS}, {"role": "user", "content": f"{doc}\n\n{summary}"}],
    )
    return float(r.choices[0].message.content)


async def rate(doc, summary, k=8):
    values = await asyncio.gather(*(one(doc, summary) for _ in range(k)))
    return {"mean": mean(values), "sd": stdev(values), "values": values}  # expect: JH003
