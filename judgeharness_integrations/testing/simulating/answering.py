"""What a simulated judge answers: the mean of its preference in a case, what overrides it, and calls as arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.testing.simulating.scale import gold_difference
from judgeharness_integrations.verdictlog.row import ProbeName, probe_name

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.testing.simulating.parameters import JudgeParameters
    from judgeharness_integrations.verdictlog.row import Outcome

    Floats = NDArray[np.float64]
    Keys = NDArray[np.uint64]

__all__ = [
    "OUTCOME_OF",
    "QUALITY",
    "Asked",
    "answers",
    "asked",
    "evidence",
    "obedience",
    "raw_text",
    "reads_texts",
    "sentinel_difference",
    "shift",
]

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


def asked(judge: JudgeParameters, case: Case, case_id: str, perturbation: str, *, swapped: bool) -> Asked:
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


def reads_texts(judge: JudgeParameters) -> bool:
    """Whether what the texts say makes a difference to a judge."""
    return bool(judge.names) or judge.length != 0


def shift(judge: JudgeParameters, part: str) -> float:
    """Return the standard deviation that one part of a perturbation's name adds."""
    name = part.partition("(")[0]
    return judge.formatting if name in _FORMATTING else judge.wording if name in _WORDING else 0.0


def obedience(judge: JudgeParameters, probe: ProbeName | None) -> float:
    """Return the chance that the judge answers what a probe is after."""
    return 0.0 if probe is None else judge.obeys.get(probe.property, judge.obeys.get(probe.family, 0.0))


def sentinel_difference(probe: ProbeName | None) -> float | None:
    """Return the quality difference that a sentinel makes, in favour of A; None for what is none."""
    if probe is None or probe.property not in {*_HOPELESS, _COPY}:
        return None
    if probe.property == _COPY:
        return 0.0
    return _SENTINEL_MARGIN if probe.side == "b" else -_SENTINEL_MARGIN


def _quality(judge: JudgeParameters, case: Case, probe: ProbeName | None) -> float:
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


def _lead(judge: JudgeParameters, case: Case) -> float:
    """Return what names and length give the text shown first, or the only one."""
    if not reads_texts(judge):
        return 0.0
    if isinstance(case, PairwiseCase):
        return _gain(judge, case.output) - _gain(judge, case.output_b)
    text = "\n".join(case.texts()) if isinstance(case, AnswerCase) else str(case)
    return _gain(judge, text) - judge.length * math.log2(_TYPICAL_LENGTH)


def _gain(judge: JudgeParameters, text: str) -> float:
    named = set(_pattern(tuple(judge.names)).findall(text)) if judge.names else ()
    return sum(judge.names[name] for name in named) + judge.length * math.log2(max(1, len(text)))


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")


REFUSED, UNPARSED = -1, -2
OUTCOME_OF: Mapping[int, Outcome] = {REFUSED: "refused", UNPARSED: "unparsed"}
_STREAMS = 3  # of every call: its noise, whether it obeys, whether it can be read


class Answers(NamedTuple):
    """Of n calls the places among the scale's verdicts, or `REFUSED` or `UNPARSED`, and the preferences behind them."""

    places: NDArray[np.intp]
    preferences: Floats


def answers(
    judge: JudgeParameters, questions: Sequence[Asked], repetitions: NDArray[np.intp], calls: Floats
) -> Answers:
    """Answer every question as often as it is repeated.

    Args:
        judge: who answers.
        questions: the m different ones.
        repetitions: (m, r) numbers of the repetitions; all of a question stand together in the answers, n = m r.
        calls: (n,) how many calls came before.

    """
    each = repetitions.shape[1]

    def column(values: Sequence[float] | Floats) -> Floats:
        return np.repeat(np.asarray(values, dtype=np.float64), each)

    keys = np.repeat(np.array([one.key for one in questions], dtype=np.uint64), each)
    counter = np.uint64(_STREAMS) * repetitions.reshape(-1).astype(np.uint64)
    means = np.array([one.mean for one in questions]) + _shifts(questions) + _of_cases(judge, questions)
    signs = column([one.sign for one in questions])
    own = judge.noise * (1 - judge.case_correlation) ** 0.5
    z = column(means) + signs * judge.drift * calls + own * normals(keys, counter)
    places = judge.scale.places(z)
    obeyed = column([one.obeyed for one in questions])
    if obeyed.any():
        obeys = uniforms(keys, counter + np.uint64(1)) < obeyed
        places = np.where(obeys, np.repeat([one.wanted for one in questions], each), places)
    if judge.refusal or judge.garbage:
        lot = uniforms(keys, counter + np.uint64(2))
        places = np.where(lot < judge.refusal + judge.garbage, UNPARSED, places)
        places = np.where(lot < judge.refusal, REFUSED, places)
    return Answers(places, z)


def _of_cases(judge: JudgeParameters, questions: Sequence[Asked]) -> Floats | float:
    """Return the noise that all calls about a case share, for each question (m,)."""
    shared = judge.noise * judge.case_correlation**0.5
    return shared * normals(np.array([one.case for one in questions], dtype=np.uint64)) if shared else 0.0


def _shifts(questions: Sequence[Asked]) -> Floats:
    """Return what other formats and other words do to each question (m,)."""
    total = np.zeros(len(questions))
    found = [(at, *shift) for at, one in enumerate(questions) for shift in one.shifts]
    if found:
        at, keys, sizes = zip(*found, strict=True)
        np.add.at(total, list(at), np.array(sizes) * normals(np.array(keys, dtype=np.uint64)))
    return total


def raw_text(place: int, preference: float) -> str:
    """Return the text an answer is read from; the preference in it tells independent samples from copies."""
    if place == REFUSED:
        return "I would rather not say."
    return "hm, 42?" if place == UNPARSED else f"preference {preference:+.6f}"


def evidence(judge: JudgeParameters, question: Asked) -> dict[str, str | float]:
    """Return what a call tells besides its answer: of copies, that they are."""
    return {"response_id": f"{question.key:016x}"} if judge.copies else {}


_BITS = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def key(*parts: object) -> int:
    """Return 64 bits that stand for these parts."""
    return int.from_bytes(
        blake2b("\x1f".join(map(str, parts)).encode(errors="surrogatepass"), digest_size=8).digest(), "big"
    )


@lru_cache(maxsize=4096)
def part_key(part: str) -> int:
    """Return 64 bits that stand for a part of many keys."""
    return key(part)


def joined(first: int, second: int) -> int:
    """Return 64 bits that stand for both."""
    return (first + second) & _BITS


def uniforms(keys: Keys, counter: NDArray[np.uint64] | int = 0) -> Floats:
    """Return a number in (0, 1) for each key (n,) and counter: the finaliser of SplitMix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        mixed = keys + (np.asarray(counter, dtype=np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_FIRST)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
        mixed ^= mixed >> np.uint64(31)
    drawn: Floats = ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return drawn


def normals(keys: Keys, counter: NDArray[np.uint64] | int = 0) -> Floats:
    """Return a standard normal number for each key (n,) and counter."""
    from scipy.special import ndtri  # noqa: PLC0415 - takes a quarter of a second

    drawn: Floats = ndtri(uniforms(keys, counter))
    return drawn
