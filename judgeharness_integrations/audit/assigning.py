"""Who labels what: a seeded uniform sample shared out between annotators, and a slice of suspicious pairs."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.audit.labels import check_annotator
from judgeharness_integrations.benchmark.folder import AUDIT
from judgeharness_integrations.benchmark.records import Record

__all__ = ["ASSIGNMENT", "Assignment", "assign", "read_assignment", "write_assignment"]

ASSIGNMENT: Final = "assignment.json"


class Assignment(Record):
    """One `audit/assignment.json`."""

    schema_: Literal["judgeharness.audit_assignment/1"] = Field(
        default="judgeharness.audit_assignment/1", alias="schema", description="Name and version of this format."
    )
    seed: int = Field(description="What the sample was drawn with.")
    pool: int = Field(ge=0, description="Pairs it was drawn from, each with the same chance.")
    overlap: float = Field(ge=0, le=1, description="Share of the sample that every annotator was to label.")
    uniform: tuple[str, ...] = Field(description="The sample; a noise rate is one of these pairs alone.")
    shared: tuple[str, ...] = Field(description="Those of the sample that every annotator labels.")
    suspicious: tuple[str, ...] = Field(
        description="Pairs chosen because of what judges said, none of them in the sample."
    )
    bundles: Mapping[str, tuple[str, ...]] = Field(
        description="Annotator -> what they label, in an order that does not tell why a pair is in it."
    )


def assign(
    pairs: Iterable[str],
    *,
    annotators: Sequence[str],
    n: int,
    overlap: float = 0.1,
    suspicious: Callable[[Sequence[str]], Sequence[str]] | Sequence[str] = (),
    seed: int = 0,
) -> Assignment:
    """Share pairs out between annotators.

    The sample is uniform without replacement. It depends on the seed and the pairs alone: a larger one contains a
    smaller one, and other annotators get parts of the same.

    Args:
        pairs: ids of the pairs that may be drawn.
        annotators: who labels.
        n: pairs in the sample; all where there are fewer.
        overlap: the share of the sample that every annotator labels; the rest is shared out evenly.
        suspicious: further pairs, each for one annotator, or what returns them for a sample, which is without them.
        seed: draws the sample, the parts and the order of each.

    Raises:
        UsageError: there is no pair or no annotator, a name stands twice, or a number is out of range.

    """
    pool = sorted({*pairs})
    names = [check_annotator(name) for name in annotators]
    _check(pool, names, n, overlap)
    uniform = _drawn(pool, f"{seed}|sample")[:n]
    shared = _drawn(uniform, f"{seed}|shared")[: round(overlap * len(uniform))] if len(names) > 1 else []
    listed = suspicious(uniform) if callable(suspicious) else suspicious
    further = [pair_id for pair_id in dict.fromkeys(listed) if pair_id not in {*uniform}]
    parts = _parts([pair_id for pair_id in uniform if pair_id not in {*shared}], names)
    slices = _parts(further, names[::-1])  # whoever has one pair more of the sample has none more of the slice
    return Assignment(
        seed=seed,
        pool=len(pool),
        overlap=overlap,
        uniform=tuple(uniform),
        shared=tuple(sorted(shared)),
        suspicious=tuple(further),
        bundles={name: tuple(_drawn([*parts[name], *shared, *slices[name]], f"{seed}|{name}")) for name in names},
    )


def read_assignment(folder: Path) -> Assignment | None:
    """Return the assignment of a benchmark's folder; None where nothing was assigned.

    Raises:
        CaseError: the file is damaged.

    """
    path = folder / AUDIT / ASSIGNMENT
    if not path.is_file():
        return None
    try:
        return Assignment.from_dict(json.loads(path.read_text(encoding="utf-8")), where=str(path))
    except ValueError as error:
        raise CaseError(f"{path} is no JSON ({error}): restore it, or assign anew with --overwrite.") from error


def write_assignment(folder: Path, assignment: Assignment) -> Path:
    """Write an assignment to a benchmark's folder, over an earlier one; labels stay as they are."""
    path = folder / AUDIT / ASSIGNMENT
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(assignment.to_dict(), indent=2, ensure_ascii=False) + "\n")
        Path(part).replace(path)  # at once: a kill leaves the old or the new one
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    return path


def _check(pool: Sequence[str], names: Sequence[str], n: int, overlap: float) -> None:
    if not pool:
        raise UsageError("there is no pair to assign: only accepted pairs are audited.")
    if not names or len({name.casefold() for name in names}) < len(names):
        raise UsageError("name the annotators, each once, as in --assign anna,ben.")
    if n < 1:
        raise UsageError(f"a sample holds at least 1 pair, not {n}.")
    if not 0 <= overlap <= 1:
        raise UsageError(f"the overlap is a share from 0 to 1, not {overlap}.")


def _drawn(pairs: Iterable[str], key: str) -> list[str]:
    """Return the pairs in an order drawn by hashes, so that more pairs leave the order of those there were."""
    return sorted(pairs, key=lambda pair_id: hashlib.blake2b(f"{key}|{pair_id}".encode(), digest_size=16).digest())


def _parts(pairs: Sequence[str], names: Sequence[str]) -> dict[str, Sequence[str]]:
    return {name: pairs[place :: len(names)] for place, name in enumerate(names)}
