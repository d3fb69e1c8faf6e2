"""What people decided about proposals, made a taxonomy's file. Nothing enters it that no person accepted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from judgeharness_integrations._errors import ConfigError, UnknownNameError
from judgeharness_integrations.benchmark.discovery.proposals import Decision, Proposal, ProposalsFile
from judgeharness_integrations.benchmark.taxonomy.loading import taxonomy_of
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import MergedEntry, TaxonomyFile

__all__ = ["Decided", "decided"]


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
