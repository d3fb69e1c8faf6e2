"""What a log already holds of what a run is about to ask: nothing known is paid for again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeGuard

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.execution.preparing import LENGTHS, PLANNED_SAMPLES, Pending
from judgeharness_integrations.execution.probehash import PROVENANCE
from judgeharness_integrations.execution.reusing import FACTS, KnowingLog, Reuse, free_hash
from judgeharness_integrations.execution.rewrites import RewriteLog
from judgeharness_integrations.verdictlog.log import VerdictLog
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_to_json

if TYPE_CHECKING:
    from judgeharness_integrations.execution.answering import Rows
    from judgeharness_integrations.execution.opened import OpenCase, Slot
    from judgeharness_integrations.execution.sharing import SharedRun

__all__ = ["Recall", "SearchableLog", "is_searchable"]


class SearchableLog(VerdictLog, RewriteLog, KnowingLog, Protocol):
    """A log that finds rows by what was asked; its methods may wait, so they are called in a thread."""

    def has_rows(self, *, run: str | None = None, judge: str | None = None) -> bool:
        """Whether there is any row of a run, of a judge."""
        ...

    def of_cases(self, *, run: str, judge: str, case_ids: Sequence[str]) -> Mapping[str, Sequence[VerdictRow]]:
        """Return case id -> its rows in a run."""
        ...


def is_searchable(log: object) -> TypeGuard[SearchableLog]:
    """Whether a log finds rows by what was asked."""
    names = ("has_rows", "of_cases", "known", "taken_over", "rewrite", "add_rewrite")
    return all(hasattr(log, name) for name in names)


class Recall:
    """Looks up what is known of cases: the rows of an interrupted run, and answers other runs paid for."""

    def __init__(
        self,
        log: SearchableLog,
        *,
        run: str,
        judge: str,
        digest: bytes,
        shared: SharedRun,
        reuse: Reuse | None,
        learn: Callable[[Mapping[str, str | float]], None] | None = None,
    ) -> None:
        """Look in a log for rows of a run and a judge; with `reuse`, also for rows of other runs with equal probes.

        The judge may `learn` from its answers how it is to go on.
        """
        self._learn = learn
        self._log = log
        self._run = run
        self._judge = judge
        self._digest = digest
        self._shared = shared
        self._reuse = reuse
        self._began: tuple[bool, bool] | None = None  # whether this run, and whether any run, has rows

    async def look_up(self, cases: Sequence[OpenCase]) -> None:
        """Tell the cases which of their probes are answered.

        Raises:
            UsageError: the run holds an answer to another question under the same name.

        """
        if self._began is None:
            self._began = await asyncio.to_thread(self._beginning)
        resumes, reuses = self._began
        if resumes or self._shared.several:  # else all its rows are those of cases measured here, once each
            await self._resume(cases)
        if reuses and self._reuse is not None:
            await self._reuse.look_up([pending for case in cases for pending in case.pending if pending.known is None])
        if self._learn is not None:
            for row in (row for case in cases for pending in case.pending for row in pending.known or ()):
                self._learn(row.attributes)

    def _beginning(self) -> tuple[bool, bool]:
        return (
            self._log.has_rows(run=self._run, judge=self._judge),
            self._reuse is not None and self._log.has_rows(),
        )

    async def _resume(self, cases: Sequence[OpenCase]) -> None:
        ids = [case.plan.case_id for case in cases]
        found = await asyncio.to_thread(self._log.of_cases, run=self._run, judge=self._judge, case_ids=ids)
        for case in cases:
            case.known(_by_slot(found.get(case.plan.case_id, ())), stored=True)
            for pending in case.pending:
                if pending.known is not None:
                    await self._check(pending, pending.known)

    async def _check(self, pending: Pending, rows: Rows) -> None:
        """Refuse to take an answer to another question, or rows of a case that has changed, for those of this one."""
        asked, expected = rows[0].probe_hash, await free_hash(pending, self._digest)
        where = f"case {pending.case_id!r} under {pending.perturbation.name!r}"
        if pending.preparation.is_made and pending.preparation.digest() is None:
            raise UsageError(
                f"run {self._run!r} of the log holds an answer for {where}, and the case holds what cannot be "
                "compared, so nobody knows whether it is about the same: give the run another name, or the case texts, "
                "numbers, bytes, containers of these, dataclasses or pydantic models."
            )
        if expected is not None and asked is not None and asked != expected:
            raise UsageError(
                f"run {self._run!r} of the log holds another answer for {where}: the judge or the case has changed "
                "since; give the run another name."
            )
        if expected is not None and asked is None and rows[0].outcome != "error":
            raise UsageError(
                f"run {self._run!r} of the log holds an answer for {where} that does not say what was asked, as rows "
                "from elsewhere: it cannot be continued; give the run another name."
            )
        if not all(_is_of(row, pending) for row in rows):
            raise UsageError(
                f"run {self._run!r} of the log holds rows of case {pending.case_id!r} with another gold label or other "
                "attributes: undo the change, or give the run another name."
            )


def _is_of(row: VerdictRow, pending: Pending) -> bool:
    """Whether a row repeats gold label and attributes of its case as they are now, so that it need not be rewritten."""
    gold = pending.facts.gold_of(row.criterion)
    if row.gold != gold and _text(row.gold) != _text(gold):
        return False
    now = pending.facts.attributes
    return all(
        json.dumps(row.attributes.get(name)) == json.dumps(value)
        for name, value in now.items()
        if name not in (*FACTS, PLANNED_SAMPLES, *PROVENANCE)
        if name not in LENGTHS or name in row.attributes  # of rows that an earlier version wrote nothing is known
    )


def _text(verdict: Verdict | None) -> str:
    return json.dumps(verdict_to_json(verdict))


def _by_slot(rows: Iterable[VerdictRow]) -> dict[Slot, Rows]:
    calls: dict[Slot, list[VerdictRow]] = {}
    for row in rows:
        calls.setdefault((row.perturbation, row.repetition), []).append(row)
    return {slot: tuple(found) for slot, found in calls.items()}
