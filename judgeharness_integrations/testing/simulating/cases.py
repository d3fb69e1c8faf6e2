"""Cases for simulated judges: their texts hold what perturbations change, their gold labels what is true."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.testing.simulating.answering import KINDS, QUALITY, Kind, scale_of

_PEOPLE = ("Ada", "Ben")
_TASKS = ("water the garden", "label the boxes", "sort the post", "mend the gate", "count the chairs", "air the rooms")
_REMARKS = (
    "The work is best begun before noon.",
    "Nothing has to be bought for it.",
    "Two people are enough.",
    "A list on the door says what is done.",
    "Rain does not matter here.",
    "The key hangs beside the stairs.",
)


def simulated_cases(
    n: int, *, quality_difference: float = 1.0, kind: Kind = "pairwise", seed: int = 0
) -> list[AnswerCase]:
    """Return n cases of which every other one, in a random order, is better the other way round.

    The texts of a pair differ in length, hold some Markdown and mention one of two people each, Ada and Ben, so that
    every perturbation fits. The attribute `quality_difference` is the truth, positive in favour of A (or of PASS, or of
    a higher score); the gold label is what a judge without noise or bias says.

    Args:
        n: how many.
        quality_difference: how much better the better answer is, or how far a single one lies from the middle.
        kind: `pairwise` for `PairwiseCase`, `graded` or `scores` for `AnswerCase`.
        seed: of the order and the texts.

    Raises:
        UsageError: `n` is negative, or there is no such kind.

    """
    if n < 0 or kind not in KINDS:
        raise UsageError(f"{n} cases of kind {kind!r} cannot be made: give n from 0 and one of {', '.join(KINDS)}.")
    source = random.Random(f"{seed}|simulated cases")  # noqa: S311 - a simulation, not a secret
    signs = [1.0 if number % 2 == 0 else -1.0 for number in range(n)]
    source.shuffle(signs)
    return [_case(number, sign * quality_difference, kind, source) for number, sign in enumerate(signs)]


def _case(number: int, difference: float, kind: Kind, source: random.Random) -> AnswerCase:
    task = source.choice(_TASKS)
    people = source.sample(_PEOPLE, 2)
    # no two ask the same: copies of a case would be one cluster
    case_id, question = (
        f"case-{number:05}",
        f"Who should {task} in week {number + 1}, {people[0]} or {people[1]}, and how?",
    )
    gold, attributes = _gold(difference, kind), {QUALITY: difference}
    first, second = (_answer(person, task, source) for person in people)
    if kind == "pairwise":
        return PairwiseCase(
            case_id=case_id,
            input=question,
            output=first,
            output_b=second,
            names=_PEOPLE,
            gold=gold,
            attributes=attributes,
        )
    return AnswerCase(case_id=case_id, input=question, output=first, names=_PEOPLE, gold=gold, attributes=attributes)


def _gold(difference: float, kind: Kind) -> str | int:
    scale = scale_of(kind, 0.0)
    return scale.verdicts[int(scale.places(np.array([difference]))[0])]


def _answer(person: str, task: str, source: random.Random) -> str:
    remarks: Sequence[str] = source.sample(_REMARKS, source.randint(1, 4))
    return "\n".join([f"**{person}** should {task}: it's {person}'s turn.", "", *(f"- {remark}" for remark in remarks)])
