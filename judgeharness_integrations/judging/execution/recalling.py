"""What a log already holds of what a run is about to ask, so that nothing known is paid for again."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard
from weakref import WeakKeyDictionary, ref

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import CALIBRATION_RUN, CALL_COLUMNS
from judgeharness_integrations.verdictlog.files import VerdictLog
from judgeharness_integrations.verdictlog.row import TOKENS, Verdict, VerdictRow, verdict_to_json

from .answering import Keep, kept
from .preparing import DERIVED, PLANNED_SAMPLES, PROVENANCE, Pending, RewriteLog, Rows, Slot

if TYPE_CHECKING:
    from ..perturbations import Perturbation
    from .agenda import OpenCase
    from .limiter import SharedRun, Source

_NOT_PAID: Mapping[str, Any] = {**dict.fromkeys(TOKENS), "latency_s": None, "attempts": 0}


class KnowingLog(Protocol):
    """A log that finds answers by what was asked; its methods may wait, so they are called in a thread."""

    def known(self, probe_hashes: Sequence[str], *, except_run: str) -> Mapping[str, Sequence[Sequence[VerdictRow]]]:
        """Return probe hash -> calls of other runs that did not fail, each as its rows, oldest first."""
        ...

    def taken_over(self, probe_hashes: Sequence[str], *, run: str) -> Sequence[VerdictRow]:
        """Return the rows with these hashes that a run took over from others."""
        ...


@dataclass(frozen=True, kw_only=True)
class Reuse:
    """Takes answers of other runs over into a run; rows are kept as the run keeps its own.

    Rows of labelled cases are left where they are: what is measured on them must not vouch for themselves.
    """

    log: KnowingLog
    run: str
    judge: str
    digest: bytes
    keep: Keep
    shared: SharedRun

    async def look_up(self, probes: Iterable[Pending]) -> None:
        """Tell probes which are answered; one whose text a model has to reword first is asked again."""
        wanted: dict[str, list[Pending]] = {}  # two cases may show the same
        for pending in probes:
            if (hashed := await free_hash(pending, self.digest)) is not None:
                wanted.setdefault(hashed, []).append(pending)
        if wanted:
            await asyncio.to_thread(self._hand_out, wanted)

    def _hand_out(self, wanted: Mapping[str, Sequence[Pending]]) -> None:
        with self.shared.handing:
            taken = set(self.shared.handed_out)  # before the log is asked: what leaves it then is in the log
            found = self.log.known(list(wanted), except_run=self.run)
            if not found:
                return
            copies = self.log.taken_over(list(found), run=self.run)
            taken.update(_source(row) for row in copies)
            for hashed, calls in found.items():
                free = {_source(call[0]): call for call in reversed(calls) if not call[0].run.endswith(CALIBRATION_RUN)}
                self._share({one: free[one] for one in free if one not in taken}, wanted[hashed])

    def _share(self, free: dict[Source, Sequence[VerdictRow]], probes: Sequence[Pending]) -> None:
        """Give each probe a call, first those whose case was asked itself."""
        for pending in probes:
            own = [one for one in free if one[3] == pending.case_id]
            if own:
                self._give(pending, max(own, key=lambda one: one[2] == self.judge), free)
        for pending in probes:
            if pending.known is None and free:
                self._give(pending, next(iter(free)), free)

    def _give(self, pending: Pending, source: Source, free: dict[Source, Sequence[VerdictRow]]) -> None:
        pending.known = tuple(self._as_mine(row, pending, source) for row in free.pop(source))
        self.shared.handed_out[source] = pending

    def _as_mine(self, row: VerdictRow, pending: Pending, source: Source) -> VerdictRow:
        """Return a row of another run as one of this run, which paid nothing for it."""
        _, run, judge, case_id = source
        facts = {name: row.attributes[name] for name in CALL_COLUMNS if name in row.attributes}
        whose = {"reused_from": run}
        if judge != self.judge:
            whose["reused_judge"] = judge
        if case_id != pending.case_id:
            whose["reused_case"] = case_id
        return replace(
            row,
            run=self.run,
            judge=self.judge,
            case_id=pending.case_id,
            gold=pending.facts.gold_of(row.criterion),
            call_id=None if row.call_id is None else pending.call_id(self.run, self.judge),
            reasoning=kept(row.reasoning, self.keep),
            raw=kept(row.raw, self.keep),
            error=row.error if self.keep == "text" else None,
            **_NOT_PAID,
            attributes={**pending.facts.attributes, **facts, **whose},
        )


def _source(row: VerdictRow) -> Source:
    """Return whose call a row came from."""
    told = row.attributes
    run, judge = told.get("reused_from", row.run), told.get("reused_judge", row.judge)
    return row.probe_hash or "", str(run), str(judge), str(told.get("reused_case", row.case_id))


async def free_hash(pending: Pending, judge: bytes) -> str | None:
    """Return the hash of a probe; None where making it would cost a call, or fails."""
    if not _asks_nobody(pending.perturbation):
        return None
    try:
        await pending.ready()
    except Exception:  # noqa: BLE001 - its row will say why; until then nothing is known of it
        return None
    return pending.hash(judge)


def _asks_nobody(perturbation: Perturbation) -> bool:
    """Whether applying a perturbation costs nothing."""
    parts = perturbation.parts or (perturbation,)
    return not any(part.rewriter is not None or inspect.iscoroutinefunction(part.apply) for part in parts)


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
        if name not in (*CALL_COLUMNS, PLANNED_SAMPLES, *PROVENANCE)
        if name not in DERIVED or name in row.attributes  # of rows that an earlier version wrote nothing is known
    )


def _text(verdict: Verdict | None) -> str:
    return json.dumps(verdict_to_json(verdict))


def _by_slot(rows: Iterable[VerdictRow]) -> dict[Slot, Rows]:
    calls: dict[Slot, list[VerdictRow]] = {}
    for row in rows:
        calls.setdefault((row.perturbation, row.repetition), []).append(row)
    return {slot: tuple(found) for slot, found in calls.items()}


_IDLE_S = 1.0  # after which the thread ends; the next row starts another


class Keeper(Protocol):
    """Takes the rows of one call and returns when the log has them."""

    async def keep(self, rows: Rows) -> None:
        """Add the rows to the log."""

    async def settled(self) -> None:
        """Wait until everything handed over is in the log, also rows whose worker was cancelled meanwhile."""


class _AtOnce:
    """For logs whose `append` does not wait for anything: in memory, or a line in a file."""

    def __init__(self, log: VerdictLog) -> None:
        self._log = log

    async def keep(self, rows: Rows) -> None:
        self._log.append(rows)

    async def settled(self) -> None:
        """Nothing is ever on its way."""


class _Commit(NamedTuple):
    """The rows of one call on their way, and who waits for them."""

    rows: Rows
    future: asyncio.Future[None]
    log: VerdictLog


class _GroupCommit:
    """Appends in a thread of its own, each time everything that came while the last transaction was committed."""

    def __init__(self, log: VerdictLog) -> None:
        self._log = ref(log)  # which is kept as long as somebody writes to it
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)
        self._waiting: list[_Commit] = []
        self._thread: threading.Thread | None = None
        self._unsettled: set[asyncio.Future[None]] = set()

    async def keep(self, rows: Rows) -> None:
        if (log := self._log()) is None:
            raise RuntimeError("the log is gone")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unsettled.add(future)
        future.add_done_callback(self._unsettled.discard)
        with self._lock:
            self._waiting.append(_Commit(rows, future, log))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="judgeharness-log", daemon=True)
                self._thread.start()
            else:
                self._more.notify()
        await asyncio.shield(future)

    async def settled(self) -> None:
        loop = asyncio.get_running_loop()
        mine = [future for future in list(self._unsettled) if future.get_loop() is loop]
        await asyncio.gather(*mine, return_exceptions=True)

    def _work(self) -> None:
        while batch := self._next_batch():
            error: Exception | None = None
            try:
                batch[0].log.append([row for commit in batch for row in commit.rows])
            except Exception as problem:  # noqa: BLE001 - it is told to everybody whose rows these are
                error = problem
            _tell([commit.future for commit in batch], error)
            del batch  # nothing of them is held while waiting

    def _next_batch(self) -> list[_Commit]:
        with self._lock:
            if not self._waiting and not self._more.wait_for(lambda: self._waiting, timeout=_IDLE_S):
                self._thread = None
                return []
            batch, self._waiting = self._waiting, []
            return batch


def _tell(futures: Sequence[asyncio.Future[None]], error: Exception | None) -> None:
    """Wake whoever waits for these rows, each in its own event loop."""
    for loop in {future.get_loop() for future in futures}:
        mine = [future for future in futures if future.get_loop() is loop]
        with suppress(RuntimeError):  # the loop was closed: nobody waits there any more
            loop.call_soon_threadsafe(_settle, mine, error)


def _settle(futures: Sequence[asyncio.Future[None]], error: Exception | None) -> None:
    for future in futures:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
            future.exception()  # a worker that was cancelled does not ask for it


_keepers: WeakKeyDictionary[VerdictLog, Keeper] = WeakKeyDictionary()
_guard = threading.Lock()


def keeper_for(log: VerdictLog) -> Keeper:
    """Return what keeps rows in a log; all runs that share a log with transactions share them."""
    if not getattr(log, "durable", False):
        return _AtOnce(log)
    with _guard:
        return _keepers.setdefault(log, _GroupCommit(log))


def _forget() -> None:
    global _guard  # noqa: PLW0603 - another thread may have held it when the process was forked
    _guard = threading.Lock()
    _keepers.clear()  # their threads are the parent's


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)
