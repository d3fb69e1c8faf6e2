"""A judge that takes its time and counts tokens, as one behind an API does."""

import asyncio
import random

from judgeharness_integrations.judging import Answer, JudgeIdentity, Judgment, Probe
from judgeharness_integrations.judging.cases import PairwiseCase

LATENCY_S = 0.02
IN_DOUBT_FIRST = 0.7


class HouseJudge:
    """Prefers the answer that repeats a word of the question; when in doubt, the first one it reads."""

    name = "house"
    identity = JudgeIdentity(name="house", model="house-1")
    criteria = None

    async def judge(self, probe: Probe) -> Judgment:
        """Answer one probe, after a while."""
        case = probe.case
        if not isinstance(case, PairwiseCase):
            raise TypeError("the house compares two answers")
        await asyncio.sleep(LATENCY_S)
        asked = set((case.input or "").lower().split())
        shared = [len(asked & set(text.lower().split())) for text in case.texts()]
        if shared[0] == shared[1]:
            noise = random.Random(f"{probe.case_id} {probe.perturbation.name} {probe.repetition}")  # noqa: S311
            verdict = "A" if noise.random() < IN_DOUBT_FIRST else "B"
        else:
            verdict = "A" if shared[0] > shared[1] else "B"
        words = sum(len(text.split()) for text in case.all_texts())
        return Judgment(answers=(Answer(verdict=verdict),), input_tokens=24 + words, output_tokens=1)


judge = HouseJudge()
