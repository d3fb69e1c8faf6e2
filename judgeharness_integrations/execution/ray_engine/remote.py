"""A judge on workers, as a judge: what asks it need not know where the calls are made."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
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
                reply = await self._before_deadline(worker.judge(probe, self._lesson or _NOTHING))
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
