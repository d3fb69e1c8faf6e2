"""Proposed types in a file in which a person decides about each: kept, merged into another one, or dropped."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.benchmark.discovery.proposing import Entry, Suggested
from judgeharness_integrations.benchmark.discovery.similarity import MEASURE, nearest
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import (
    KINDS,
    BehaviourEntry,
    FailureTypeEntry,
    Kind,
    Name,
    Text,
)
from judgeharness_integrations.config.problems import first_problem
from judgeharness_integrations.config.reading import read_document

__all__ = ["Decision", "Nearest", "Proposal", "ProposalsFile", "joined", "proposals_of", "read_proposals"]

Decision: TypeAlias = Literal["keep", "merge", "drop"]

_TEXTS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "failure_types": ("definition", "flaw", "benign", "earliest_round"),
    "behaviours": ("description",),
}


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
        return {"of": self.of, "measure": self.measure, "proposals": [one.to_dict(self.of) for one in self.proposals]}

    def deciding(self, name: str, decision: Decision) -> ProposalsFile:
        """Return the file with a decision about the proposal of a name."""
        changed = [one.model_copy(update={"decision": decision}) if one.name == name else one for one in self.proposals]
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
        named[_unique(one.entry.name, taken | named.keys())] = one
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


def _unique(name: str, taken: Container[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _words(entry: Mapping[str, Any]) -> str:
    return " ".join(text.replace("_", " ") for text in entry.values() if isinstance(text, str))
