"""The Ray engine as an executor: where a call is placed, and what takes the place of a worker that died."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from math import ceil
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

from judgeharness_integrations._errors import ClusterError, PlanError, UsageError
from judgeharness_integrations.analysis.usage import Spent
from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.judge import Judge, JudgeIdentity, Judgment, Probe

from ..attempting import CallPolicy, Deadline
from ..limiter import Limits
from ..local import Asking, LocalExecutor, next_while
from ..preparing import Pending, Rows
from ..rates import Rates
from ..retrying import Budget
from .cluster import (
    ClusterLost,
    Failure,
    RemoteFailure,
    Worker,
    WorkerDied,
    WorkerGone,
    as_error,
    check_sendable,
    connected,
    head,
    started,
)
from .limits import cluster_limits

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class RemotePolicy(CallPolicy):
    """A policy whose calls are made on workers and admitted by the `limits` of the cluster.

    A probe that lost its worker is asked again whatever `max_attempts` is; each time counts as an attempt, since the
    call may have been paid.
    """

    limits: Limits

    @classmethod
    def of(cls, policy: CallPolicy, limits: Limits) -> RemotePolicy:
        """Return the policy for remote calls; the remote judge keeps the deadline, as it knows when a call begins."""
        transient = _known_to(policy.transient)
        return cls(timeout_s=None, max_attempts=policy.max_attempts, transient=transient, limits=limits)

    def remedy(self, error: BaseException) -> str | None:
        """Return what the user has to mend, as the worker read it off the original."""
        return error.remedy if isinstance(error, RemoteFailure) else super().remedy(error)

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
        del limiter  # that of this process, which is not alone
        attempts = 0
        while True:
            outcome = await super().attempt(call, budget, self.limits, spent, book)
            answer, made = outcome
            attempts += made
            if not isinstance(answer, WorkerDied) or answer.final:
                return answer, attempts


def _known_to(transient: Callable[[BaseException], bool]) -> Callable[[BaseException], bool]:
    """Return the rule for errors on the driver: the worker has asked the same rule about the original."""

    def worth_another(error: BaseException) -> bool:
        if isinstance(error, RemoteFailure):
            return error.transient
        return not isinstance(error, WorkerDied) and transient(error)

    return worth_another


_MOST_HOMES = 4096  # cases whose worker is remembered; probes of a case follow one another closely
_MOST_STARTS = 3


class Workers:
    """Workers that all hold the same judge, each with a bounded number of calls at a time.

    The probes of a case, or of what else is named as their home, go to one worker while it has room. A worker that died
    is replaced; while none can be, the others go on, and when none is left the run ends with `ClusterLost`.
    """

    def __init__(
        self,
        judge: Judge,
        transient: Callable[[BaseException], bool],
        *,
        count: int,
        concurrency: int,
        options: Mapping[str, Any],
        start_s: float,
    ) -> None:
        """Hold the judge and the rule for its failures; `options` are those of a Ray actor, started in `start_s`."""
        self._judge, self._transient = judge, transient
        self._count, self._concurrency, self._start_s = count, concurrency, start_s
        self._options = {"max_concurrency": concurrency + 1, "max_restarts": 0, **options}
        self._alive: list[Worker] = []
        self._homes: dict[str, Worker] = {}  # case id -> where its last probe went
        self._replacing: set[asyncio.Task[None]] = set()
        self._lone = 0  # calls that wait for a worker of their own
        self._lost: str | None = None
        self._change = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Start all workers.

        Raises:
            UsageError: one cannot be started, or cannot load the judge.

        """
        starts = [asyncio.ensure_future(self._start()) for _ in range(self._count)]
        try:
            await asyncio.gather(*starts)
        except BaseException:
            await _cancelled(starts)
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all workers."""
        await self.close()

    async def close(self) -> None:
        """End all workers, and those that are being started."""
        await _cancelled(list(self._replacing))
        while self._alive:
            self._alive.pop().kill()

    @asynccontextmanager
    async def seat(self, home: str, *, alone: bool = False) -> AsyncGenerator[Worker, None]:
        """Wait for room on a worker; with `alone` it has no other call meanwhile.

        Raises:
            ClusterLost: there are no workers any more.

        """
        seats = self._concurrency if alone else 1
        worker = await self._room(home, alone=alone)
        worker.taken += seats
        try:
            yield worker
        except WorkerGone:
            self._bury(worker)
            raise
        finally:
            worker.taken -= seats
            self._wake()

    async def _room(self, home: str, *, alone: bool) -> Worker:
        self._lone += alone
        try:
            while (worker := self._choice(home, alone=alone)) is None:
                if self._lost is not None:
                    raise ClusterLost(self._lost)
                await self._change.wait()
        finally:
            self._lone -= alone
        self._homes.pop(home, None)
        self._homes[home] = worker
        if len(self._homes) > _MOST_HOMES:
            del self._homes[next(iter(self._homes))]
        return worker

    def _choice(self, home: str, *, alone: bool) -> Worker | None:
        """Return the worker of the home if it has room, else the one with the fewest calls."""
        if self._lone and not alone:
            return None  # else those who wait for an idle worker might wait for ever
        most = 0 if alone else self._concurrency - 1
        free = [worker for worker in self._alive if worker.taken <= most]
        known = self._homes.get(home)
        return known if known in free else min(free, key=lambda worker: worker.taken, default=None)

    def _wake(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    def _bury(self, worker: Worker) -> None:
        """Replace a worker that died; of its calls, the first to notice does it."""
        if worker in self._alive:
            self._alive.remove(worker)
            worker.kill()
            task = asyncio.ensure_future(self._replace())
            self._replacing.add(task)
            task.add_done_callback(self._replacing.discard)

    async def _replace(self) -> None:
        problem = ""
        for _ in range(_MOST_STARTS):
            try:
                await self._start()
            except (UsageError, ClusterError) as error:
                problem = str(error)
            else:
                break
        else:
            if not self._alive and len(self._replacing) == 1:  # this is the last one that tries
                self._lost = problem
        self._wake()

    async def _start(self) -> None:
        self._alive.append(await started(self._judge, self._transient, options=self._options, start_s=self._start_s))


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


_Key: TypeAlias = tuple[str, str, int]  # case id, perturbation, repetition
_MOST_DEATHS = 3
_SETTLING = ""  # in place of a case's id
_NOTHING: Mapping[str, str | float] = {}


class RemoteJudge:
    """Has each probe judged once by a worker; `timeout_s` counts from the moment a worker has room for it.

    A probe two of whose workers died gets the third one to itself, so that a probe that kills workers is found out
    and does not take its neighbours with it.
    """

    def __init__(self, judge: Judge, workers: Workers, *, timeout_s: float | None) -> None:
        """Stand for a judge that the workers hold."""
        self._judge, self._workers, self._timeout_s = judge, workers, timeout_s
        self._deaths: dict[_Key, int] = {}
        self._alone = asyncio.Lock()

    @property
    def name(self) -> str:
        """The judge's name."""
        return self._judge.name

    @property
    def identity(self) -> JudgeIdentity | None:
        """The judge's identity."""
        return self._judge.identity

    @property
    def criteria(self) -> tuple[Criterion, ...] | None:
        """The questions the judge answers."""
        return self._judge.criteria

    @property
    def _lesson(self) -> Mapping[str, str | float] | None:
        return getattr(self._judge, "lesson", _NOTHING)

    async def judge(self, probe: Probe) -> Judgment:
        """Make one attempt; until the run knows how the judge answers, one at a time and by the same worker.

        Raises:
            RemoteFailure: the judge failed.
            EmptyAnswerError: the reply of its server held no answer.
            TimeoutError: it did not answer in time.
            WorkerDied: its worker died meanwhile.
            ClusterLost: there are no workers any more.

        """
        if self._lesson is None:
            async with self._alone:
                if self._lesson is None:
                    judgment = await self._asked(probe, _SETTLING)
                    self._judge.learn(judgment.facts)  # type: ignore[attr-defined] # what has a lesson learns one
                    return judgment
        return await self._asked(probe, probe.case_id)

    async def _asked(self, probe: Probe, home: str) -> Judgment:
        key = (probe.case_id, probe.perturbation.name, probe.repetition)
        deaths = self._deaths.pop(key, 0)
        try:
            async with self._workers.seat(home, alone=deaths == _MOST_DEATHS - 1) as worker:
                with Deadline(self._timeout_s):
                    reply = await worker.judge(probe, self._lesson or _NOTHING)
        except WorkerGone as error:
            final = deaths + 1 == _MOST_DEATHS
            if not final:
                self._deaths[key] = deaths + 1
            raise WorkerDied(deaths + 1, final=final) from error
        if isinstance(reply, Failure):
            raise as_error(reply)
        return reply


