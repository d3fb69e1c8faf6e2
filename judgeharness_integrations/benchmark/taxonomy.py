"""Kinds of flaws, and which pairs of them are chosen."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.judging.config.schema import first_problem, read_document
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

from .pair import Behaviour, FailureType, Pair, PairState, Record, Taxonomy, clean
from .results.judgments import GROUPS

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


_STATES: Final[tuple[PairState, ...]] = get_args(PairState)
COLUMNS: Final = (*GROUPS, "generator")


def states_named(text: str) -> tuple[PairState, ...]:
    """Return the states of a text with commas between them.

    Raises:
        UnknownNameError: one of them is not known; the nearest is offered.

    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names or [text]:
        if name not in _STATES:
            raise UnknownNameError("state", name, _STATES)
    return tuple(state for state in _STATES if state in names)


def in_states(pairs: Sequence[Pair], states: Sequence[PairState], *, where: str) -> list[Pair]:
    """Return the pairs in some states that have conversations.

    Raises:
        UsageError: there is none; the sentence names what `where` holds instead.

    """
    found = [pair for pair in pairs if pair.state in states and pair.conversations is not None]
    if found:
        return found
    if not pairs:
        raise UsageError(f"{where} holds no pairs yet: make some with judgeharness benchmark generate.")
    counts = Counter(pair.state for pair in pairs)
    there = ", ".join(f"{counts[state]} {state}" for state in _STATES if counts[state])
    named = " or ".join(states)
    silent = sum(pair.state in states for pair in pairs)
    if silent:
        raise UsageError(
            f"no pair of {where} that is {named} has conversations to be judged: there are {there}, and the {silent} "
            f"that {'is' if silent == 1 else 'are'} {named} ended before they were written."
        )
    if any(pair.state == "unverified" and pair.conversations is not None for pair in pairs):
        raise UsageError(
            f"no pair of {where} is {named}: there are {there}; check them with judgeharness benchmark verify, or give "
            "--states unverified."
        )
    raise UsageError(
        f"no pair of {where} is {named}: there are {there}; make more with judgeharness benchmark generate."
    )


def sampled_ids(path: Path) -> tuple[str, ...]:
    """Return the ids of a sample, or of the pairs of a JSONL file: `curated.jsonl`, a file of an export in any format.

    Raises:
        CaseError: it is a sample that lacks something.
        UsageError: it cannot be read, or a line of it is no pair.

    """
    try:
        text = path.read_text(encoding="utf-8", errors=LONE_SURROGATES)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}): give sample.json or a JSONL file of pairs."
        ) from error
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, Mapping) and _id_of(whole) is None:
        return Sample.from_dict(dict(whole), where=str(path)).pairs
    found = tuple(dict.fromkeys(_ids(text, path)))
    if not found:
        raise UsageError(f"{path} holds no pairs: give a sample, or a JSONL file with some.")
    return found


def in_sample(pairs: Sequence[Pair], names: Collection[str], *, where: str) -> list[Pair]:
    """Return the pairs whose ids are among some names.

    Raises:
        UsageError: one of the names is none of the pairs; `where` names the sample.

    """
    known = {pair.pair_id for pair in pairs}
    missing = [name for name in names if name not in known]
    if missing:
        raise UsageError(
            f"{where}: {len(missing)} of its pairs, as {missing[0]}, are not among those to be judged: draw a new "
            "sample, or give the --states it was drawn from."
        )
    drawn = set(names)
    return [pair for pair in pairs if pair.pair_id in drawn]


class Stratum(Record):
    """The pairs that share the values of the columns."""

    values: dict[str, str | int] = Field(description="Column -> the value its pairs share.")
    population: int = Field(ge=1, description="Pairs there are.")
    sampled: int = Field(ge=0, description="Pairs of the sample.")


class Sample(Record):
    """One sample: what was asked for, and what was drawn."""

    schema_: Literal["judgeharness.benchmark_sample/1"] = Field(
        default="judgeharness.benchmark_sample/1", alias="schema", description="Name and version of this format."
    )
    n: int = Field(ge=1, description="Pairs of the sample.")
    by: tuple[str, ...] = Field(description="Columns the sample is stratified by; none: it is uniform.")
    seed: int = Field(description="Seed of the draw.")
    pairs: tuple[str, ...] = Field(description="Ids of the pairs that were drawn, in the order of the benchmark.")
    strata: tuple[Stratum, ...] = Field(description="What was drawn of each stratum, by its values.")


