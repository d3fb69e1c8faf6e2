"""Judges without a model: what they say depends on the texts they are shown alone."""

from zlib import crc32

from judgeharness_integrations import Criterion, JudgeIdentity, Judgment
from judgeharness_integrations.judging import Answer


def longer(case):
    """Take the longer answer for the better one; a tie where they are equally long."""
    if len(case.output) == len(case.output_b):
        return "TIE"
    return "A" if len(case.output) > len(case.output_b) else "B"


def first(case):
    """Take what is read first, unless the other is much longer."""
    return "B" if len(case.output_b) > 2 * len(case.output) else "A"


def polite(case):
    """Look for polite words; formatted text confuses this judge, and one answer leaves it speechless."""
    if "riddle" in case.output:
        return ""
    kind = any(word in case.output.lower() for word in ("please", "thank", "welcome"))
    if crc32(case.output.encode()) % 5 == 0:
        kind = not kind
    return "PASS" if kind else "FAIL"


def strict(case):
    """Pass what says please, and break on one answer."""
    if "broken" in case.output:
        raise ValueError("nobody home")
    return "PASS" if "please" in case.output.lower() else "FAIL"


def rubrics(case):
    """Answer two questions in one call."""
    return {"tone": "PASS" if "!" not in case.output else "FAIL", "facts": "PASS" if "9" in case.output else "FAIL"}


def points(case):
    """Give one to five points, which formatting moves."""
    return 1 + crc32(case.output.encode()) % 5


def reword(prompt):
    """Put a text in other words; a program that goes on with a run has no need to ask again."""
    return "Thank you for coming at 9, with two coins."


class Careful:
    """A judge that says what it is, so that it is known again whatever file it stands in."""

    name = "careful"
    identity = JudgeIdentity(name="careful", model="rule-4", parameters={"temperature": 0.5}, prompt_hash="0a1b2c3d4e5f")
    criteria = (Criterion(name="verdict", labels=("PASS", "FAIL")),)

    async def judge(self, probe):
        """Answer one probe, and say what it took."""
        verdict = polite(probe.case) or "FAIL"
        evidence = {"model": "rule-4", "input_tokens": len(probe.case.output), "output_tokens": 1}
        return Judgment(answers=(Answer(verdict=verdict, reasoning="it was read twice"),), **evidence)


careful = Careful()
