"""A stratified sample of pairs: as many of each kind as its share of all pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal

from pydantic import Field

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.benchmark.judging.cells import drawn_order
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.records import Record

__all__ = ["COLUMNS", "Sample", "Stratum", "stratified"]

COLUMNS: Final = ("domain", "failure_type", "behaviour", "n_rounds", "flawed_round", "better", "generator")


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
