"""The batch engine as an executor: a judge is asked until it sends a request, and once more when that is answered."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn, Self, TypeVar, cast

from judgeharness_integrations._errors import PlanError, UsageError
from judgeharness_integrations.analysis.usage import Spent
from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_integrations.judging.judge import Judge, Judgment, Probe
from judgeharness_integrations.verdictlog.encoding import calibration_run
from judgeharness_integrations.verdictlog.sql.batches import BatchJournal, slot_of
from judgeharness_integrations.verdictlog.sql.log import SqlLog

from ..attempting import CallPolicy
from ..limiter import Limits
from ..local import Asking, LocalExecutor, next_while
from ..preparing import Pending, Rows
from ..retrying import Budget
from .providers import Lot, parking, refused
from .waves import Terms, Waves

ONE_BY_ONE = "what asks until it is settled needs each answer before the next question: use the engine local."
_T = TypeVar("_T")
_PASSES = 64  # judges that run at a time
_busy: set[tuple[int, str, str]] = set()  # log, run and judge whose batches are watched
_guard = threading.Lock()


class HandedOut:
    """The probes of an ask on their way to its calls, and what each of those is doing.

    Calls are `reserving` while they wait for a budget that is measured in tokens or money.
    """

    def __init__(self, probes: AsyncIterator[Pending], most: int) -> None:
        """Hand out probes; `most` calls are under way at a time."""
        self._probes, self._most = probes, most
        self._over = self._stopped = False
        self._out = 0
        self.done = self.trying = self.reserving = 0

    def __aiter__(self) -> Self:
        """Iterate over the probes."""
        return self

    async def __anext__(self) -> Pending:
        """Return the next probe."""
        try:
            pending = await anext(self._probes)
        except StopAsyncIteration:
            self._over = True
            raise
        self._out += 1
        return pending

    def at_once(self) -> Pending | None:
        """Return the next probe if one is at hand."""
        found: Pending | None = getattr(self._probes, "at_once", lambda: None)()
        self._out += found is not None
        return found

    def stop(self) -> None:
        """Hand out nothing any more."""
        self._stopped = True
        if (stop := getattr(self._probes, "stop", None)) is not None:
            stop()

    def is_still(self, waiting: int) -> bool:
        """Whether no call can go on before a batch is answered, when so many wait for one."""
        if self._stopped:  # calls that were not begun any more are never done
            return self.trying == waiting + self.reserving
        under_way = self._out - self.done
        dry = self._over or under_way >= self._most or getattr(self._probes, "is_dry", False)
        return dry and under_way == waiting + self.reserving


@dataclass(frozen=True, kw_only=True)
class BatchPolicy(CallPolicy):
    """A policy whose calls are answered by batches: no slots, no deadline, no limits; each attempt is a wave."""

    handed: HandedOut

    async def attempt(
        self,
        call: Callable[[], Awaitable[_T]],
        budget: Budget,
        limiter: Limits | None = None,
        spent: Callable[[object], Spent] | None = None,
        book: Callable[[ModelAnswer], None] | None = None,
    ) -> tuple[_T | Exception, int]:
        """Return what a call answered, or what its last attempt raised, and the number of attempts.

        Raises:
            BudgetExhausted: there was no attempt left that the call still needed.

        """
        del limiter
        self.handed.trying += 1
        try:
            watched = cast("Budget", _Reserving(budget, self.handed)) if budget.is_metered else budget
            return await super().attempt(call, watched, None, spent, book)
        finally:
            self.handed.trying -= 1


class _Reserving:
    """A budget that says who waits for it."""

    def __init__(self, budget: Budget, handed: HandedOut) -> None:
        self._budget, self._handed = budget, handed

    async def reserve(self) -> None:
        self._handed.reserving += 1
        try:
            await self._budget.reserve()
        finally:
            self._handed.reserving -= 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._budget, name)


class BatchJudge:
    """A judge whose requests are answered by batches.

    One that has yet to learn how its model answers asks its first question at once, since every other one hangs on it.
    """

    def __init__(self, judge: Judge, waves: Waves, *, run: str, budget: Budget) -> None:
        """Stand for a judge."""
        self._judge, self._waves, self._run, self._budget = judge, waves, run, budget
        self._ask: Callable[[Probe], Awaitable[Judgment]] = getattr(judge, "at_standard", judge.judge)  # or its tier
        self._attempts: Counter[tuple[str, str, int]] = Counter()
        self._alone, self._passes = asyncio.Lock(), asyncio.Semaphore(_PASSES)
        self._batched = False  # whether a request of it was seen

    def __getattr__(self, name: str) -> Any:
        """Be the judge in all but how it is asked."""
        return getattr(self._judge, name)

    async def judge(self, probe: Probe) -> Judgment:
        """Make one attempt, which takes as many waves as the judge asks questions one after the other."""
        if getattr(self._judge, "lesson", {}) is None:
            async with self._alone:
                if getattr(self._judge, "lesson", {}) is None:
                    return await self._ask(probe)
        self._budget.park(1)
        try:
            return await self._answered(probe, self._slot(probe))
        except asyncio.CancelledError:
            self._budget.give_back()  # whoever goes on with the run takes it
            raise
        finally:
            self._budget.park(-1)

    async def _answered(self, probe: Probe, slot: str) -> Judgment:
        while True:
            lot = await self._waves.lot(slot)
            judgment = await self._pass(probe, lot)
            self._waves.meet(lot)
            if not lot.parked and judgment is not None:
                return judgment
            if await self._waves.is_other(lot):
                await self._fail(
                    f"what it asks about case {probe.case_id!r} changes from one time to the next, as with a time in it"
                    f" (`judgeharness runs --cancel {self._run}` ends what is open)"
                )
            await self._waves.answered(lot)

    def _slot(self, probe: Probe) -> str:
        place = probe.case_id, probe.perturbation.name, probe.repetition
        self._attempts[place] += 1
        return slot_of(self._run, self._judge.name, place, self._attempts[place])

    async def _pass(self, probe: Probe, lot: Lot) -> Judgment | None:
        """Return what the judge answers; None where a request of it was parked, whatever the judge made of that.

        One pass at a time until a request was seen: a judge that no batch can ask is not asked by calls instead.
        """
        async with self._passes if self._batched else self._alone:
            judgment = await self._asked(probe, lot)
            if judgment is not None and judgment.input_tokens and not lot.seen and "cached" not in judgment.facts:
                lot.problem = "it reaches its model by another way than the clients of OpenAI and Anthropic"
            if lot.problem is not None:
                await self._fail(lot.problem)
            self._batched = self._batched or bool(lot.seen)
        return judgment

    async def _asked(self, probe: Probe, lot: Lot) -> Judgment | None:
        judgment = None
        try:
            with parking(lot):
                judgment = await self._ask(probe)
        except Exception:
            if not lot.parked and lot.problem is None:
                raise
        return judgment

    async def _fail(self, problem: str) -> NoReturn:
        """End the run: no other sample would fare better."""
        if not self._waves.failed.done():
            self._waves.failed.set_exception(UsageError(refused(self._judge.name, problem)))
        await asyncio.Event().wait()
        raise AssertionError  # the run has ended


@dataclass(frozen=True, kw_only=True)
class BatchExecutor:
    """Asks by the batch endpoints of OpenAI and Anthropic, at about half the price, within a day.

    Calls wait for one another: all that can be asked is collected and submitted, then what those answers lead to. The
    harness needs a `SqlLog`, and the name of a run under which another process goes on.

    Args:
        terms: how batches are made and watched.
        policy: how often each call is tried; each attempt takes a batch, and there is no timeout.
        max_concurrency: calls that are collected for a wave.

    """

    by_batch: ClassVar[bool] = True
    terms: Terms = field(default_factory=Terms)
    policy: CallPolicy = field(default_factory=CallPolicy)
    max_concurrency: int = 20_000

    async def ask(self, judge: Judge, probes: AsyncIterator[Pending], asking: Asking) -> AsyncGenerator[Rows, None]:
        """Ask every probe; closing the generator leaves open batches to whoever goes on with the run.

        Raises:
            PlanError: the run has no log that keeps batches, or asks case by case.
            BatchesOpenError: batches are open, and nobody waits for them.
            UsageError: the judge, or its model, cannot be asked by batch, or it is asked in this run already.

        """
        if not isinstance(asking.log, SqlLog):
            raise PlanError("batches outlive a process: give the harness log=SqlLog(...) and the name of a run.")
        if asking.one_by_one:
            raise PlanError(ONE_BY_ONE)
        with _watching(asking.log, asking.run, judge.name):
            async with aclosing(self._asked(judge, probes, asking, asking.log)) as answers:
                async for rows in answers:
                    yield rows

    async def _asked(
        self, judge: Judge, probes: AsyncIterator[Pending], asking: Asking, log: SqlLog
    ) -> AsyncGenerator[Rows, None]:
        handed = HandedOut(probes, self.max_concurrency)
        mine: dict[str, Any] = {"run": asking.run, "budget": asking.budget}
        waves = Waves(BatchJournal(log.store), judge=judge.name, terms=self.terms, **mine)
        await waves.load()
        asking.contact.together = True
        policy = self.policy
        own = BatchPolicy(
            timeout_s=None,
            max_attempts=policy.max_attempts,
            transient=policy.transient,
            retrying=policy.retrying,
            handed=handed,
        )
        local = LocalExecutor(max_concurrency=self.max_concurrency, policy=own)
        # by another name, since the limits of calls that are made at once are none of these
        apart = replace(asking, model=f"{asking.model} (batch)")
        asked: Any = BatchJudge(judge, waves, **mine)  # a judge by what it passes on
        answers = local.ask(asked, handed, apart)
        running = asyncio.ensure_future(waves.run(handed))
        try:
            async with aclosing(answers):
                while (rows := await next_while(answers, running)) is not None:
                    yield rows
                    handed.done += 1
            await waves.over()
        except EOFError:
            running.result()
            raise
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await waves.close()


async def cancel_batches(log: SqlLog, run: str, *, terms: Terms | None = None) -> None:
    """Cancel the open batches of a run without its judges, whatever they would ask today.

    What was answered until then stays in the log: the run, as it was when it asked, makes rows of it without a call.
    Clients are made from OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL.

    Raises:
        UsageError: no batch of the run is open, or its provider is not reached.
        RunBusyError: another process goes on with the run.

    """
    journal = BatchJournal(log.store)
    names = run, calibration_run(run)
    found = await asyncio.to_thread(lambda: [one for name in names for one in journal.records(run=name)])
    asked = sorted({(one.run, one.judge) for one in found if one.is_open})
    if not asked:
        raise UsageError(f"no batch of run {run} is open: `judgeharness runs` lists the batches of a log.")
    ending = replace(terms or Terms(), cancel=True)
    with log.claim(run):
        for name, judge in asked:
            with _watching(log, name, judge):
                waves = Waves(journal, run=name, judge=judge, budget=Budget(), terms=ending)
                await waves.load()
                try:
                    await waves.cancel()
                finally:
                    await waves.close()


@contextmanager
def _watching(log: SqlLog, run: str, judge: str) -> Iterator[None]:
    """Be the only one in this process who watches the batches of a run and judge: two would collect each other's.

    Raises:
        UsageError: somebody does already.

    """
    place = id(log), run, judge
    with _guard:
        if place in _busy:
            raise UsageError(
                f"batches of run {run!r} and judge {judge!r} are under way already: give all cases to one "
                "evaluate_many, or each call a run of its own."
            )
        _busy.add(place)
    try:
        yield
    finally:
        with _guard:
            _busy.discard(place)
