"""Types that a user's own transcripts show and the taxonomy lacks, and the file in which a person decides on them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, ValidationError

from judgeharness_integrations._errors import ConfigError, LogFormatError, UnknownNameError, UsageError
from judgeharness_integrations.judging.chatmodels import ChatModel, Prompt
from judgeharness_integrations.judging.config.schema import at_line, first_problem, read_document
from judgeharness_integrations.verdictlog.files import iter_records

from .asker import TEXT, Asker, UnreadableError, object_of, prompt
from .documents import found_files, text_of_file
from .folder import write_whole
from .pair import Record, Taxonomy, clean, unused_name
from .taxonomy import KINDS, BehaviourEntry, FailureTypeEntry, Kind, MergedEntry, Name, TaxonomyFile, Text, taxonomy_of

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

    def excerpt(self, most: int) -> str:
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
    given = [("Transcript", transcript.excerpt(LONGEST))]
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
        (f"Conversation {number}", f"Seen in it: {seen}\n\n{transcript.excerpt(_LONGEST_IN_BATCH)}")
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
            yield where, Transcript(transcript_id=clean(line.id), text=clean(_line_text(line, where)))
    except LogFormatError as error:
        raise UsageError(str(error).replace("a row is", "a transcript is")) from error


def _line_text(line: _Line, where: str) -> str:
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


Decision: TypeAlias = Literal["keep", "merge", "drop"]
_TEXTS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "failure_types": ("definition", "flaw", "benign", "earliest_round"),
    "behaviours": ("description",),
}
PROPOSALS: Final = "proposals.yaml"
_WIDTH: Final = 110
_ODD_LINE_ENDS: Final = frozenset("\x85\u2028\u2029")
_ABOUT_PROPOSALS: Final = """\
# Types a model proposed. None of them enters a taxonomy before a person decides: write after decision
#   keep   it is taken as it stands here; change its name and texts first where they are not right
#   merge  it is the same as nearest, whose definition stays; for another type add a line  into: NAME
#   drop   it is left out
# Then: judgeharness benchmark discover --decided THIS_FILE --taxonomy-out taxonomy.yaml
"""
_ABOUT_TAXONOMY: Final = """\
# Failure types and behaviours: judgeharness benchmark generate --taxonomy THIS_FILE
"""
MEASURE: Final = "cosine of tf-idf word weights"
_WORD: Final = re.compile(r"[^\W_]+")


class Nearest(BaseModel):
    """The present or proposed type that is most like a proposed one, by `MEASURE`, from 0 to 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    similarity: Annotated[float, Field(ge=0, le=1)]


class Proposal(BaseModel):
    """A proposed type: a failure type's texts or a behaviour's, and what a person decided.

    `examples` are ids of transcripts. `into`: the type it is merged into where that is not the nearest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    definition: Text | None = None
    flaw: Text | None = None
    benign: Text | None = None
    earliest_round: Annotated[int, Field(strict=True, ge=1)] | None = None
    description: Text | None = None
    examples: list[str] = []
    nearest: Nearest | None = None
    decision: Decision | None = None
    into: Name | None = None

    @property
    def target(self) -> str | None:
        """The type it would be merged into."""
        return self.into or (None if self.nearest is None else self.nearest.name)

    def entry(self, kind: Kind, *, source: str) -> Entry:
        """Return the type as a taxonomy's file holds it.

        Raises:
            ConfigError: it lacks a text.

        """
        held = {key: getattr(self, key) for key in ("name", *_TEXTS[kind])}
        given = {key: value for key, value in held.items() if value is not None}
        missing = [key for key in held if key not in given and key != "earliest_round"]
        if missing:
            raise ConfigError(f"{source}: {self.name} has no {missing[0]}: write it, or drop the proposal.")
        return FailureTypeEntry(**given) if kind == "failure_types" else BehaviourEntry(**given)

    def to_dict(self, kind: Kind) -> dict[str, Any]:
        """Return it as files and documents hold it."""
        texts = {key: getattr(self, key) for key in _TEXTS[kind]}
        near = None if self.nearest is None else self.nearest.model_dump()
        into = {} if self.into is None else {"into": self.into}
        facts = {"examples": list(self.examples), "nearest": near, "decision": self.decision}
        return {"name": self.name, **texts, **facts, **into}


class ProposalsFile(BaseModel):
    """What a file of proposals says; `measure` is how similarities were measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    of: Kind
    measure: str = MEASURE
    proposals: list[Proposal] = []

    def to_dict(self) -> dict[str, Any]:
        """Return it as a file holds it."""
        return {
            "of": self.of,
            "measure": self.measure,
            "proposals": [proposal.to_dict(self.of) for proposal in self.proposals],
        }

    def deciding(self, name: str, decision: Decision) -> ProposalsFile:
        """Return the file with a decision about the proposal of a name."""
        changed = [
            proposal.model_copy(update={"decision": decision}) if proposal.name == name else proposal
            for proposal in self.proposals
        ]
        return self.model_copy(update={"proposals": changed})