def stratified(pairs: Sequence[Pair], *, n: int, by: Sequence[str], seed: int) -> Sample:
    """Return a sample of `n` pairs, allocated to strata in proportion and drawn uniformly within each.

    What proportions leave over goes to the largest remainders (Hamilton's method), so every stratum holds its
    proportion rounded down or up; among equal remainders it is drawn.

    Args:
        pairs: the population.
        n: pairs wanted.
        by: columns whose values make the strata; none for a uniform sample.
        seed: of the draw.

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.
        UsageError: fewer than one pair is wanted, or more than there are.

    """
    for name in by:
        if name not in COLUMNS:
            raise UnknownNameError("column", name, COLUMNS)
    if len(set(by)) < len(by):
        raise UsageError(f"--by names a column twice: {', '.join(by)}.")
    if not 1 <= n <= len(pairs):
        raise UsageError(f"a sample of {n} cannot be drawn from {len(pairs)} pairs: ask for 1 to {len(pairs)}.")
    strata: dict[tuple[str | int, ...], list[str]] = {}
    for pair in pairs:
        strata.setdefault(tuple(_value(pair, name) for name in by), []).append(pair.pair_id)
    strata = {key: strata[key] for key in sorted(strata)}
    counts = _allocated({key: len(found) for key, found in strata.items()}, n, seed=seed)
    drawn = {name for key, found in strata.items() for name in drawn_order(found, key=f"sample|{seed}")[: counts[key]]}
    return Sample(
        n=n,
        by=tuple(by),
        seed=seed,
        pairs=tuple(pair.pair_id for pair in pairs if pair.pair_id in drawn),
        strata=tuple(
            Stratum(values=dict(zip(by, key, strict=True)), population=len(found), sampled=counts[key])
            for key, found in strata.items()
        ),
    )


def drawn_order(names: Iterable[str], *, key: str) -> list[str]:
    """Return the names in an order drawn for the key: that of two names does not depend on which others there are."""

    def drawn(name: str) -> tuple[bytes, str]:
        return hashlib.blake2b(f"{key}|{name}".encode(errors="surrogatepass"), digest_size=16).digest(), name

    return sorted(names, key=drawn)


def chosen_pairs(pair_ids: Sequence[str], *, judge: str, fraction: float, seed: int) -> list[str]:
    """Return the pairs a judge is asked about, in the order given: a fraction of them, at least one.

    Each judge has a subset of its own, drawn uniformly, so that together they cover more pairs. It is the beginning of
    one drawn order: a larger fraction only adds pairs, and other judges change nothing.

    Raises:
        UsageError: the fraction is not above 0 and at most 1.

    """
    if not 0 < fraction <= 1:
        raise UsageError(f"a fraction is above 0 and at most 1, not {fraction:g}.")
    count = max(1, round(fraction * len(pair_ids)))
    kept = set(drawn_order(pair_ids, key=f"cells|{seed}|{judge}")[:count])
    return [pair_id for pair_id in pair_ids if pair_id in kept]


def _ids(text: str, path: Path) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                entry = json.loads(line)
            except ValueError as error:
                raise UsageError(
                    f"{path}, line {number} is no JSON ({error}): give sample.json or a JSONL file of pairs."
                ) from error
            name = _id_of(entry) if isinstance(entry, Mapping) else None
            if name is None:
                raise UsageError(f"{path}, line {number} is no pair: give sample.json or a JSONL file of pairs.")
            yield name


def _id_of(entry: Mapping[str, Any]) -> str | None:
    """Return the id of a pair, as a folder or the public field names keep it, or of a case of one."""
    conditions = entry.get("conditions")
    inner = conditions.get("pair_id") if isinstance(conditions, Mapping) else None
    found = next((value for value in (inner, entry.get("id"), entry.get("case_id")) if value is not None), None)
    return str(found).strip() if isinstance(found, (str, int)) else None


def _value(pair: Pair, column: str) -> str | int:
    found: str | int = pair.generator if column == "generator" else getattr(pair.conditions, column)
    return found


def _allocated(
    populations: Mapping[tuple[str | int, ...], int], n: int, *, seed: int
) -> dict[tuple[str | int, ...], int]:
    total = sum(populations.values())
    quotas = {key: Fraction(n * population, total) for key, population in populations.items()}
    counts = {key: int(quota) for key, quota in quotas.items()}
    # equal remainders are drawn among: by their names the first strata of the alphabet would always get more
    named = {repr(key): key for key in quotas}
    drawn = [named[name] for name in drawn_order(named, key=f"strata|{seed}")]
    largest = sorted(drawn, key=lambda key: counts[key] - quotas[key])
    for key in largest[: n - sum(counts.values())]:
        counts[key] += 1
    return counts
