"""What a benchmark's folder holds of results: pairs, the rows of judges about them, labels of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.results.joining import joined
from judgeharness_integrations.benchmark.results.joint import JointTable, joint_table
from judgeharness_integrations.benchmark.results.judgments import JUDGMENTS, Judgment, Mode, judgments_of
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["MODES", "Results", "read_results", "write_judgments"]

MODES: Final[tuple[Mode, ...]] = ("pairwise", "pointwise")


@dataclass(frozen=True, kw_only=True)
class Results:
    """A benchmark as it stands.

    `rows`: mode -> a row an answer about a pair that was not rejected, with its columns and gold; those of single
    conversations are folded into pairs. `rejected`: judged pairs that verification rejected since, which are not among
    them. `audit`: pair id -> what people agreed on; None where nobody labelled any pair.
    """

    folder: Path
    pairs: tuple[Pair, ...]
    rows: Mapping[Mode, tuple[VerdictRow, ...]]
    rejected: int
    audit: Mapping[str, str | None] | None

    @cached_property
    def judged(self) -> frozenset[str]:
        """Ids of the pairs that any judge was asked about, in any mode."""
        return frozenset(row.case_id for rows in self.rows.values() for row in rows)

    def of_mode(self, mode: Mode) -> list[VerdictRow]:
        """Return the rows of a mode.

        Raises:
            UsageError: no pair was judged in it.

        """
        if not self.rows[mode]:
            other = [name for name in MODES if self.rows[name]]
            hint = ": ask judges with judgeharness benchmark judge"
            if other:
                hint = f"; it was judged {other[0]}: give --mode {other[0]}"
            elif self.rejected:
                hint = f" but for {self.rejected} that verification rejected: ask judges about others"
            raise UsageError(f"no pair of {self.folder} was judged {mode}{hint}.")
        return list(self.rows[mode])

    def mode(self, wished: str | None) -> Mode:
        """Return the mode of a name; without one pairwise, or the other where only that was asked.

        Raises:
            UnknownNameError: there is none of that name; the nearest is offered.

        """
        if wished is not None:
            return mode_named(wished)
        return "pointwise" if self.rows["pointwise"] and not self.rows["pairwise"] else "pairwise"

    def table(self, mode: Mode) -> JointTable:
        """Return who was right about what in a mode; an empty table where nobody was asked."""
        return joint_table(self.rows[mode])

    def judgments(self) -> list[Judgment]:
        """Return every judgment, by mode, pair and judge."""
        return list(judgments_of((mode, self.table(mode)) for mode in MODES))


def mode_named(name: str) -> Mode:
    """Return the mode of a name.

    Raises:
        UnknownNameError: there is none of that name; the nearest is offered.

    """
    for mode in MODES:
        if mode == name:
            return mode
    raise UnknownNameError("mode", name, MODES)


def read_results(folder: BenchmarkFolder, *, audited: bool = True) -> Results:
    """Read a benchmark's pairs, what judges answered, and what people labelled.

    Args:
        folder: the benchmark.
        audited: people's labels are read too; else no row has one, and no damaged file of them is in the way.

    Raises:
        UsageError: there is no benchmark, or a file of it cannot be read.
        LogStorageError: the verdict log cannot be read.

    """
    folder.check()
    pairs = tuple(folder.pairs())
    counted = [pair for pair in pairs if pair.state != "rejected"]
    audit = _audit(folder) if audited else None
    raw = _raw(folder)
    known = {pair.pair_id for pair in counted}
    return Results(
        folder=folder.path,
        pairs=pairs,
        rows={mode: tuple(joined(rows, counted, audit=audit)) for mode, rows in raw.items()},
        rejected=len({row.case_id for rows in raw.values() for row in rows} - known),
        audit=audit,
    )


def write_judgments(results: Results, folder: BenchmarkFolder) -> None:
    """Write `judgments.jsonl` anew: the same answers give the same bytes."""
    folder.write_records(JUDGMENTS, results.judgments())


def _raw(folder: BenchmarkFolder) -> dict[Mode, list[VerdictRow]]:
    """Return mode -> rows about pairs."""
    if not folder.verdicts.is_file():
        return {mode: [] for mode in MODES}
    with folder.log() as log:
        about_pairs, single = (list(log.rows(run=mode)) for mode in MODES)
    return {"pairwise": about_pairs, "pointwise": _of_pairs(single) if single else []}


def _of_pairs(rows: list[VerdictRow]) -> list[VerdictRow]:
    from judgeharness_integrations.benchmark.judging.derived import pair_rows  # noqa: PLC0415 - of few benchmarks

    return list(pair_rows(rows))


def _audit(folder: BenchmarkFolder) -> dict[str, str | None] | None:
    """Return pair id -> what people agreed on; None where nobody labelled anything."""
    if not folder.audit.is_dir():
        return None
    from judgeharness_integrations.audit.consensus import audit_columns  # noqa: PLC0415 - of audited benchmarks

    return dict(audit_columns(folder.path)) or None
