"""New types for what no present type covers, as a model puts them; nothing of it counts before a person decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from judgeharness_integrations.benchmark.asking.asker import Asker, UnreadableError
from judgeharness_integrations.benchmark.discovery.covering import Cover
from judgeharness_integrations.benchmark.discovery.transcripts import Transcript
from judgeharness_integrations.benchmark.prompts.material import object_of, prompt
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import BehaviourEntry, FailureTypeEntry, Kind
from judgeharness_integrations.chatmodels import ChatModel, Prompt

__all__ = ["AT_A_TIME", "PROPOSE", "Batch", "Entry", "Found", "Suggested", "batches", "propose_prompt", "proposed"]

Entry: TypeAlias = FailureTypeEntry | BehaviourEntry

PROPOSE: Final = "discovery_propose"
AT_A_TIME: Final = 10  # transcripts: enough to see what they have in common, few enough to read
_LONGEST: Final = 6_000  # characters of each that are shown
_ENTRIES: Final[Mapping[Kind, type[FailureTypeEntry | BehaviourEntry]]] = {
    "failure_types": FailureTypeEntry,
    "behaviours": BehaviourEntry,
}
_TEXT: Final = {"type": "string"}
_PROPERTIES: Final[Mapping[Kind, Mapping[str, Any]]] = {
    "failure_types": {
        "name": _TEXT,
        "definition": _TEXT,
        "flaw": _TEXT,
        "benign": _TEXT,
        "earliest_round": {"type": "integer", "enum": [1, 2]},
    },
    "behaviours": {"name": _TEXT, "description": _TEXT},
}


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Uncovered transcripts that are shown together, each with what was seen in it."""

    number: int
    transcripts: tuple[Transcript, ...]
    shows: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the request is kept under."""
        return f"batch-{self.number:04d}"


@dataclass(frozen=True, kw_only=True)
class Suggested:
    """A type that a model suggested, and the ids of the transcripts that are to show it."""

    entry: Entry
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What came of one batch; `unread` says why no answer could be read."""

    suggested: tuple[Suggested, ...]
    unread: str | None = None


def batches(transcripts: Sequence[Transcript], covers: Sequence[Cover]) -> list[Batch]:
    """Return the uncovered transcripts in batches of ten, in their order."""
    texts = {transcript.transcript_id: transcript for transcript in transcripts}
    left = [cover for cover in covers if cover.state == "uncovered"]
    parts = [left[start : start + AT_A_TIME] for start in range(0, len(left), AT_A_TIME)]
    return [
        Batch(
            number=number,
            transcripts=tuple(texts[cover.transcript_id] for cover in part),
            shows=tuple(cover.shows or "" for cover in part),
        )
        for number, part in enumerate(parts, start=1)
    ]


def propose_prompt(batch: Batch, taxonomy: Taxonomy, *, kind: Kind) -> Prompt:
    """Return the request about a batch, `{types: [{name, ..., examples: [1, 3]}]}`; transcripts go by their numbers."""
    numbers = {"type": "array", "items": {"type": "integer"}}
    new = object_of("new_type", {**_PROPERTIES[kind], "examples": numbers})
    schema = object_of("new_types", {"types": {"type": "array", "items": new}})
    given = [
        (f"Conversation {number}", f"Seen in it: {seen}\n\n{transcript.shown(_LONGEST)}")
        for number, (transcript, seen) in enumerate(zip(batch.transcripts, batch.shows, strict=True), start=1)
    ]
    types = list(getattr(taxonomy, kind).values())
    return prompt(PROPOSE, given, schema, template=f"{PROPOSE}_{kind}", types=types)


async def proposed(batch: Batch, taxonomy: Taxonomy, *, kind: Kind, model: ChatModel, asker: Asker) -> Found:
    """Ask for new types for a batch.

    Raises:
        AskError: an attempt failed in the end.
        BudgetExhausted: nothing may be spent any more.

    """

    def read(answer: Mapping[str, Any]) -> tuple[Suggested, ...]:
        return _read(answer, batch, kind)

    answer = await asker.ask(model, propose_prompt(batch, taxonomy, kind=kind), item=batch.name, read=read)
    return Found(suggested=answer.value or (), unread=answer.reason if answer.value is None else None)


def _read(answer: Mapping[str, Any], batch: Batch, kind: Kind) -> tuple[Suggested, ...]:
    types = answer.get("types")
    if not isinstance(types, list):
        raise UnreadableError("types is no list")
    return tuple(_suggested(one, batch, kind, f"types[{place}]") for place, one in enumerate(types))


def _suggested(one: Any, batch: Batch, kind: Kind, where: str) -> Suggested:
    if not isinstance(one, Mapping):
        raise UnreadableError(f"{where} is no object")
    numbers = one.get("examples")
    valid = range(1, len(batch.transcripts) + 1)
    if not isinstance(numbers, list) or not numbers or not all(type(n) is int and n in valid for n in numbers):
        raise UnreadableError(f"{where}.examples is no list of numbers of its conversations")
    wanted = {key: one.get(key) for key in _PROPERTIES[kind]}
    try:
        entry = _ENTRIES[kind].model_validate(wanted)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise UnreadableError(f"{where}.{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    examples = dict.fromkeys(batch.transcripts[number - 1].transcript_id for number in numbers)
    return Suggested(entry=entry, examples=tuple(examples))
