"""Perturbed cases and rewrites, made once and shared by every repetition, and what identifies a probe across runs."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import random
import unicodedata
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Protocol, TypeAlias, TypeVar
from uuid import UUID

from judgeharness_integrations.analysis.aggregation.grouping import Clusters, attributed, named_cluster
from judgeharness_integrations.verdictlog.decoding import drafted
from judgeharness_integrations.verdictlog.encoding import (
    CHARACTERS,
    LABEL_COUNT,
    LENGTH_COLUMNS,
    PAIR_COLUMN,
    TEXT_COLUMN,
)
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_from_json

from ..cases import AnswerCase, Case, Criterion, PairwiseCase, Presentation, case_id_of
from ..judge import Judge, Probe, text_hash
from ..perturbations import Context, Perturbation, Rewriter
from ..plan import CasePlan
from ..structured import Attachments


class RewriteLog(Protocol):
    """A log that keeps rewordings; its methods may wait, so they are called in a thread."""

    def rewrite(self, rewriter: str, text: str) -> str | None:
        """Return the kept rewording of a text."""
        ...

    def add_rewrite(self, rewriter: str, text: str, rewritten: str) -> str:
        """Keep a rewording and return the one that is kept: the first of a text stays."""
        ...


class KeptRewrites:
    """The rewordings of one run: two rewriters of one name may be different models, so no other run takes them.

    A rewriter that stands nowhere in the design cannot be known again; nothing of it is kept.
    """

    def __init__(self, log: RewriteLog, run: str, places: Mapping[int, str]) -> None:
        """Keep them in a log; `places` are those of `rewriter_places`."""
        self._log = log
        self._run = run
        self._places = places

    async def find(self, rewriter: Rewriter, text: str) -> str | None:
        """Return what this run was given for a text before it was cut off."""
        if (key := self._key(rewriter)) is None:
            return None
        return await asyncio.to_thread(self._log.rewrite, key, text)

    async def keep(self, rewriter: Rewriter, text: str, rewritten: str) -> str:
        """Keep a rewording; what cannot be one is left to fail its probes."""
        key = self._key(rewriter)
        if key is None or not isinstance(rewritten, str) or not rewritten.strip():
            return rewritten
        return await asyncio.to_thread(self._log.add_rewrite, key, text, rewritten)

    def _key(self, rewriter: Rewriter) -> str | None:
        place = self._places.get(id(rewriter))
        return None if place is None else f"{self._run}/{place}/{rewriter_name(rewriter)}"


def rewriter_name(rewriter: Rewriter) -> str:
    """Return what a rewriter is called."""
    return str(getattr(rewriter, "__name__", type(rewriter).__name__))


def rewriter_places(perturbations: Iterable[Perturbation]) -> dict[int, str]:
    """Return id of a rewriter -> where the design names it first, which is the same each time the run goes on."""
    places: dict[int, str] = {}
    for perturbation in perturbations:
        for number, part in enumerate(_parts(perturbation)):
            if part.rewriter is not None:
                places.setdefault(id(part.rewriter), f"{perturbation.name}#{number}")
    return places


def _parts(perturbation: Perturbation) -> Iterator[Perturbation]:
    for part in perturbation.parts:
        yield from _parts(part)
    if not perturbation.parts:
        yield perturbation


def wordings_of(perturbations: Sequence[Perturbation], instructions: Sequence[str]) -> tuple[str, ...]:
    """Return what identifies the wordings a calibration was measured with."""
    parts = [part for p in perturbations for part in (p.parts or (p,))]
    rewriters = [part.rewriter for part in parts if part.rewriter is not None]
    names = sorted({rewriter_name(rewriter) for rewriter in rewriters})
    given = any("prompt_variant" in part.needs and part.rewriter is None for part in parts)
    return (*names, *(text_hash(text) for text in instructions if given))


_DIGEST_BYTES = 16
_AS_TEXT = (datetime, date, time, Decimal, UUID, PurePath, Enum)
_NOT_SHOWN = frozenset({"case_id", "gold", "author", "author_b"})
PROVENANCE = frozenset({"run_id"})  # attributes that say where a case came from: equal ones come from several places


def judge_digest(judge: Judge, judge_model: str | None = None) -> bytes:
    """Return the digest of what makes a judge this judge.

    One that declares no identity has that of all judges nobody knows again: hashes made of it tell what was asked, not
    of whom.
    """
    identity = judge.identity
    criteria = [[c.name, c.description, c.labels, c.scale] for c in judge.criteria or ()]
    if identity is None or identity.source is not None:
        return _digest(json.dumps({"unknown judge": criteria}, sort_keys=True, default=repr))
    parts = {
        "judge": identity.name,
        "model": judge_model or identity.model,
        "parameters": dict(identity.parameters),
        "prompt": identity.prompt_hash,
        "criteria": criteria,
    }
    return _digest(json.dumps(parts, sort_keys=True, default=repr))


def content_digest(case: Case) -> bytes | None:
    """Return the digest of what a judge is shown of a case; None where that cannot be written down."""
    if not is_dataclass(case):
        return value_digest(case)
    shown = _identifying(case)
    if isinstance(told := shown.get("attributes"), Mapping):
        left = {*PROVENANCE, LABEL_COUNT}  # labels that were made after a run change no question
        shown["attributes"] = {name: value for name, value in told.items() if name not in left}
    return value_digest(shown)


def _identifying(case: Any) -> dict[str, Any]:
    """Return what of a dataclass tells cases apart, by name."""
    return {name: part for name, part in _plain(case).items() if name not in _NOT_SHOWN}


def asked_digest(case: Case) -> bytes | None:
    """Return the digest of what a case asks, whichever answer of a pair comes first; None as of `content_digest`."""
    digests = _asked_digests(case)
    return None if None in digests else min(filter(None, digests))


def _asked_digests(case: Case) -> tuple[bytes | None, ...]:
    """Return the digest of what a case asks, and of a pair that of its answers exchanged.

    A case asks its texts, but for white space, marks that nobody sees, capitals and how a text ends: what must not
    matter to a judge makes no other question. Columns beside the texts (a number, a source, a cluster) make none
    either, nor does how a judge presents a case, in the words of its own instructions.
    """
    if not isinstance(case, AnswerCase):
        return (content_digest(case),)
    try:
        asked = case.with_all_texts(_in_other_type)
    except AttributeError:  # what should be a text is none
        return (None,)
    exchanged = [asked.swapped()] if isinstance(asked, PairwiseCase) else []
    return tuple([value_digest({**_identifying(one), **_BESIDE}) for one in (asked, *exchanged)])


def _in_other_type(text: str) -> str:
    """Return the words and signs of a text alone: what is left of it in any type, and without its end."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        for one in sorted(set(text)):
            if unicodedata.category(one) == "Cf":
                text = text.replace(one, "")
    words = " ".join(text.casefold().split())
    return words.rstrip(_ENDS) or words