def read_proposals(path: Path) -> ProposalsFile:
    """Return what a file of proposals says.

    Raises:
        UnknownNameError: a key is not known; the nearest is offered, with its place.
        ConfigError: the file cannot be read, or holds a wrong value or a name twice.

    """
    try:
        file = ProposalsFile.model_validate(read_document(path))
    except ValidationError as error:
        raise first_problem(error.errors(include_url=False), str(path), ProposalsFile) from None
    names = [proposal.name for proposal in file.proposals]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ConfigError(f"{path}: proposals holds {name!r} twice: rename one of them.")
    return file


def proposals_of(suggested: Iterable[Suggested], taxonomy: Taxonomy, *, kind: Kind) -> list[Proposal]:
    """Return suggestions under names that nothing else has (`_2` and so on), each with the type it is most like."""
    taken = {name for one in KINDS for name in getattr(taxonomy, one)}
    named: dict[str, Suggested] = {}
    for one in suggested:
        named[unused_name(one.entry.name, taken | named.keys(), sign="_")] = one
    present = {name: _words(entry.model_dump()) for name, entry in getattr(taxonomy, kind).items()}
    near = nearest(present | {name: _words(one.entry.model_dump() | {"name": name}) for name, one in named.items()})
    return [
        Proposal.model_validate(
            one.entry.model_dump()
            | {"name": name, "examples": list(one.examples)}
            | {"nearest": None if (found := near[name]) is None else {"name": found[0], "similarity": found[1]}}
        )
        for name, one in named.items()
    ]


def joined(present: Sequence[Proposal], new: Sequence[Proposal]) -> list[Proposal]:
    """Return what a file holds and what is new by name: what a person may have changed stays as it is."""
    names = {proposal.name for proposal in present}
    return [*present, *(proposal for proposal in new if proposal.name not in names)]


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A taxonomy's file with what was kept, and the names of what was not; `undecided` ones stay out as well."""

    file: TaxonomyFile
    kept: tuple[str, ...]
    merged: tuple[MergedEntry, ...]
    dropped: tuple[str, ...]
    undecided: tuple[str, ...]


def decided(proposals: ProposalsFile, base: TaxonomyFile, *, source: str) -> Decided:
    """Return a file that holds what `base` does and the proposals that were kept.

    Of a merged one the other type's definition stays, and its name is recorded as merged. One merged into another that
    is merged itself goes where that goes.

    Args:
        proposals: with decisions.
        base: the taxonomy's file before.
        source: names the proposals in errors.

    Raises:
        UnknownNameError: a proposal is merged into a type that does not exist.
        ConfigError: one is merged into one that is not kept, or in a circle; a kept one lacks a text, or its name is
            that of another type.

    """
    file = _with(base, proposals, source)
    known = set(getattr(taxonomy_of(file, source=source), proposals.of))
    named = {proposal.name: proposal for proposal in proposals.proposals}
    merged = tuple(
        MergedEntry(name=name, into=_target(name, named, known, source)) for name in _names(proposals, "merge")
    )
    recorded = [*file.merged, *(entry for entry in merged if entry not in file.merged)]
    return Decided(
        file=file.model_copy(update={"merged": recorded}),
        kept=_names(proposals, "keep"),
        merged=merged,
        dropped=_names(proposals, "drop"),
        undecided=_names(proposals, None),
    )


