"""What `judgeharness audit DIR --assign` does: a uniform sample and a suspicious slice, shared out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.audit.assigning import Assignment, assign, write_assignment
from judgeharness_integrations.audit.labels import read_labels
from judgeharness_integrations.audit.suspicion import by_joint_correctness, strong_miss_weak_hit, suspicious_slice
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console, safe, table

if TYPE_CHECKING:
    from judgeharness_integrations.cli._audit import Request

__all__ = ["assign_pairs"]

_SAMPLE, _OVERLAP, _SLICE = 100, 0.1, 20


def assign_pairs(folder: BenchmarkFolder, request: Request) -> None:
    """Write `audit/assignment.json` and say who labels how much.

    Raises:
        UsageError: labels were made under an assignment, and it is not to be replaced.

    """
    folder.check()
    _check_new(folder, request)
    pairs = folder.pairs()
    pool, state = _pool(pairs)
    wanted = _SLICE if request.suspicious is None else request.suspicious
    if wanted < 0:
        raise UsageError(f"--suspicious is a number of pairs of at least 0, not {wanted}.")
    matrix = _matrix(folder, pairs, pool) if wanted else {}
    orders = [by_joint_correctness(matrix), strong_miss_weak_hit(matrix)]

    def chosen(sample: Sequence[str]) -> Sequence[str]:
        return suspicious_slice(orders, n=wanted, without=sample)

    made = assign(
        pool,
        annotators=[name for name in (request.assign or "").split(",") if name.strip()],
        n=_SAMPLE if request.n is None else request.n,
        overlap=_OVERLAP if request.overlap is None else request.overlap,
        suspicious=chosen,
        seed=request.seed or 0,
    )
    path = write_assignment(folder.path, made)
    if request.as_json:
        print_json(made.to_dict())
        return
    _print(made, state=state, judged=bool(matrix), wanted=wanted)
    console().print(safe(f"written to {path}: each labels with judgeharness audit DIR --annotator NAME", 300))


def _check_new(folder: BenchmarkFolder, request: Request) -> None:
    if any(read_labels(folder.path).values()) and not request.overwrite:
        raise UsageError(f"{folder.path} holds labels: give --overwrite to assign anew; every label stays.")


def _pool(pairs: Sequence[Pair]) -> tuple[list[str], str]:
    """Return the pairs that may be drawn, and their state: accepted ones, or all of a benchmark nobody verified."""
    states = {pair.pair_id: pair.state for pair in pairs if pair.conversations is not None}
    state = "accepted" if {*states.values()} != {"unverified"} else "unverified"
    return [pair_id for pair_id, found in states.items() if found == state], state


def _matrix(folder: BenchmarkFolder, pairs: Sequence[Pair], pool: Sequence[str]) -> Mapping[str, Mapping[str, bool]]:
    """Return judge -> pair -> whether it was right about everything, of the pairs that may be drawn."""
    from judgeharness_integrations.benchmark.results.reading import read_table  # noqa: PLC0415 - brings numpy

    found, known = read_table(folder, pairs).matrix(), {*pool}
    return {judge: {pair: right for pair, right in cells.items() if pair in known} for judge, cells in found.items()}


def _print(made: Assignment, *, state: str, judged: bool, wanted: int) -> None:
    screen = console()
    screen.print(
        f"{len(made.uniform)} of {made.pool} {state} pairs, drawn uniformly with seed {made.seed}; "
        f"{len(made.shared)} of them go to every annotator",
        soft_wrap=True,
    )
    few = f" ({wanted} were wanted)" if len(made.suspicious) < wanted else ""
    why = "" if judged or not wanted else ": no judge was asked yet"
    screen.print(f"{len(made.suspicious)} further pairs look suspicious{few}{why}; they are in no rate", soft_wrap=True)
    uniform, shared, suspicious = {*made.uniform}, {*made.shared}, {*made.suspicious}
    rows: list[list[str | Text]] = [
        [safe(name), *(str(len(part & {*bundle})) for part in (uniform, shared, suspicious)), str(len(bundle))]
        for name, bundle in made.bundles.items()
    ]
    screen.print(table("who labels", ("annotator", "sample", "of it\nshared", "suspicious", "all"), rows))
