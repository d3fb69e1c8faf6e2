"""What judges said about a benchmark's pairs: read from its folder, joined with what is known of each pair."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.results.judgments import (
    JUDGMENTS,
    JointTable,
    Judgment,
    joint_table,
    judgments_of,
)
from judgeharness_integrations.benchmark.results.rows import SCORE, Mode, joined, judged_rows, pair_rows
from judgeharness_integrations.verdictlog.row import VerdictRow

MODES: Final[tuple[Mode, ...]] = ("pairwise", "pointwise")
_UNREAD: Final[Mapping[str, Any]] = {"reasoning": None, "raw": None, "error": None}


@dataclass(frozen=True, kw_only=True)
class Results:
    """A benchmark as it stands.

    `rows`: mode -> a row an answer about a pair that was not rejected, with its columns and gold; those of single
    conversations are folded into pairs. `rejected`: judged pairs that verification rejected since, which are not among
    them. `audit`: pair id -> what people agreed on; None where nobody labelled any pair. `failed`: mode -> (judge, pair
    id) of calls that failed; they are no answers, and not among the rows. `scores`: of single conversations, columns
    `pair` and `side`, gold the better side.
    """

    folder: Path
    pairs: tuple[Pair, ...]
    rows: Mapping[Mode, tuple[VerdictRow, ...]]
    rejected: int
    audit: Mapping[str, str | None] | None
    failed: Mapping[Mode, frozenset[tuple[str, str]]] = field(default_factory=dict)
    scores: tuple[VerdictRow, ...] = ()

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
            scores=tuple(row for row in self.scores if row.attributes["pair"] in names),
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


def results_of(folder: BenchmarkFolder, *, audit: Mapping[str, str | None] | None) -> Results:
    """Read a benchmark's pairs and what judges answered, and join both with what people said of the pairs.

    Args:
        folder: the benchmark.
        audit: pair id -> what people agreed on; None where nobody labelled any pair.

    Raises:
        UsageError: there is no benchmark, or a file of it cannot be read.
        LogStorageError: the verdict log cannot be read.

    """
    folder.check()
    pairs = tuple(folder.pairs())
    counted = [pair for pair in pairs if pair.state != "rejected"]
    raw, single = _raw(folder)
    known = {pair.pair_id: pair for pair in counted}
    return Results(
        folder=folder.path,
        pairs=pairs,
        rows={mode: tuple(joined(rows, counted, audit=audit)) for mode, rows in raw.items()},
        rejected=len({row.case_id for rows in raw.values() for row in rows} - known.keys()),
        audit=audit,
        failed={mode: _failed(rows, known) for mode, rows in raw.items()},
        scores=tuple(_scores(single, known)),
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
            rows = judged_rows(pair_rows(single), counted)
    return joint_table(rows)


def write_judgments(results: Results, folder: BenchmarkFolder) -> None:
    """Write `judgments.jsonl` anew: the same answers give the same bytes."""
    folder.write_records(JUDGMENTS, results.judgments())


def _raw(folder: BenchmarkFolder) -> tuple[dict[Mode, list[VerdictRow]], list[VerdictRow]]:
    """Return mode -> rows about pairs, and the rows about single conversations."""
    if not folder.verdicts.is_file():
        return {mode: [] for mode in MODES}, []
    with folder.log() as log:
        about_pairs, single = (list(log.rows(run=mode)) for mode in MODES)
    return {"pairwise": about_pairs, "pointwise": pair_rows(single)}, single


def _scores(single: Iterable[VerdictRow], known: Mapping[str, Pair]) -> Iterator[VerdictRow]:
    """Yield the scores that count: of pairs that do, by calls that were answered."""
    for row in single:
        pair = known.get(str(row.attributes["pair"]))
        if pair is not None and row.criterion == SCORE and row.outcome != "error":
            yield replace(row, gold=pair.conditions.better, **_UNREAD)


def _failed(rows: Iterable[VerdictRow], known: Collection[str]) -> frozenset[tuple[str, str]]:
    return frozenset((row.judge, row.case_id) for row in rows if row.outcome == "error" and row.case_id in known)
