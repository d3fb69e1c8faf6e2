"""A judge on workers, as a judge: what asks it need not know where the calls are made."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeAlias, TypeVar

from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.execution.ray_engine.actors import WorkerGone
from judgeharness_integrations.execution.ray_engine.failures import Failure, WorkerDied, as_error
from judgeharness_integrations.execution.ray_engine.workers import Workers
from judgeharness_integrations.judging import Judge, JudgeIdentity, Judgment, Probe

__all__ = ["RemoteJudge"]

_Key: TypeAlias = tuple[str, str, int]  # case id, perturbation, repetition
_T = TypeVar("_T")
_MOST_DEATHS = 3


class RemoteJudge:
    """Has each probe judged once by a worker; `timeout_s` counts from the moment a worker has room for it.

    A probe two of whose workers died gets the third one to itself, so that a probe that kills workers is found out
    and does not take its neighbours with it.
    """

    def __init__(self, judge: Judge, workers: Workers, *, timeout_s: float | None) -> None:
        """Stand for a judge that the workers hold."""
        self._judge, self._workers, self._timeout_s = judge, workers, timeout_s
        self._deaths: dict[_Key, int] = {}

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

    async def judge(self, probe: Probe) -> Judgment:
        """Make one attempt.

        Raises:
            RemoteFailure: the judge failed.
            TimeoutError: it did not answer in time.
            WorkerDied: its worker died meanwhile.
            ClusterLost: there are no workers any more.

        """
        key = (probe.case_id, probe.perturbation.name, probe.repetition)
        deaths = self._deaths.pop(key, 0)
        try:
            async with self._workers.seat(probe.case_id, alone=deaths == _MOST_DEATHS - 1) as worker:
                reply = await self._before_deadline(worker.judge(probe))
        except WorkerGone as error:
            final = deaths + 1 == _MOST_DEATHS
            if not final:
                self._deaths[key] = deaths + 1
            raise WorkerDied(deaths + 1, final=final) from error
        if isinstance(reply, Failure):
            raise as_error(reply)
        return reply

    async def _before_deadline(self, call: Coroutine[Any, Any, _T]) -> _T:
        deadline = asyncio.timeout(self._timeout_s)
        try:
            async with deadline:
                return await call
        except TimeoutError as error:
            if deadline.expired():
                raise TimeoutError(f"no answer within {self._timeout_s:g} s") from error
            raise
