"""Transcripts of a user's own, whether a present type covers what they show, and new types where none does."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf, ValidationError

from judgeharness_integrations._errors import LogFormatError, UsageError
from judgeharness_integrations.benchmark.asker import TEXT, Asker, UnreadableError, object_of, prompt
from judgeharness_integrations.benchmark.documents import found_files
from judgeharness_integrations.benchmark.formats import text_of_file
from judgeharness_integrations.benchmark.pair import Record, Taxonomy, clean, unused_name
from judgeharness_integrations.benchmark.taxonomy import BehaviourEntry, FailureTypeEntry, Kind
from judgeharness_integrations.judging.chatmodels import ChatModel, Prompt
from judgeharness_integrations.judging.config.schema import at_line, first_problem
from judgeharness_integrations.verdictlog.files import iter_records

_ENDINGS: Final = (".jsonl", ".txt", ".md")
CoverState: TypeAlias = Literal["covered", "uncovered", "nothing", "unread"]
COVER: Final = "discovery_cover"
LONGEST: Final = 40_000  # characters of a transcript that are shown
_OTHER: Final = "other"
_NOTHING: Final = "nothing"
Entry: TypeAlias = FailureTypeEntry | BehaviourEntry
PROPOSE: Final = "discovery_propose"
AT_A_TIME: Final = 10  # transcripts: enough to see what they have in common, few enough to read
_LONGEST_IN_BATCH: Final = 6_000  # characters of each that are shown
_ENTRIES: Final[Mapping[Kind, type[FailureTypeEntry | BehaviourEntry]]] = {
    "failure_types": FailureTypeEntry,
    "behaviours": BehaviourEntry,
}
_PROPERTIES: Final[Mapping[Kind, Mapping[str, Any]]] = {
    "failure_types": {
        "name": TEXT,
        "definition": TEXT,
        "flaw": TEXT,
        "benign": TEXT,
        "earliest_round": {"type": "integer", "enum": [1, 2]},
    },
    "behaviours": {"name": TEXT, "description": TEXT},
}


class Transcript(Record):
    """A conversation: its id and what was said."""

    transcript_id: str
    text: str

    def shown(self, most: int) -> str:
        """Return the text with its middle left out where it is longer than `most` characters; it is said how much."""
        if len(self.text) <= most:
            return self.text
        begin, end = 2 * most // 3, most // 3
        return f"{self.text[:begin]}\n[{len(self.text) - begin - end} characters left out]\n{self.text[-end:]}"


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    role: InstanceOf[str]
    content: InstanceOf[str] | list[Any] | None


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[InstanceOf[str], BeforeValidator(lambda name: str(name) if type(name) is int else name)]
    text: InstanceOf[str] | None = None
    messages: list[_Message] | None = None


def read_transcripts(paths: Sequence[Path]) -> list[Transcript]:
    """Return the transcripts in files and below folders, in their order.

    A `.txt` or `.md` file is one, named after the file. A `.jsonl` file holds one a line: `id`, and either `text` or
    `messages` (`[{"role": "user", "content": ...}, ...]`; of content in parts, the texts); other keys are not looked
    at.

    Raises:
        UsageError: a file or line cannot be read or holds nothing, or an id stands twice; the place is named.

    """
    made: dict[str, Transcript] = {}
    for found in found_files(paths, endings=_ENDINGS, what="a transcript"):
        lines = found.path.suffix.lower() == ".jsonl"
        for where, transcript in _lines(found.path) if lines else _whole(found.path, made):
            if not transcript.text.strip():
                raise UsageError(f"{where} holds no text: leave it out.")
            if transcript.transcript_id in made:
                raise UsageError(f"{where}: the id {transcript.transcript_id!r} stands twice: give each its own.")
            made[transcript.transcript_id] = transcript
    if not made:
        raise UsageError("there is no transcript: give files or folders that hold some.")
    return list(made.values())


class Cover(Record):
    """What was said of a transcript.

    `state`: a present `type` covers it, none does, there is nothing to be covered, or no answer could be read (`reason`
    says why). `shows`: what the model saw.
    """

    transcript_id: str
    state: CoverState
    type: str | None = None
    shows: str | None = None
    reason: str | None = None


def cover_prompt(transcript: Transcript, taxonomy: Taxonomy, *, kind: Kind) -> Prompt:
    """Return the request about one transcript, `{shows, reason, type}`."""
    types = list(getattr(taxonomy, kind).values())
    names = [*(entry.name for entry in types), _OTHER, _NOTHING]
    schema = object_of("cover", {"shows": TEXT, "reason": TEXT, "type": {"type": "string", "enum": names}})
    given = [("Transcript", transcript.shown(LONGEST))]
    return prompt(COVER, given, schema, template=f"{COVER}_{kind}", types=types)


async def covered(transcript: Transcript, taxonomy: Taxonomy, *, kind: Kind, model: ChatModel, asker: Asker) -> Cover:
    """Ask whether a present type covers a transcript.

    Raises:
        AskError: an attempt failed in the end.
        BudgetExhausted: nothing may be spent any more.

    """
    names = list(getattr(taxonomy, kind))

    def read(answer: Mapping[str, Any]) -> Cover:
        return _read_cover(answer, names, transcript.transcript_id)

    asked = cover_prompt(transcript, taxonomy, kind=kind)
    answer = await asker.ask(model, asked, item=transcript.transcript_id, read=read)
    if answer.value is None:
        return Cover(transcript_id=transcript.transcript_id, state="unread", reason=answer.reason)
    return answer.value


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
        (f"Conversation {number}", f"Seen in it: {seen}\n\n{transcript.shown(_LONGEST_IN_BATCH)}")
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
        return _read_types(answer, batch, kind)

    answer = await asker.ask(model, propose_prompt(batch, taxonomy, kind=kind), item=batch.name, read=read)
    return Found(suggested=answer.value or (), unread=answer.reason if answer.value is None else None)


def _whole(path: Path, known: Container[str]) -> Iterator[tuple[str, Transcript]]:
    """Yield the transcript of a text file; one of the same name in another folder gets a number."""
    transcript_id = unused_name(clean(path.stem), known)
    yield str(path), Transcript(transcript_id=transcript_id, text=clean(text_of_file(path)))


def _lines(path: Path) -> Iterator[tuple[str, Transcript]]:
    try:
        for number, record in iter_records(path):
            where = f"{path}, line {number}"
            try:
                line = _Line.model_validate(record)
            except ValidationError as error:
                raise at_line(first_problem(error.errors(include_url=False), where, _Line), where) from None
            yield where, Transcript(transcript_id=clean(line.id), text=clean(_said(line, where)))
    except LogFormatError as error:
        raise UsageError(str(error).replace("a row is", "a transcript is")) from error


def _said(line: _Line, where: str) -> str:
    if (line.text is None) == (line.messages is None):
        raise UsageError(f"{where}: a transcript has either text or messages: give one of them.")
    if line.messages is None:
        return line.text or ""
    said = ((message.role, _content(message.content)) for message in line.messages)
    return "\n\n".join(f"{role.strip().capitalize()}: {content}" for role, content in said if content.strip())


def _content(content: str | Sequence[Any] | None) -> str:
    """Return what a message says; of content in parts, the texts."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "\n".join(text for text in texts if isinstance(text, str))


def _read_cover(answer: Mapping[str, Any], names: Sequence[str], transcript_id: str) -> Cover:
    found, shows, reason = (answer.get(key) for key in ("type", "shows", "reason"))
    if not isinstance(found, str) or found not in (*names, _OTHER, _NOTHING):
        raise UnreadableError("type is no type it was given")
    if not isinstance(shows, str) or not isinstance(reason, str):
        raise UnreadableError("shows or reason is no text")
    if found == _OTHER and not shows.strip():
        raise UnreadableError("type is other, but shows says nothing")
    state: CoverState = "uncovered" if found == _OTHER else "nothing" if found == _NOTHING else "covered"
    return Cover(
        transcript_id=transcript_id,
        state=state,
        type=found if state == "covered" else None,
        shows=clean(shows).strip() or None,
        reason=clean(reason).strip() or None,
    )


def _read_types(answer: Mapping[str, Any], batch: Batch, kind: Kind) -> tuple[Suggested, ...]:
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
