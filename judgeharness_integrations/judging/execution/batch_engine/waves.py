"""The calls of one judge that wait for batches: once none can go on without an answer, all that is asked is submitted.

A batch is in the journal of the log before it is submitted, and its answers are there before anybody reads them. So a
process that goes on with a run finds every request again by its id, and asks none anew that may be paid already.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Protocol

from judgeharness_integrations._errors import BatchesOpenError, JudgeHarnessError, UsageError
from judgeharness_integrations.verdictlog.encoding import counted
from judgeharness_integrations.verdictlog.sql.batches import BatchJournal, BatchRecord

from ..retrying import Budget, is_transient
from .providers import Answer, Batches, Lot, ParkedRequest, Refused, Unsure, batches_at, batches_of

_BLINK_S = 0.02
_MOMENT_S = 2.0
_MOST_LEFT_OUT = 3  # batches that may leave a request unanswered


class Traffic(Protocol):
    """Who may still send a request: told how many calls wait for a batch, it says whether any other one can go on."""

    def is_still(self, waiting: int) -> bool:
        """Whether nothing moves before a batch is answered."""
        ...


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How batches are made and watched.

    Args:
        wait: wait until they are answered; else end with a BatchesOpenError once all are submitted.
        cancel: submit nothing, and have no more asked of what is open.
        poll_s: seconds between looks at open batches.
        settle_s: how long a batch is looked for of which nobody knows whether it was accepted, in seconds.
        max_requests: requests a batch; OpenAI takes 50,000, Anthropic 100,000.
        max_bytes: bytes a batch; OpenAI takes 200 MB, Anthropic 256 MB.
        tell: is told of batches that are submitted, go on, and are collected.

    """

    wait: bool = True
    cancel: bool = False
    poll_s: float = 30.0
    settle_s: float = 120.0
    max_requests: int = 50_000
    max_bytes: int = 180_000_000
    tell: Callable[[str], object] = lambda _: None


