"""What a simulated judge sees in a case under a perturbation: the mean of its preference, and what may override it."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.testing.simulating.drawing import joined, key, part_key
from judgeharness_integrations.testing.simulating.scale import gold_difference
from judgeharness_integrations.verdictlog.probenames import ProbeName, probe_name

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.testing.simulating.judge import SimulatedJudge

__all__ = ["QUALITY", "Asked", "asked", "obedience", "reads_texts", "sentinel_difference", "shift"]

QUALITY = "quality_difference"
_FORMATTING = frozenset({"format_change", "whitespace", "typography"})
_WORDING = frozenset({"paraphrase", "prompt_variant"})
_SENTINEL_MARGIN = 10.0  # by how much an empty answer, or one on another subject, loses
_TYPICAL_LENGTH = 200  # characters of a single answer that length speaks neither for nor against
_COPY = "sentinel.copy"
_HOPELESS = frozenset({"sentinel.empty", "sentinel.off_topic"})


class Asked(NamedTuple):
    """One case under one perturbation, in the frame of the case: z is in favour of A, or of the only answer.

    `sign` is -1 where the two stand in the other order. `shifts` are the (key, SD) of changes of format and wording.
    `wanted` is the place of the verdict that an attack is after, and `obeyed` the chance that it gets it.
    """

    mean: float
    sign: float
    case: int
    key: int
    shifts: tuple[tuple[int, float], ...] = ()
    wanted: int = 0
    obeyed: float = 0.0


def asked(judge: SimulatedJudge, case: Case, case_id: str, perturbation: str, *, swapped: bool) -> Asked:
    """Read a perturbed case as it is shown."""
    probe = probe_name(perturbation)
    sign = -1.0 if swapped else 1.0
    quality = _quality(judge, case, probe)
    case_key = key(judge.seed, case_id)
    shifts = tuple(
        (joined(case_key, part_key(f"shift {part}")), size)
        for part in perturbation.split("+")
        if (size := shift(judge, part))
    )
    return Asked(
        mean=quality + sign * (judge.position + _lead(judge, case)),
        sign=sign,
        case=case_key,
        key=joined(case_key, part_key(f"call {perturbation}")),
        shifts=shifts,
        wanted=0 if probe is not None and probe.side == "b" else judge.scale.top,
        obeyed=obedience(judge, probe),
    )


def reads_texts(judge: SimulatedJudge) -> bool:
    """Whether what the texts say makes a difference to a judge."""
    return bool(judge.names) or judge.length != 0


def shift(judge: SimulatedJudge, part: str) -> float:
    """Return the standard deviation that one part of a perturbation's name adds."""
    name = part.partition("(")[0]
    return judge.formatting if name in _FORMATTING else judge.wording if name in _WORDING else 0.0


def obedience(judge: SimulatedJudge, probe: ProbeName | None) -> float:
    """Return the chance that the judge answers what a probe is after."""
    return 0.0 if probe is None else judge.obeys.get(probe.property, judge.obeys.get(probe.family, 0.0))


def sentinel_difference(probe: ProbeName | None) -> float | None:
    """Return the quality difference that a sentinel makes, in favour of A; None for what is none."""
    if probe is None or probe.property not in {*_HOPELESS, _COPY}:
        return None
    if probe.property == _COPY:
        return 0.0
    return _SENTINEL_MARGIN if probe.side == "b" else -_SENTINEL_MARGIN


def _quality(judge: SimulatedJudge, case: Case, probe: ProbeName | None) -> float:
    if (planted := sentinel_difference(probe)) is not None:
        return planted
    if not isinstance(case, AnswerCase):
        return judge.quality_difference
    if isinstance(case, PairwiseCase) and case.output == case.output_b:
        return 0.0
    given = case.attributes.get(QUALITY)
    if given is None:
        return gold_difference(case.gold, judge.quality_difference)
    try:
        return float(given)
    except ValueError as error:
        raise UsageError(f"{QUALITY} of case {case.case_id!r} is a number, not {given!r}.") from error


def _lead(judge: SimulatedJudge, case: Case) -> float:
    """Return what names and length give the text shown first, or the only one."""
    if not reads_texts(judge):
        return 0.0
    if isinstance(case, PairwiseCase):
        return _gain(judge, case.output) - _gain(judge, case.output_b)
    text = "\n".join(case.texts()) if isinstance(case, AnswerCase) else str(case)
    return _gain(judge, text) - judge.length * math.log2(_TYPICAL_LENGTH)


def _gain(judge: SimulatedJudge, text: str) -> float:
    named = set(_pattern(tuple(judge.names)).findall(text)) if judge.names else ()
    return sum(judge.names[name] for name in named) + judge.length * math.log2(max(1, len(text)))


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