def clusters_of_cases(cases: Iterable[Case]) -> Clusters:
    """Return which cases belong together, before any of them has rows."""
    clusters = Clusters()
    for case in cases:
        clusters.add(case_id_of(case), asked_digest(case), named_cluster(attributed(case)))
    return clusters


def value_digest(value: Any) -> bytes | None:
    """Return the digest of a value; None where it holds what nobody knows how to compare."""
    try:
        return _digest(_written(value))
    except (TypeError, ValueError, RecursionError):
        return None


def probe_hash(judge: bytes, content: bytes, *, perturbation: str, repetition: int, seed: int) -> str:
    """Return the hash of a probe, 32 hexadecimal digits."""
    place = f"|{perturbation}|{repetition}|{seed}".encode()
    return hashlib.blake2b(judge + content + place, digest_size=_DIGEST_BYTES).hexdigest()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _plain(value: Any) -> Any:
    """Return a value as JSON can keep it, its kind included.

    What a dataclass is not compared by is none of its content.

    Raises:
        TypeError: nobody knows how.

    """
    kind: Any = type(value)
    if (compared := _compared(kind)) is not None:
        shown = {name: getattr(value, name) for name in compared}
        return {"kind": kind.__name__, **{name: part for name, part in shown.items() if part not in compared[name]}}
    if isinstance(value, (str, int, float, list, tuple, dict)) or value is None:
        return value
    if (dump := getattr(kind, "model_dump", None)) is not None:  # pydantic
        return {"kind": kind.__name__, "model": dump(value, mode="json")}
    if isinstance(value, (bytes, bytearray, memoryview, *_AS_TEXT)):
        text = str(value) if isinstance(value, _AS_TEXT) else hashlib.sha256(bytes(value)).hexdigest()
        return {"kind": type(value).__name__, "text": text}
    if isinstance(value, Attachments):  # by their content: an answer about another picture is no answer
        return value.compared()
    if isinstance(value, (Mapping, set, frozenset)):
        return dict(value) if isinstance(value, Mapping) else sorted(value)
    raise TypeError(type(value).__name__)


@lru_cache(maxsize=256)
def _compared(kind: type) -> dict[str, tuple[Any, ...]] | None:
    """Return the fields a dataclass is compared by, each with the value that is left out; None for any other class.

    A field that came later says so, and what was asked before it keeps its digest.
    """
    if not is_dataclass(kind):
        return None
    found = (field for field in fields(kind) if field.compare)
    return {field.name: tuple(field.metadata.values()) if "left out" in field.metadata else () for field in found}


