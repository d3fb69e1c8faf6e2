"""What a benchmark's folder holds of results: pairs, the rows of judges about them, labels of people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.results.joining import joined, judged_rows
from judgeharness_integrations.benchmark.results.joint import JointTable, joint_table
from judgeharness_integrations.benchmark.results.judgments import JUDGMENTS, Judgment, Mode, judgments_of
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["MODES", "Results", "read_results", "read_table", "write_judgments"]

MODES: Final[tuple[Mode, ...]] = ("pairwise", "pointwise")

_UNREAD: Final[Mapping[str, Any]] = {"reasoning": None, "raw": None, "error": None}


@dataclass(frozen=True, kw_only=True)
class Results:
    """A benchmark as it stands.

    `rows`: mode -> a row an answer about a pair that was not rejected, with its columns and gold; those of single
    conversations are folded into pairs. `rejected`: judged pairs that verification rejected since, which are not among
    them. `audit`: pair id -> what people agreed on; None where nobody labelled any pair. `failed`: mode -> (judge, pair
    id) of calls that failed; they are no answers, and not among the rows.
    """

    folder: Path
    pairs: tuple[Pair, ...]
    rows: Mapping[Mode, tuple[VerdictRow, ...]]
    rejected: int
    audit: Mapping[str, str | None] | None
    failed: Mapping[Mode, frozenset[tuple[str, str]]] = field(default_factory=dict)

    @cached_property
    def judged(self) -> frozenset[str]:
        """Ids of the pairs that any judge answered about, in any mode."""
        return frozenset(row.case_id for rows in self.rows.values() for row in rows)

    def of_mode(self, mode: Mode) -> list[VerdictRow]:
        """Return the rows of a mode.

        Raises:
            UsageError: no pair was judged in it.

        """
        if not self.rows[mode]:
            if self.failed.get(mode):
                judges = ", ".join(sorted({judge for judge, _ in self.failed[mode]}))
                raise UsageError(
                    f"no call of {judges} about {self.folder} was answered: ask again with judgeharness benchmark "
                    "judge."
                )
            other = [name for name in MODES if self.rows[name]]
            hint = ": ask judges with judgeharness benchmark judge"
            if other:
                hint = f"; it was judged {other[0]}: give --mode {other[0]}"
            elif self.rejected:
                hint = f" but for {self.rejected} that verification rejected: ask judges about others"
            raise UsageError(f"no pair of {self.folder} was judged {mode}{hint}.")
        return list(self.rows[mode])

    def only(self, names: Collection[str]) -> Results:
        """Return what there is about some pairs alone.

        Raises:
            UsageError: one of the names is none of the pairs.

        """
        states = {pair.pair_id: pair.state for pair in self.pairs}
        strange = [name for name in names if name not in states]
        if strange:
            raise UsageError(f"{self.folder} has no pair {strange[0]!r:.80}: give a sample of this benchmark's pairs.")
        return self._of(frozenset(names))

    def shared(self, names: Collection[str]) -> Results:
        """Return what there is about those of some names that are pairs here, as a parallel set has them."""
        return self._of(frozenset(names))

    def _of(self, names: frozenset[str]) -> Results:
        rejected = sum(pair.state == "rejected" and pair.pair_id in names for pair in self.pairs)
        return replace(
            self,
            pairs=tuple(pair for pair in self.pairs if pair.pair_id in names),
            rows={mode: tuple(row for row in rows if row.case_id in names) for mode, rows in self.rows.items()},
            rejected=min(self.rejected, rejected),
            failed={mode: frozenset(one for one in told if one[1] in names) for mode, told in self.failed.items()},
        )

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
        failed={mode: _failed(rows, known) for mode, rows in raw.items()},
    )


def read_table(folder: BenchmarkFolder, pairs: Iterable[Pair]) -> JointTable:
    """Return who was right about what, as `Results.table` does for the mode that results are told in without a wish.

    Nothing else of the rows is kept: neither what judges wrote nor the columns of pairs.

    Args:
        folder: the benchmark.
        pairs: all of it, as they were read before.

    Raises:
        UsageError: rows do not fit together.
        LogStorageError: the verdict log cannot be read.

    """
    counted = {pair.pair_id: pair for pair in pairs if pair.state != "rejected"}
    if not folder.verdicts.is_file():
        return joint_table([])
    with folder.log() as log:
        rows = judged_rows(log.rows(run="pairwise"), counted)
        if not rows:
            single = (replace(row, **_UNREAD) for row in log.rows(run="pointwise"))
            rows = judged_rows(_of_pairs(list(single)), counted)
    return joint_table(rows)


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


def _failed(rows: Iterable[VerdictRow], known: Collection[str]) -> frozenset[tuple[str, str]]:
    return frozenset((row.judge, row.case_id) for row in rows if row.outcome == "error" and row.case_id in known)


def _of_pairs(rows: list[VerdictRow]) -> list[VerdictRow]:
    from judgeharness_integrations.benchmark.judging.derived import pair_rows  # noqa: PLC0415 - of few benchmarks

    return list(pair_rows(rows))


def _audit(folder: BenchmarkFolder) -> dict[str, str | None] | None:
    """Return pair id -> what people agreed on; None where nobody labelled anything."""
    if not folder.audit.is_dir():
        return None
    from judgeharness_integrations.audit.consensus import audit_columns  # noqa: PLC0415 - of audited benchmarks

    return dict(audit_columns(folder.path)) or None
