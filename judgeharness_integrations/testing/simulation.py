"""How a simulated judge answers, and cases as it is shown them, remembered: replicates ask about the same ones."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.statistics import within
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase, case_id_of
from judgeharness_integrations.judging.execution.preparing import CaseFacts
from judgeharness_integrations.judging.perturbations import Context, Perturbation, Rewriter, perturbation
from judgeharness_integrations.verdictlog.row import Outcome, ProbeName, Side, Verdict, is_probe, probe_name

if TYPE_CHECKING:
    from judgeharness_integrations.judging.probes import AdversarialProbe

    Floats = NDArray[np.float64]
    Keys = NDArray[np.uint64]

_T = TypeVar("_T")
_MOST = 20_000
_OTHER_WORDS = ("Say what you think of it.",) * 9  # of prompt_variant(1) to (9); nobody reads them
_FORMATS = frozenset(
    {"none", "position_swap", "format_change", "whitespace", "typography", "name_swap", "slot_names", "prompt_variant"}
)


class _Same:
    """A case as a key: the object itself, since its attributes cannot be hashed."""

    __slots__ = ("case",)

    def __init__(self, case: Case) -> None:
        self.case = case

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.case is other.case

    def __hash__(self) -> int:
        return id(self.case)


@dataclass(frozen=True, slots=True)
class Known:
    """A case and what all its rows repeat; `alike`: its answers differ in formatting alone, and may become equal."""

    case: Case
    case_id: str
    facts: CaseFacts
    alike: bool


def known(case: Case) -> Known:
    """Return a case with what all its rows repeat."""
    return _known(_Same(case))


def changed_case(one: Known, change: Perturbation, *, seed: int, reads_texts: bool) -> Case | None:
    """Return a case under a perturbation, None where that does not fit; the texts stay where nobody would notice.

    Raises:
        UsageError: the perturbation waits for something.

    """
    noticed = reads_texts or one.alike or not _is_format(change.name)
    return _changed_case(_Same(one.case), change, seed if noticed else None)


@lru_cache(maxsize=1024)
def named(name: str) -> Perturbation:
    """Return the perturbation of a name, always the same object; a rewriter gives back what it is given.

    Raises:
        UnknownNameError: there is none.

    """
    return perturbation(name, rewriter=_as_it_is, instructions=_OTHER_WORDS)


@lru_cache(maxsize=1024)
def on_side(probe: AdversarialProbe, side: Side | None) -> Perturbation:
    """Return a probe on one side, always the same object."""
    return probe.on(side)


@lru_cache(maxsize=_MOST)
def _known(same: _Same) -> Known:
    case = same.case
    return Known(case, case_id_of(case), CaseFacts.of(case), _same_letters(case))


@lru_cache(maxsize=_MOST)
def _changed_case(same: _Same, change: Perturbation, seed: int | None) -> Case | None:
    if change.fits(same.case):
        return None
    if seed is None:
        return same.case
    source = random.Random(f"{seed}|{case_id_of(same.case)}|{change.name}")  # noqa: S311 - as a harness draws it
    return _at_once(change.applied(same.case, Context(random=source, rewrite=_rewritten)), change.name)


def _same_letters(case: Case) -> bool:
    if not isinstance(case, PairwiseCase):
        return False
    first, second = ([mark for mark in text if mark.isalnum()] for text in case.texts())
    return first == second


def _is_format(name: str) -> bool:
    """Whether a perturbation cannot make two answers equal that differ in more than formatting."""
    return all(part.partition("(")[0] in _FORMATS or is_probe(part) for part in name.split("+"))


def _at_once(work: Awaitable[_T], name: str) -> _T:
    """Run a coroutine that waits for nothing."""
    steps: Any = work.__await__()
    try:
        next(steps)
    except StopIteration as done:
        result: _T = done.value
        return result
    steps.close()
    raise UsageError(f"perturbation {name!r} waits for something: ask the judge through JudgeHarness.")


async def _rewritten(rewriter: Rewriter, text: str) -> str:
    reworded = rewriter(text)
    return reworded if isinstance(reworded, str) else await reworded


def _as_it_is(text: str) -> str:
    return text


Kind: TypeAlias = Literal["pairwise", "graded", "scores"]
KINDS: tuple[Kind, ...] = ("pairwise", "graded", "scores")

_CENTER, _SLOPE = 5.5, 2.0  # a score is 5.5 + 2 z, rounded, from 1 to 10
_LOWEST, _HIGHEST = 1, 10


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Verdicts from the worst for A (or for the only answer) to the best, and the edges of z between them.

    A preference is above an edge when it is greater, at a `closed` one also when it is equal.
    """

    verdicts: tuple[str | int, ...]
    edges: tuple[float, ...]
    closed: tuple[bool, ...]
    criterion: Criterion

    def places(self, preference: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the place among `verdicts` of each preference (n,)."""
        found = np.zeros(len(preference), dtype=np.intp)
        for edge, closed in zip(self.edges, self.closed, strict=True):
            found += preference >= edge if closed else preference > edge
        return found

    @property
    def top(self) -> int:
        """The place of the best verdict."""
        return len(self.verdicts) - 1


def scale_of(kind: Kind, ties: float) -> Scale:
    """Return the scale of a kind of judge; `ties` is half the width of the band in which a pair ties."""
    if kind == "pairwise":
        return Scale(
            verdicts=("B", "TIE", "A"),
            edges=(-ties, ties),
            closed=(True, False),
            criterion=Criterion(name="verdict", labels=("A", "B", "TIE")),
        )
    if kind == "graded":
        return Scale(
            verdicts=("FAIL", "PASS"),
            edges=(0.0,),
            closed=(False,),
            criterion=Criterion(name="verdict", labels=("PASS", "FAIL")),
        )
    scores = tuple(range(_LOWEST, _HIGHEST + 1))
    return Scale(
        verdicts=scores,
        edges=tuple((score - 0.5 - _CENTER) / _SLOPE for score in scores[1:]),
        closed=(True,) * (len(scores) - 1),
        criterion=Criterion(name="verdict", scale=(_LOWEST, _HIGHEST)),
    )


_SIGNS: Mapping[object, float] = {"A": 1.0, "PASS": 1.0, "B": -1.0, "FAIL": -1.0, "TIE": 0.0}


def gold_difference(gold: object, default: float) -> float:
    """Return the quality difference a gold label stands for: the default with its sign; of a score its place."""
    if isinstance(gold, Mapping):
        gold = gold.get("verdict")
    if isinstance(gold, (int, float)) and not isinstance(gold, bool):
        return (gold - _CENTER) / _SLOPE
    return default * _SIGNS.get(gold, 1.0) if isinstance(gold, str) else default


def same(one: Verdict, other: Verdict, tolerance: float) -> bool:
    """Whether two verdicts count as the same: scores within a tolerance do."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return within(one, other, tolerance)
    return one == other


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

    keys = np.repeat(np.array([question.key for question in questions], dtype=np.uint64), each)
    counter = np.uint64(_STREAMS) * repetitions.reshape(-1).astype(np.uint64)
    means = np.array([question.mean for question in questions]) + _shifts(questions) + _of_cases(judge, questions)
    signs = column([question.sign for question in questions])
    own = judge.noise * (1 - judge.case_correlation) ** 0.5
    z = column(means) + signs * judge.drift * calls + own * normals(keys, counter)
    places = judge.scale.places(z)
    obeyed = column([question.obeyed for question in questions])
    if obeyed.any():
        obeys = uniforms(keys, counter + np.uint64(1)) < obeyed
        places = np.where(obeys, np.repeat([question.wanted for question in questions], each), places)
    if judge.refusal or judge.garbage:
        lot = uniforms(keys, counter + np.uint64(2))
        places = np.where(lot < judge.refusal + judge.garbage, UNPARSED, places)
        places = np.where(lot < judge.refusal, REFUSED, places)
    return Answers(places, z)


def _of_cases(judge: JudgeParameters, questions: Sequence[Asked]) -> Floats | float:
    """Return the noise that all calls about a case share, for each question (m,)."""
    shared = judge.noise * judge.case_correlation**0.5
    return shared * normals(np.array([question.case for question in questions], dtype=np.uint64)) if shared else 0.0


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


_SHARES = ("case_correlation", "refusal", "garbage")
_SIZES = ("noise", "ties", "formatting", "wording")
_OF_PAIRS = ("position", "ties")


@dataclass(frozen=True, kw_only=True)
class JudgeParameters:
    """The numbers of a simulated judge, explained by `SimulatedJudge`: answers and truth follow from them."""

    name: str = "simulated"
    kind: Kind = "pairwise"
    quality_difference: float = 1.0
    noise: float = 1.0
    case_correlation: float = 0.0
    position: float = 0.0
    ties: float = 0.0
    names: Mapping[str, float] = field(default_factory=dict)
    length: float = 0.0
    formatting: float = 0.0
    wording: float = 0.0
    drift: float = 0.0
    obeys: Mapping[str, float] = field(default_factory=dict)
    refusal: float = 0.0
    garbage: float = 0.0
    copies: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no judge can be."""
        if self.kind not in KINDS:
            raise UsageError(f"a simulated judge is {', '.join(KINDS)}, not {self.kind!r}.")
        _check_shares({name: getattr(self, name) for name in _SHARES})
        _check_shares({f"obeys[{name!r}]": share for name, share in self.obeys.items()})
        _check_names(self.names)
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(f"{one.name} of a simulated judge must be a finite number, not {value}.")
            if one.name in _SIZES and value < 0:
                raise UsageError(f"{one.name} of a simulated judge cannot be below 0, as {value} is.")
            if one.name in _OF_PAIRS and value and self.kind != "pairwise":
                raise UsageError(f"{one.name} belongs to pairs: leave it out of a {self.kind} judge.")
        if self.refusal + self.garbage > 1:
            raise UsageError("refusal and garbage are chances that exclude each other: together at most 1.")

    @cached_property
    def scale(self) -> Scale:
        """Its verdicts and where they begin."""
        return scale_of(self.kind, self.ties)


def _check_shares(shares: Mapping[str, float]) -> None:
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{name} of a simulated judge is a share from 0 to 1, not {value}.")


def _check_names(names: Mapping[str, float]) -> None:
    for name, bonus in names.items():
        if not name.strip() or not math.isfinite(bonus):
            raise UsageError(f"names of a simulated judge map a name to a finite number, not {name!r} to {bonus}.")
