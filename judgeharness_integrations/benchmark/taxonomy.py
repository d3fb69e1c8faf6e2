"""The taxonomy of a benchmark: the default types, those of a file that people write, and their weights."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError, UnknownNameError
from judgeharness_integrations.benchmark.pair import Behaviour, FailureType, Taxonomy, clean
from judgeharness_integrations.judging.config.schema import first_problem, read_document

_DEFAULTS = Path(__file__).parent / "defaults"
_EXAMPLES = {
    "failure_types": "failure_types: [{name: ..., definition: ..., flaw: ..., benign: ...}]",
    "behaviours": "behaviours: [{name: ..., description: ...}]",
}
Kind: TypeAlias = Literal["failure_types", "behaviours"]
KINDS: Final[tuple[Kind, ...]] = ("failure_types", "behaviours")
RESERVED: Final = ("none", "other", "nothing")
_LONGEST_NAME: Final = 60
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_MOST = 1_000_000_000  # sums of them stay finite


@cache
def default_taxonomy() -> Taxonomy:
    """Return the seven failure types and seven behaviours that come with the package."""
    return Taxonomy(
        failure_types=read_taxonomy_file(_DEFAULTS / "failure_types.yaml").own_failure_types(),
        behaviours=read_taxonomy_file(_DEFAULTS / "behaviours.yaml").own_behaviours(),
    )


def load_taxonomy(path: Path | None) -> Taxonomy:
    """Return the taxonomy of a YAML, TOML or JSON file; None: the default one.

    With `extends: default` the file's types come after the default ones; one that bears the name of a default type
    takes its place. Without it the file's types are all there are.

    Raises:
        UnknownNameError: a key is not known; the nearest is offered, with its place.
        ConfigError: the file cannot be read, or lacks or repeats something; it is said what to write.

    """
    return default_taxonomy() if path is None else taxonomy_of(read_taxonomy_file(path), source=str(path))


def taxonomy_of(file: TaxonomyFile, *, source: str) -> Taxonomy:
    """Return the taxonomy of a file that was read; `source` names it in errors.

    Raises:
        ConfigError: it has no failure type or no behaviour, or one name for both.

    """
    base = default_taxonomy() if file.extends == "default" else Taxonomy(failure_types={}, behaviours={})
    made = Taxonomy(
        failure_types={**base.failure_types, **file.own_failure_types()},
        behaviours={**base.behaviours, **file.own_behaviours()},
    )
    for kind in KINDS:
        if not getattr(made, kind):
            raise ConfigError(f"{source} has no {kind}: write {_EXAMPLES[kind]}, or extends: default to use ours.")
    shared = sorted({*made.failure_types} & {*made.behaviours})
    if shared:  # weights are given by name
        raise ConfigError(f"{source}: {shared[0]!r} is a failure type and a behaviour: rename one of them.")
    return made


def _name(name: str) -> str:
    if (wrong := _wrong_name(name)) is not None:
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


def read_weights(path: Path | None, *, known: Collection[str]) -> dict[str, float]:
    """Return name -> weight of a YAML file, sorted by name; None: no weights.

    Args:
        path: the file.
        known: what can be drawn: names of failure types and behaviours, ids of documents.

    Raises:
        UnknownNameError: a name is none of them; the nearest is offered.
        ConfigError: the file cannot be read, or a weight is no number from 0 to a thousand million.

    """
    if path is None:
        return {}
    try:
        data: Any = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = getattr(error, "problem", None) or getattr(error, "strerror", None) or type(error).__name__
        raise ConfigError(f"{path} cannot be read ({what}): write a line for each weight, as evasion: 2.") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold a weight by name, a line for each, as evasion: 2.")
    for name, weight in data.items():
        if name not in known:
            raise UnknownNameError(f"failure type, behaviour or document in {path}", str(name), known)
        if type(weight) not in (int, float) or not 0 <= weight <= _MOST:
            raise ConfigError(f"{path}: the weight of {name} must be a number from 0 to {_MOST}, not {weight!r:.40}.")
    return {name: float(data[name]) for name in sorted(data)}


def _wrong_name(name: str) -> str | None:
    """Return what is wrong with a name of a type; None: it can be used."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        return (
            f"a name is lower-case letters, digits and underscores, {_LONGEST_NAME} at most, as in self_contradiction"
        )
    return f"the name {name} has a meaning of its own, take another one" if name in RESERVED else None


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