_BESIDE: Mapping[str, Any] = {"attributes": {}, "presentation": _plain(Presentation())}  # no part of what is asked
_written = json.JSONEncoder(sort_keys=True, default=_plain).encode


# rewriter, text, id of the case it is for -> the text in other words
Rewrite: TypeAlias = Callable[[Rewriter, str, str], Coroutine[Any, Any, str]]
_T = TypeVar("_T")
_MOST_REWRITES = 10_000
_probe_of = drafted(Probe)
PLANNED_SAMPLES = "planned_samples"
_OF_TWO = LENGTH_COLUMNS[0]
DERIVED = frozenset((*_OF_TWO, CHARACTERS, PAIR_COLUMN, TEXT_COLUMN))  # attributes that rows get from the case itself
_SHOWN_DIGITS = 16
_ENDS = " .!?\u2026"


@dataclass(frozen=True, kw_only=True)
class CaseFacts:
    """What every row of a case repeats: its gold labels and its attributes; `pairwise`: it holds two answers.

    How long answers are is among the attributes, in characters, for whoever reads the log without texts, unless the
    case has such a column of its own; and so is a digest of what it asks, which of a pair is that of the pair with its
    answers exchanged.

    `criteria` are the questions about this case alone.
    """

    gold: Mapping[str, Verdict]
    any_gold: Verdict | None
    attributes: Mapping[str, str | float]
    pairwise: bool = False
    criteria: tuple[Criterion, ...] = ()

    @classmethod
    def of(cls, case: Case) -> CaseFacts:
        """Read the facts of a case; a case of the caller's own kind has none."""
        if not isinstance(case, AnswerCase):
            return cls(gold={}, any_gold=None, attributes={})
        attributes = dict(case.attributes)
        if case.author is not None:
            attributes["author"] = case.author
        if isinstance(case, PairwiseCase) and case.author_b is not None:
            attributes["author_b"] = case.author_b
        answers = (case.output, case.output_b) if isinstance(case, PairwiseCase) else (case.output,)
        names = _OF_TWO if len(answers) > 1 else (CHARACTERS,)
        if attributes.keys().isdisjoint(names):
            attributes |= zip(names, map(len, answers), strict=True)
        if (found := _asked_digests(case))[0] is not None:
            shown = [digest.hex()[:_SHOWN_DIGITS] for digest in found if digest is not None]
            attributes[TEXT_COLUMN] = shown[0]
            if isinstance(case, PairwiseCase):
                attributes[PAIR_COLUMN] = min(shown)
        gold: Mapping[str, Verdict] = case.gold if isinstance(case.gold, Mapping) else {}
        several = isinstance(case.gold, (Mapping, list, tuple))  # a list is several annotators
        return cls(
            gold={name: value for name, value in gold.items() if value is not None},
            any_gold=None if several else verdict_from_json(case.gold),
            attributes=attributes,
            pairwise=isinstance(case, PairwiseCase),
            criteria=case.criteria,
        )

    def gold_of(self, criterion: str) -> Verdict | None:
        """Return the gold label of a criterion."""
        return self.gold.get(criterion, self.any_gold)


@dataclass(slots=True)
class Preparation:
    """One case under one perturbation."""

    plan: CasePlan
    perturbation: Perturbation
    preparer: Preparer
    rewrite: Callable[[Rewriter, str], Awaitable[str]]
    is_made: bool = False
    changed: Case = None
    _making: asyncio.Future[Case] | None = None
    _digest: bytes | None = None

    def digest(self) -> bytes | None:
        """Return the digest of the perturbed case; None before it was made, or for one that cannot be written down."""
        if self._digest is None and self.is_made:
            self._digest = content_digest(self.changed)
        return self._digest

    async def case(self) -> Case:
        """Return the perturbed case, applying the perturbation at the first call only."""
        if self._making is None and not self.is_made:
            self._begin()
        if self._making is not None:
            self.changed, self.is_made = await asyncio.shield(self._making), True
        return self.changed

    def _begin(self) -> None:
        perturbation = self.perturbation
        if perturbation.contextual:
            # the repetition is left out, so that every repetition sees the same change
            seed = f"{self.preparer.seed}|{self.plan.case_id}|{perturbation.name}"
            source = random.Random(seed.encode(errors="surrogatepass"))  # noqa: S311
            changed = perturbation.apply(self.plan.case, Context(random=source, rewrite=self.rewrite))
        else:
            changed = perturbation.apply(self.plan.case)
        if inspect.isawaitable(changed):
            self._making = self.preparer.started(changed)
        else:
            self.changed, self.is_made = changed, True


Slot: TypeAlias = tuple[str, int]  # perturbation, repetition
Rows: TypeAlias = tuple[VerdictRow, ...]  # of one call


