"""Proposed types in a file in which a person decides about each: kept, merged into another one, or dropped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgeharness_integrations._errors import ConfigError, UnknownNameError
from judgeharness_integrations.benchmark.discovery import Entry, Suggested
from judgeharness_integrations.benchmark.folder import write_whole
from judgeharness_integrations.benchmark.pair import Taxonomy, unused_name
from judgeharness_integrations.benchmark.taxonomy import (
    KINDS,
    BehaviourEntry,
    FailureTypeEntry,
    Kind,
    MergedEntry,
    Name,
    TaxonomyFile,
    Text,
    taxonomy_of,
)
from judgeharness_integrations.judging.config.schema import first_problem, read_document

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
    named = {one.name: one for one in proposals.proposals}
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
    return tuple(one.name for one in proposals.proposals if one.decision == decision)


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