class Waves:
    """What one judge asks of batches in one run."""

    def __init__(self, journal: BatchJournal, *, run: str, judge: str, budget: Budget, terms: Terms) -> None:
        """Begin with what the journal holds; `load` reads it."""
        self._journal, self._run, self._judge, self._budget, self._terms = journal, run, judge, budget, terms
        self._records: dict[str, BatchRecord] = {}
        self._slots: dict[str, dict[str, str]] = {}  # slot -> request -> the batch that holds it
        self._here: set[str] = set()  # requests whose answers are in the journal
        self._waiting: dict[asyncio.Future[None], set[str]] = {}
        self._new: dict[str, tuple[str, ParkedRequest]] = {}
        self._ways: dict[tuple[str, str], Batches] = {}
        self._left_out: Counter[str] = Counter()
        self._missing: dict[str, Answer] = {}  # requests that no batch answers
        self._most = terms.max_requests
        self._full = False  # a provider takes no more before a batch of ours has ended
        self._tidied: set[str] = set()
        self._tidying = asyncio.Lock()
        self._cancelled: set[str] = set()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def load(self) -> None:
        """Read the journal."""
        mine = {"run": self._run, "judge": self._judge}
        records = await asyncio.to_thread(self._journal.records, **mine)
        self._records = {record.batch: record for record in records}
        for one in await asyncio.to_thread(self._journal.asked, **mine):
            self._slots.setdefault(one.slot, {})[one.custom_id] = one.batch
            if one.answered:
                self._here.add(one.custom_id)

    async def lot(self, slot: str) -> Lot:
        """Return the requests of a sample with the answers that are here."""
        found = dict(self._missing)
        if here := self._here.intersection(self._slots.get(slot, ())):
            answers = await asyncio.to_thread(self._journal.answers, here)
            found |= {one: Answer.from_json(said) for one, said in answers.items()}
        return Lot(slot=slot, answers=found)

    def meet(self, lot: Lot) -> None:
        """Learn how a provider is reached."""
        if (asked := lot.last) is not None and (asked.provider, asked.address) not in self._ways:
            self._ways[asked.provider, asked.address] = batches_of(asked)

    async def is_other(self, lot: Lot) -> bool:
        """Whether a judge asks something else about a sample than it did before.

        One that asks several questions at once ends with the first that is parked: the others come a moment later.
        """
        held, looks = self._slots.get(lot.slot, {}).keys(), int(_MOMENT_S / _BLINK_S)
        while lot.parked and not lot.seen.issuperset(held):
            if not looks:
                return True
            looks -= 1
            await asyncio.sleep(_BLINK_S)
        return False

    async def answered(self, lot: Lot) -> None:
        """Return once each request a sample waits for has an answer, or is to be asked again."""
        wanted = lot.parked.keys() - self._here
        held = self._slots.get(lot.slot, {})
        self._new |= {one: (lot.slot, lot.parked[one]) for one in wanted if one not in held}
        if not wanted:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = wanted
        try:
            await waiting
        finally:
            if self._waiting.pop(waiting, None) is not None:  # it was cancelled
                for one in wanted:
                    self._new.pop(one, None)

    def _wake(self, ids: set[str]) -> bool:
        """Let go on who waits for nothing else."""
        woken = False
        for waiting in tuple(self._waiting):
            self._waiting[waiting] -= ids
            if not self._waiting[waiting]:
                del self._waiting[waiting]
                waiting.set_result(None)
                woken = True
        return woken

    async def run(self, traffic: Traffic) -> None:
        """Submit, watch and collect for ever.

        Raises:
            BatchesOpenError: batches are open, and nobody waits for them.
            UsageError: a batch was refused, or lost.

        """
        while True:
            await self._stillness(traffic)
            while not await self._step():
                if not (self._open() if self._terms.cancel else self._terms.wait):
                    raise BatchesOpenError(self.told())
                await self._pause()

    async def cancel(self) -> None:
        """Have no more asked of what is open, and keep in the journal what was answered until then.

        Raises:
            UsageError: a provider is not reached by what the environment names.
            BatchesOpenError: whether the last ones were accepted is not known before they end.

        """
        for record in self._records.values():
            if record.is_open and (key := (record.provider, record.address)) not in self._ways:
                self._ways[key] = batches_at(record.provider, record.address)
        while self._open():
            await self._step()
            left = self._open()
            if left and all(one.state == "intended" and _age_s(one) >= self._terms.settle_s for one in left):
                batches = counted(len(left), "batch", "batches")
                raise BatchesOpenError(
                    f"judge {self._judge!r}: whether {left[0].provider} accepted {batches} is not known before the "
                    "batches that it lists have ended: cancel again later."
                )
            if left:
                await self._pause()

    async def _stillness(self, traffic: Traffic) -> None:
        """Wait until no call can go on without a batch; seen twice, as one that was just let go may not run yet."""
        seen = 0
        while seen < 2:  # noqa: PLR2004 - a call ends in many ways, and a batch takes minutes
            await asyncio.sleep(_BLINK_S)
            if self.failed.done():
                self.failed.result()
            seen = seen + 1 if self._waiting and traffic.is_still(len(self._waiting)) else 0

    async def _pause(self) -> None:
        """Wait for the next look, but not on when the run was ended meanwhile."""
        ends = asyncio.get_running_loop().time() + self._terms.poll_s
        while (left := ends - asyncio.get_running_loop().time()) > 0 and not self._budget.ended:  # noqa: ASYNC110 - of threads
            await asyncio.sleep(min(left, 0.2))
        if self._budget.ended:
            raise BatchesOpenError(self.told())

    async def _step(self) -> bool:
        """Do what there is to do; return whether a call can go on."""
        if self._budget.ended:
            raise BatchesOpenError(self.told())
        if await self._settle():
            return True
        if not any(record.state == "intended" for record in self._reachable()):
            await self._submit()
        return await self._look()

    def _reachable(self) -> Iterator[BatchRecord]:
        """Yield the batches of providers that the judge asks now."""
        return (one for one in tuple(self._records.values()) if (one.provider, one.address) in self._ways)

    def _open(self) -> list[BatchRecord]:
        return [one for one in self._reachable() if one.is_open]

    def told(self) -> str:
        """Return what is open as a sentence."""
        is_open = [one for one in self._records.values() if one.is_open]
        if not is_open:
            return f"judge {self._judge!r}: no batch is open; without --cancel, the same command asks what is left."
        left = counted(sum(one.requests - one.answered for one in is_open), "request")
        unknown = sum(one.state == "intended" for one in is_open)
        lost = f", {unknown} of which nobody knows whether it was accepted: that is looked up first" if unknown else ""
        batches = counted(len(is_open), "batch", "batches")
        return f"judge {self._judge!r}: {batches} open, {left} to answer{lost}; the same command collects them."

    async def _note(self, record: BatchRecord, **changes: Any) -> BatchRecord:
        await asyncio.to_thread(self._journal.note, record.batch, **changes)
        self._records[record.batch] = changed = replace(record, **changes)
        return changed

    def _ids(self, batch: str) -> set[str]:
        return {one for held in self._slots.values() for one, where in held.items() if where == batch}

    def _drop(self, ids: set[str]) -> None:
        """Forget requests that are in no batch any more."""
        for held in self._slots.values():
            for one in ids & held.keys():
                del held[one]

    async def _withdraw(self, record: BatchRecord) -> bool:
        """Forget a batch that nobody accepted; its calls ask again."""
        await asyncio.to_thread(self._journal.withdraw, record.batch)
        ids = self._ids(record.batch)
        del self._records[record.batch]
        self._drop(ids)
        return self._wake(ids)

    async def _settle(self) -> bool:
        """Look for batches of which nobody knows whether they were accepted."""
        woken = False
        for record in [one for one in self._reachable() if one.state == "intended"]:
            known = {one.provider_id for one in self._records.values() if one.provider_id is not None}
            try:
                found = await self._ways[record.provider, record.address].find(record, self._ids(record.batch), known)
            except Exception as error:  # noqa: BLE001 - as below
                self._check(error, record)
                continue
            if isinstance(found, str):
                await self._note(record, state="open", provider_id=found)
                self._terms.tell(f"{record.provider} had accepted {found}: {counted(record.requests, 'request')}")
            elif not found and _age_s(record) >= self._terms.settle_s:
                await self._clear(record)
                woken |= await self._withdraw(record)
        return woken

    async def _clear(self, record: BatchRecord) -> None:
        try:
            await self._ways[record.provider, record.address].clear(record)
        except Exception as error:  # noqa: BLE001 - nothing was asked of it
            self._terms.tell(f"what was sent to {record.provider} for a batch may still be there ({error!r:.200})")

    async def _submit(self) -> None:
        """Submit what is new, as far as the provider takes it."""
        while self._new and not self._terms.cancel:
            if self._full and self._open():
                return
            self._full = False
            part = self._part()
            record = self._recorded(part)
            slots = {one: slot for one, (slot, _) in part.items()}
            await asyncio.to_thread(self._journal.intend, record, slots)
            requests = {one: asked for one, (_, asked) in part.items()}
            try:
                found = await self._ways[record.provider, record.address].submit(record.batch, self._run, requests)
            except Refused as error:
                await asyncio.to_thread(self._journal.withdraw, record.batch)
                self._refused(error, record)
                if error.why == "later":
                    return
                continue
            except Unsure as error:
                self._keep(record, slots)
                self._terms.tell(f"nobody knows whether {record.provider} accepted a batch ({error}): it is looked for")
                return
            self._keep(record, slots)
            await self._note(record, state="open", provider_id=found)
            self._terms.tell(
                f"{record.provider} accepted {found}: {counted(record.requests, 'request')} to {record.model}"
            )

    def _part(self) -> dict[str, tuple[str, ParkedRequest]]:
        """Return new requests of one route, as many as a batch takes."""
        every = sorted(self._new.items(), key=lambda one: one[1][1].route)
        _, alike = next(groupby(every, key=lambda one: one[1][1].route))
        part: dict[str, tuple[str, ParkedRequest]] = {}
        size = 0
        for one, (slot, asked) in alike:
            size += asked.size
            if part and (len(part) >= self._most or size > self._terms.max_bytes):
                break
            part[one] = slot, asked
        return part

    def _recorded(self, part: Mapping[str, tuple[str, ParkedRequest]]) -> BatchRecord:
        asked = [one for _, one in part.values()]
        output = [one.most_output for one in asked]
        return BatchRecord(
            batch=f"jh-{os.urandom(12).hex()}",
            run=self._run,
            judge=self._judge,
            provider=asked[0].provider,
            address=asked[0].address,
            model=asked[0].model,
            created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            requests=len(asked),
            input_tokens=sum(one.size for one in asked),  # no token is shorter than a byte
            output_tokens=None if None in output else sum(filter(None, output)),
        )

    def _keep(self, record: BatchRecord, slots: Mapping[str, str]) -> None:
        self._records[record.batch] = record
        for one, slot in slots.items():
            self._slots.setdefault(slot, {})[one] = record.batch
            self._new.pop(one, None)

    def _refused(self, error: Refused, record: BatchRecord) -> None:
        """Learn from a batch that was not accepted.

        Raises:
            UsageError: no other one would be.

        """
        if error.why == "final" or (error.why == "smaller" and record.requests == 1):
            raise UsageError(
                f"{record.provider} takes no batch of {record.model!r} ({error}): mend that, or use the engine local, "
                "which asks models that are not batched."
            )
        self._terms.tell(f"{record.provider} takes {counted(record.requests, 'request')} not now ({error})")
        if error.why == "later" or self._open():
            self._full = True
        else:
            self._most = max(1, record.requests // 2)

    async def _look(self) -> bool:
        """Look at the open batches and collect those that have ended; return whether a call can go on."""
        woken = False
        for record in [one for one in self._reachable() if one.state == "open"]:
            try:
                woken |= await self._look_at(record)
            except JudgeHarnessError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, the batch is there
                self._check(error, record)
        await self._tidy()
        return woken

    async def _look_at(self, record: BatchRecord) -> bool:
        way, found = self._ways[record.provider, record.address], str(record.provider_id)
        progress = await way.progress(found)
        if self._terms.cancel and not progress.ended and found not in self._cancelled:
            self._cancelled.add(found)
            await way.cancel(found)
        if progress.refused is not None:
            woken = await self._withdraw(record)
            self._refused(progress.refused, record)
            return woken
        if progress.answered != record.answered:
            record = await self._note(record, answered=progress.answered)
            self._terms.tell(f"{found}: {record.answered} of {counted(record.requests, 'request')} answered")
        return progress.ended and await self._collect(record)

    async def _collect(self, record: BatchRecord) -> bool:
        """Keep the answers of a batch; what it did not answer is asked again."""
        wanted, answers = self._ids(record.batch), dict[str, str]()
        async for one, answer in self._ways[record.provider, record.address].answers(str(record.provider_id)):
            if one in wanted and answer is not None:
                answers.setdefault(one, answer.to_json())
        await asyncio.to_thread(self._journal.collect, record.batch, answers)
        self._records[record.batch] = replace(record, state="collected", answered=len(answers))
        self._here |= answers.keys()
        left = wanted - answers.keys()
        self._left_out.update(left)
        for one in (one for one in left if self._left_out[one] == _MOST_LEFT_OUT):
            self._missing[one] = Answer.missing(f"{_MOST_LEFT_OUT} batches left this request unanswered")
        self._drop(left)
        told = f"; {counted(len(left), 'request')} left out, to be asked again" if left else ""
        self._terms.tell(f"{record.provider_id} has ended: {counted(len(answers), 'answer')}{told}")
        return self._wake(wanted)

    async def _tidy(self) -> None:
        """Delete what providers keep of batches that were collected; each is tried once a process.

        Whoever comes meanwhile waits: the last rows are there before that is done.
        """
        async with self._tidying:
            for record in [one for one in self._reachable() if one.state == "collected"]:
                if record.batch not in self._tidied:
                    self._tidied.add(record.batch)
                    await self._tidy_up(record)

    async def _tidy_up(self, record: BatchRecord) -> None:
        try:
            await self._ways[record.provider, record.address].tidy(str(record.provider_id))
        except Exception as error:  # noqa: BLE001 - its answers are here
            self._terms.tell(f"what {record.provider} keeps of {record.provider_id} is still there ({error!r:.200})")
        else:
            await self._note(self._records[record.batch], state="tidied")

    def _check(self, error: Exception, record: BatchRecord) -> None:
        """Go on after an error of a connection.

        Raises:
            UsageError: it is another one, which waiting does not heal.

        """
        name = record.provider_id or "a batch"
        if not is_transient(error):
            raise UsageError(
                f"{record.provider} tells nothing of {name} ({error!s:.300}): what it took is not known; mend that and "
                "run it again, or begin a new run."
            ) from error
        self._terms.tell(f"{record.provider} says nothing of {name} now ({error!s:.200})")

    async def over(self) -> None:
        """Drop what was kept of answers, here and there: every one is a row."""
        await self._tidy()
        await asyncio.to_thread(self._journal.forget, run=self._run, judge=self._judge)

    async def close(self) -> None:
        """Close the clients that were made here."""
        for way in self._ways.values():
            await way.close()


def _age_s(record: BatchRecord) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(record.created_at)).total_seconds()