@dataclass(frozen=True, kw_only=True)
class RayExecutor:
    """Asks on `workers` processes of a Ray cluster, each with up to `concurrency_per_worker` calls in flight.

    The process that runs it plans, perturbs, counts budgets, decides about retries and writes the log; a worker only
    calls the judge. Nothing is started before `ask`; a Ray that runs already is used and left running.

    Args:
        address: `auto`, `host:port` or `ray://host:port` of an existing cluster; None: the Ray of this process, that
            of the environment variable `RAY_ADDRESS`, or a local one for the time of the run.
        workers: number of worker processes.
        concurrency_per_worker: calls a worker has in flight at most.
        rates: requests and tokens a minute, for all runs on the cluster that ask the same model together.
        policy: how long and how often each call is tried; it holds no `retrying`.
        cpus_per_worker: processors the cluster reserves for a worker; 0: none, workers mostly wait.
        resources: other resources it reserves, such as `{"judging": 1}`, to choose nodes.
        start_timeout_s: how long a worker may take to start.

    Raises:
        PlanError: the policy holds a `retrying`.

    """

    address: str | None = None
    workers: int = 2
    concurrency_per_worker: int = 16
    rates: Rates = field(default_factory=Rates)
    policy: CallPolicy = field(default_factory=CallPolicy)
    cpus_per_worker: float = 0.0
    resources: Mapping[str, float] = field(default_factory=dict)
    start_timeout_s: float = 60.0

    def __post_init__(self) -> None:
        """Refuse a policy that would ask about errors which never arrive here."""
        if self.policy.retrying is not None:
            raise PlanError(
                "a retrying policy looks at the judge's own errors, which stay on Ray's workers: "
                "give RayExecutor CallPolicy(max_attempts=...) instead."
            )

    @property
    def max_concurrency(self) -> int:
        """Calls in flight at most."""
        return self.workers * self.concurrency_per_worker

    async def ask(self, judge: Judge, probes: AsyncIterator[Pending], asking: Asking) -> AsyncGenerator[Rows, None]:
        """Ask every probe; closing the generator cancels the calls in flight and ends the workers.

        Raises:
            NotInstalledError: Ray is missing.
            UsageError: the judge cannot be sent, or the cluster cannot be used.
            ClusterError: nobody answers at the address, the head died, or every worker and none could be started again.

        """
        check_sendable(judge, self.policy.transient)
        cpus = max(self.workers, ceil(self.workers * self.cpus_per_worker))
        async with (
            connected(self.address, cpus=cpus),
            self._crew(judge) as crew,
            cluster_limits(asking.model) as limits,
        ):
            local = LocalExecutor(max_concurrency=self.max_concurrency, policy=RemotePolicy.of(self.policy, limits))
            remote = RemoteJudge(judge, crew, timeout_s=self.policy.timeout_s)
            with limits.run(self.max_concurrency, rates=self.rates):
                async with aclosing(_ending(local.ask(remote, probes, asking))) as answered:
                    async for rows in answered:
                        yield rows

    def _crew(self, judge: Judge) -> Workers:
        return Workers(
            judge,
            self.policy.transient,
            count=self.workers,
            concurrency=self.concurrency_per_worker,
            options=self._options(),
            start_s=self.start_timeout_s,
        )

    def _options(self) -> dict[str, Any]:
        return {
            "num_cpus": self.cpus_per_worker,
            "resources": dict(self.resources),
            "scheduling_strategy": "SPREAD",
        }


async def _ending(answers: AsyncGenerator[Rows, None]) -> AsyncGenerator[Rows, None]:
    """Yield the answers; when the cluster is lost, say so as an error a caller can meet."""
    silent = asyncio.ensure_future(head.silent())
    try:
        async with aclosing(answers):
            while (rows := await next_while(answers, silent)) is not None:
                yield rows
    except EOFError:
        lost = "the head of the cluster does not answer any more"
        raise ClusterError(f"no Ray worker is left ({lost}): run it again to ask what is left.") from None
    except ClusterLost as error:
        raise ClusterError(f"no Ray worker is left ({error}): run it again to ask what is left.") from error
    finally:
        silent.cancel()
