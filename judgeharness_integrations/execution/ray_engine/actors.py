"""One worker, as the process that started the run sees it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations._errors import ClusterError, UsageError
from judgeharness_integrations.execution.ray_engine.failures import Failure
from judgeharness_integrations.execution.ray_engine.loading import connected_ray, loaded_ray
from judgeharness_integrations.execution.ray_engine.replies import answer_of, carried
from judgeharness_integrations.execution.ray_engine.sending import check_sendable, reason, sent_form, unsendable
from judgeharness_integrations.execution.ray_engine.worker import JudgeWorker, SearchPath
from judgeharness_integrations.judging import Judge, Judgment, Probe

__all__ = ["Worker", "WorkerGone", "started"]


class WorkerGone(Exception):  # noqa: N818 - caught by the remote judge
    """The worker of a call does not answer any more."""


@dataclass(eq=False)
class Worker:
    """An actor with a judge, and how many of its seats are taken."""

    actor: Any
    taken: int = 0

    async def judge(self, probe: Probe, lesson: Mapping[str, str | float]) -> Judgment | Failure:
        """Have a probe judged; a call that is cancelled is cancelled there, too.

        Args:
            probe: what is asked.
            lesson: what the run has learned of how its judge answers.

        Raises:
            TypeError: its case cannot be pickled.
            WorkerGone: it died, or its machine did.

        """
        try:
            reply = self._sent(sent_form(probe), lesson)
            try:
                answer: Judgment | Failure = await answer_of(reply)
            except asyncio.CancelledError:
                with suppress(loaded_ray().exceptions.RayError, ClusterError):
                    connected_ray().cancel(reply)
                raise
        except loaded_ray().exceptions.RayError as error:
            if (inner := carried(error)) is None:
                raise WorkerGone(reason(error)) from None
            return Failure.of(inner, _never)  # probe or answer cannot be read on the other side
        except ConnectionError as error:  # of a Ray client
            raise WorkerGone(reason(error)) from None
        return answer

    def _sent(self, probe: Probe, lesson: Mapping[str, str | float]) -> Any:
        try:
            return self.actor.judge.remote(probe, lesson)
        except Exception as error:
            if (problem := unsendable(probe)) is None:
                raise WorkerGone(reason(error)) from error  # a connection that was lost
            raise TypeError(f"case {probe.case_id!r} cannot be sent to Ray workers ({problem})") from error

    def kill(self) -> None:
        """End it, if it is not gone, or the cluster with it."""
        with suppress(loaded_ray().exceptions.RayError, ClusterError, ValueError, ConnectionError):
            connected_ray().kill(self.actor)


async def started(
    judge: Judge, transient: Callable[[BaseException], bool], *, options: Mapping[str, Any], start_s: float
) -> Worker:
    """Start a worker with the options of an actor and give it the judge, within `start_s` seconds.

    Raises:
        UsageError: it did not start in time, or cannot load the judge.
        ClusterError: the cluster is lost.

    """
    worker = Worker(connected_ray().remote(JudgeWorker).options(**options).remote(SearchPath(sys.path)))
    try:
        await _prepared(worker.actor, judge, transient, start_s)
    except BaseException:
        worker.kill()
        raise
    return worker


async def _prepared(actor: Any, judge: Judge, transient: Callable[[BaseException], bool], start_s: float) -> None:
    try:
        async with asyncio.timeout(start_s):
            await answer_of(actor.prepare.remote(judge, transient))
    except TimeoutError as error:
        wanted = f"a Ray worker did not start within {start_s:g} s"
        raise UsageError(f"{wanted}: ask for fewer workers or for less of each, or see `ray status`.") from error
    except loaded_ray().exceptions.RayError as error:
        if (inner := carried(error)) is not None:
            failed, needed = f"judge {judge.name!r} cannot be loaded on a Ray worker ({reason(inner)})", "what it needs"
        else:
            failed, needed = f"a Ray worker cannot be started ({reason(error)})", "the same packages"
        raise UsageError(f"{failed}: install {needed} on every node of the cluster.") from error
    except Exception as error:
        check_sendable(judge, transient)  # it was, when the run began
        failed = f"the connection to Ray was lost when judge {judge.name!r} was sent ({reason(error)})"
        raise UsageError(f"{failed}: install what it needs on the head of the cluster, too.") from error


def _never(error: BaseException) -> bool:
    del error
    return False