@dataclass(slots=True, eq=False, weakref_slot=True)
class Pending:
    """A probe whose case may still have to be perturbed.

    `known` are the rows that answer it already; it must not be asked then. `stored`: they are rows of this run.
    """

    preparation: Preparation
    repetition: int
    seed: int
    facts: CaseFacts
    known: Rows | None = None
    stored: bool = False

    @property
    def case_id(self) -> str:
        """The case it is about."""
        return self.preparation.plan.case_id

    @property
    def perturbation(self) -> Perturbation:
        """The perturbation it is asked under."""
        return self.preparation.perturbation

    @property
    def slot(self) -> Slot:
        """Its place in the plan of its case."""
        return self.preparation.perturbation.name, self.repetition

    @property
    def text(self) -> tuple[str, str]:
        """What every repetition shows alike: its case under its perturbation."""
        return self.preparation.plan.case_id, self.preparation.perturbation.name

    def call_id(self, run: str, judge: str) -> str:
        """Return what joins the rows of one call."""
        place = (run, self.case_id, judge, self.perturbation.name, str(self.repetition))
        return "/".join(part for part in place if part)

    def hash(self, judge: bytes) -> str | None:
        """Return the hash of the probe for a judge of this digest; None before its case was made."""
        content = self.preparation.digest()
        if content is None:
            return None
        return probe_hash(
            judge, content, perturbation=self.perturbation.name, repetition=self.repetition, seed=self.seed
        )

    def at_hand(self) -> Probe | None:
        """Return the probe if its case was perturbed before; most were, by an earlier repetition."""
        return self._probe(self.preparation.changed) if self.preparation.is_made else None

    async def ready(self) -> Probe:
        """Return the probe with its perturbed case."""
        return self._probe(await self.preparation.case())

    def _probe(self, case: Case) -> Probe:
        return _probe_of(case, self.case_id, self.perturbation, self.repetition, self.seed)


class Rewritten(dict[tuple[int, str], str]):
    """(rewriter, text) -> the text in other words: what a harness has had reworded, the newest 10,000 texts."""

    def add(self, key: tuple[int, str], text: str) -> None:
        """Keep a rewrite; the oldest one goes when there are too many."""
        self[key] = text
        if len(self) > _MOST_REWRITES:
            del self[next(iter(self))]


class Preparer:
    """Makes the probes of cases, and ends what is still being prepared when the run does."""

    def __init__(
        self, *, seed: int, rewrite: Rewrite, rewritten: Rewritten | None = None, curtail: bool = False
    ) -> None:
        """Prepare with a seed, a way to call rewriters, and what is reworded already.

        With `curtail`, rows say how many samples were planned for their case, since there may be fewer of them.
        """
        self.seed = seed
        self._curtail = curtail
        self._rewrite = rewrite
        self._rewritten = Rewritten() if rewritten is None else rewritten
        self._rewriting: dict[tuple[int, str], asyncio.Future[str]] = {}
        self._unfinished: set[asyncio.Future[Any]] = set()

    def started(self, work: Awaitable[_T]) -> asyncio.Future[_T]:
        """Start shared work; a run that ends early cancels it."""
        task = asyncio.ensure_future(work)
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)
        return task

    async def close(self) -> None:
        """Cancel shared work nobody waits for any more."""
        unfinished = list(self._unfinished)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)

    async def _reworded(self, rewriter: Rewriter, text: str, case_id: str) -> str:
        """Return a text in other words; the first case that wants it has it reworded, for all that follow."""
        key = (id(rewriter), text)
        if key in self._rewritten:
            return self._rewritten[key]
        if key not in self._rewriting:
            self._rewriting[key] = self.started(self._rewrite(rewriter, text, case_id))
        try:
            rewritten = await asyncio.shield(self._rewriting[key])
        finally:
            if self._rewriting.get(key) is not None and self._rewriting[key].done():
                del self._rewriting[key]
        # anything but a text fails its probes, and may go well another time
        if isinstance(rewritten, str) and rewritten.strip():
            self._rewritten.add(key, rewritten)
        return rewritten

    def probes(self, plan: CasePlan) -> Iterator[Pending]:
        """Yield the probes of one case in plan order: perturbation by perturbation, repetition by repetition."""
        facts = CaseFacts.of(plan.case)
        if self._curtail:
            facts = replace(facts, attributes={**facts.attributes, PLANNED_SAMPLES: plan.calls})

        async def once(rewriter: Rewriter, text: str) -> str:
            return await self._reworded(rewriter, text, plan.case_id)

        for perturbation in plan.perturbations:
            preparation = Preparation(plan, perturbation, self, once)
            for repetition in range(plan.repetitions):
                yield Pending(preparation, repetition, self.seed, facts)
