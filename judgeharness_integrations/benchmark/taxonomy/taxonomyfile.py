"""A taxonomy as people write it: a YAML file with a list of failure types and a list of behaviours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.benchmark.records import clean
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Behaviour, FailureType
from judgeharness_integrations.config.problems import first_problem
from judgeharness_integrations.config.reading import read_document

__all__ = [
    "KINDS",
    "RESERVED",
    "BehaviourEntry",
    "FailureTypeEntry",
    "Kind",
    "MergedEntry",
    "Name",
    "TaxonomyFile",
    "Text",
    "read_taxonomy_file",
    "wrong_name",
]

Kind: TypeAlias = Literal["failure_types", "behaviours"]

KINDS: Final[tuple[Kind, ...]] = ("failure_types", "behaviours")
RESERVED: Final = ("none", "other", "nothing")
_LONGEST_NAME: Final = 60
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


def wrong_name(name: str) -> str | None:
    """Return what is wrong with a name of a type; None: it can be used."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        return (
            f"a name is lower-case letters, digits and underscores, {_LONGEST_NAME} at most, as in self_contradiction"
        )
    return f"the name {name} has a meaning of its own, take another one" if name in RESERVED else None


def _name(name: str) -> str:
    if (wrong := wrong_name(name)) is not None:
        raise ValueError(wrong)
    return name


def _text(text: str) -> str:
    if not (kept := clean(text).strip()):
        raise ValueError("a text is wanted here")
    return kept


Name: TypeAlias = Annotated[str, AfterValidator(_name)]
Text: TypeAlias = Annotated[str, AfterValidator(_text)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FailureTypeEntry(_Entry):
    """A failure type as a file holds it; see `FailureType`."""

    name: Name
    definition: Text
    flaw: Text
    benign: Text
    earliest_round: Annotated[int, Field(strict=True, ge=1)] = 1


class BehaviourEntry(_Entry):
    """A behaviour as a file holds it."""

    name: Name
    description: Text


class MergedEntry(_Entry):
    """A name that was proposed and merged into that of another type, whose definition stands."""

    name: Name
    into: Name


class TaxonomyFile(_Entry):
    """What a file says: whether it `extends` the default types, its own ones, and names `merged` into others."""

    extends: Literal["default"] | None = None
    failure_types: list[FailureTypeEntry] = []
    behaviours: list[BehaviourEntry] = []
    merged: list[MergedEntry] = []

    def own_failure_types(self) -> dict[str, FailureType]:
        """Return the file's failure types by name."""
        return {entry.name: FailureType(**entry.model_dump()) for entry in self.failure_types}

    def own_behaviours(self) -> dict[str, Behaviour]:
        """Return the file's behaviours by name."""
        return {entry.name: Behaviour(**entry.model_dump()) for entry in self.behaviours}


def read_taxonomy_file(path: Path) -> TaxonomyFile:
    """Return what a file says; entries are a list, or a mapping by name as `taxonomy.json` of a benchmark has it.

    Raises:
        UnknownNameError: a key is not known; the nearest is offered, with its place (`failure_types[2].flow`).
        ConfigError: the file cannot be read, lacks a key, holds a wrong value, or a name twice.

    """
    data = read_document(path)
    listed = {key: _listed(part, f"{path}: {key}") if key in KINDS else part for key, part in data.items()}
    try:
        file = TaxonomyFile.model_validate(listed)
    except ValidationError as error:
        raise first_problem(error.errors(include_url=False), str(path), TaxonomyFile) from None
    for kind in KINDS:
        _refuse_repeated([entry.name for entry in getattr(file, kind)], f"{path}: {kind}")
    return file


def _listed(part: Any, where: str) -> Any:
    """Return a mapping by name as the list it stands for, anything else as it is."""
    if not isinstance(part, Mapping):
        return part
    entries: list[Any] = []
    for name, entry in part.items():
        if isinstance(entry, Mapping) and entry.get("name", name) != name:
            raise ConfigError(f"{where}.{name} holds the name {entry['name']!r}: write the same name in both places.")
        entries.append({"name": name, **entry} if isinstance(entry, Mapping) else entry)
    return entries


def _refuse_repeated(names: Sequence[str], where: str) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ConfigError(f"{where} holds {name!r} twice: leave one of them out, or rename it.")
