import asyncio

from openai import AsyncOpenAI

client = AsyncOpenAI()


async def verdict(prompt):
    r = await client.chat.completions.create(
        model="gpt-4o",
        messages=[
            {"role": "system", "content": "You are a judge. Answer with exactly one word: good or bad."},
            {"role": "user", "content": prompt},
        ],
    )
    return r.choices[0].message.content.strip().lower()


async def panel(prompt):
    votes = await asyncio.gather(*[verdict(prompt) for _ in range(3)])
    return max(set(votes), key=votes.count)  # expect: JH003, JH004
