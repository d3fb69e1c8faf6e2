"""The Ray engine as an executor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from judgeharness_integrations._errors import ClusterError, PlanError
from judgeharness_integrations.execution.attempting import CallPolicy
from judgeharness_integrations.execution.local import Asking, LocalExecutor, Rows
from judgeharness_integrations.execution.preparing import Pending
from judgeharness_integrations.execution.rates import Rates
from judgeharness_integrations.execution.ray_engine.cluster import connected
from judgeharness_integrations.execution.ray_engine.failures import ClusterLost
from judgeharness_integrations.execution.ray_engine.heads import head
from judgeharness_integrations.execution.ray_engine.limits import cluster_limits
from judgeharness_integrations.execution.ray_engine.policy import RemotePolicy
from judgeharness_integrations.execution.ray_engine.remote import RemoteJudge
from judgeharness_integrations.execution.ray_engine.sending import check_sendable
from judgeharness_integrations.execution.ray_engine.workers import Workers
from judgeharness_integrations.judging import Judge

__all__ = ["RayExecutor"]


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
            while (rows := await _next(answers, silent)) is not None:
                yield rows
    except ClusterLost as error:
        raise ClusterError(f"no Ray worker is left ({error}): run it again to ask what is left.") from error
    finally:
        silent.cancel()


async def _next(answers: AsyncGenerator[Rows, None], silent: asyncio.Future[None]) -> Rows | None:
    """Return the next answer, None after the last one; what waits for a head that is dead would wait for ever."""
    task = asyncio.current_task()

    def wake(_: asyncio.Future[None]) -> None:
        if task is not None and not silent.cancelled():
            task.cancel()

    silent.add_done_callback(wake)
    try:
        return await anext(answers, None)
    except asyncio.CancelledError:
        if silent.done() and task is not None and not task.uncancel():
            raise ClusterLost("the head of the cluster does not answer any more") from None
        raise
    finally:
        silent.remove_done_callback(wake)
