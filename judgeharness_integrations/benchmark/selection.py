"""Which pairs are to be judged: those in some states, all of them, those of a sample, or a judge's share."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pydantic import Field

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.benchmark.pair import Pair, PairState, Record
from judgeharness_integrations.benchmark.results.judgments import GROUPS
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

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