def write_proposals(file: ProposalsFile, path: Path) -> None:
    """Write a file of proposals, which `read_proposals` reads, as a whole."""
    _write(_ABOUT_PROPOSALS, file.to_dict(), path)


def write_taxonomy(file: TaxonomyFile, path: Path) -> None:
    """Write a taxonomy's file, which `load_taxonomy` reads, as a whole."""
    _write(_ABOUT_TAXONOMY, {key: part for key, part in file.model_dump().items() if part}, path)


def nearest(texts: Mapping[str, str]) -> dict[str, tuple[str, float] | None]:
    """Return, for every text by name, the name of the most similar other one and how similar it is, 0 to 1.

    The similarity is the cosine of the word counts of two texts, each weighted by ln((1 + n) / (1 + d)) + 1 for a word
    that occurs in d of the n texts (the smoothed weight scikit-learn uses). Equal ones: the first. None: no other text.
    """
    import numpy as np  # noqa: PLC0415 - few commands need it

    names = list(texts)
    counts = [Counter(_WORD.findall(text.lower())) for text in texts.values()]
    words = {word: place for place, word in enumerate(sorted({word for count in counts for word in count}))}
    table = np.zeros((len(names), len(words)))
    for row, count in enumerate(counts):
        table[row, [words[word] for word in count]] = list(count.values())
    table *= np.log((1 + len(names)) / (1 + (table > 0).sum(axis=0))) + 1
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table /= np.where(lengths > 0, lengths, 1)
    # rounded before they are compared: the last digits of a sum may differ between machines
    cosines = np.round(np.clip(table @ table.T, 0, 1), 4)
    found: dict[str, tuple[str, float] | None] = {}
    for row, name in enumerate(names):
        others = [(other, float(cosines[row, place])) for place, other in enumerate(names) if place != row]
        found[name] = max(others, key=lambda pair: pair[1]) if others else None
    return found


def _words(entry: Mapping[str, Any]) -> str:
    return " ".join(text.replace("_", " ") for text in entry.values() if isinstance(text, str))


def _names(proposals: ProposalsFile, decision: Decision | None) -> tuple[str, ...]:
    return tuple(proposal.name for proposal in proposals.proposals if proposal.decision == decision)


def _with(base: TaxonomyFile, proposals: ProposalsFile, source: str) -> TaxonomyFile:
    """Return a file with the kept types; one that is there already, with the same texts, is not added again."""
    present = taxonomy_of(base, source=source)
    held = list(getattr(base, proposals.of))
    for one in proposals.proposals:
        if one.decision != "keep" or (entry := one.entry(proposals.of, source=source)) in held:
            continue
        if one.name in (*present.failure_types, *present.behaviours):
            raise ConfigError(f"{source}: the taxonomy holds {one.name} already: rename the proposal, or drop it.")
        held.append(entry)
    return base.model_copy(update={proposals.of: held})


def _target(name: str, named: Mapping[str, Proposal], known: Collection[str], source: str) -> str:
    """Return the type a proposal ends in, along proposals that are merged themselves."""
    passed = [name]
    while True:
        target = named[passed[-1]].target
        if target is None:
            raise ConfigError(f"{source}: {passed[-1]} has no nearest type: write into, the type it is merged into.")
        if target in known:
            return target
        if target in passed:
            raise ConfigError(f"{source}: {name} is merged in a circle: keep one of {', '.join(passed)}.")
        if target not in named:
            raise UnknownNameError("type", target, known)
        if named[target].decision != "merge":
            raise ConfigError(
                f"{source}: {passed[-1]} is merged into {target}, which is not kept: keep that one, or write into, "
                "another type."
            )
        passed.append(target)


def _write(about: str, document: dict[str, Any], path: Path) -> None:
    import yaml  # noqa: PLC0415 - loaded when something is written

    class Dumper(yaml.SafeDumper):
        """Writes nothing for what is to be filled in, and no anchors."""

        def ignore_aliases(self, data: Any) -> bool:
            del data
            return True

    def quoted(dumper: Dumper, text: str) -> yaml.ScalarNode:
        # in double quotes these line ends are escaped; elsewhere PyYAML writes them so that it reads others
        style = '"' if _ODD_LINE_ENDS.intersection(text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, quoted)
    Dumper.add_representer(type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", ""))
    text = yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, [about, text])
