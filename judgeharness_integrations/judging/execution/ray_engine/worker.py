"""One worker: what runs in its process, and how the process that started the run sees it."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from judgeharness_integrations._errors import ClusterError, UsageError
from judgeharness_integrations.judging.answer import EmptyAnswerError, ModelAnswer
from judgeharness_integrations.judging.execution.attempting import own_failure
from judgeharness_integrations.judging.execution.ray_engine.cluster import (
    check_sendable,
    connected_ray,
    loaded_ray,
    reason,
    sent_form,
    unsendable,
)
from judgeharness_integrations.judging.execution.retrying import remedy_of, retry_after_s, status_of
from judgeharness_integrations.judging.judge import Judge, Judgment, Probe, as_judgment
from judgeharness_integrations.redacting import Redactor, current_redactor

_LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception a judge raised: foreign classes need not exist on the driver, nor survive pickling.

    `transient` is what the run's policy said of the exception itself, `remedy` what mends it if nothing heals it;
    `billed` is the reply without an answer that was billed all the same.
    """

    kind: str
    text: str
    transient: bool = False
    status: int | None = None
    code: str | None = None
    retry_after_s: float | None = None
    remedy: str | None = None
    billed: ModelAnswer | None = None

    @classmethod
    def of(
        cls, error: BaseException, transient: Callable[[BaseException], bool], redact: Redactor | None = None
    ) -> Failure:
        """Describe an exception on the worker, whose environment may hold other keys than the driver's."""
        status = status_of(error)
        # aiohttp's errors, which have a `status`, warn when their `code` is read
        code = None if hasattr(error, "status") else getattr(error, "code", None)
        return cls(
            kind=type(error).__name__,
            text=(redact or Redactor()).text(str(error))[:_LONGEST_TEXT],
            transient=transient(error),
            status=status,
            code=code if isinstance(code, str) else None,
            retry_after_s=retry_after_s(error),
            remedy=remedy_of(error),
            billed=error.answer if isinstance(error, EmptyAnswerError) else None,
        )


class RemoteFailure(Exception):  # noqa: N818 - its subclasses carry the names of what was raised
    """A failure of a judge on a worker; status and Retry-After stand where those of HTTP clients do."""

    def __init__(self, failure: Failure) -> None:
        """Carry what the worker said."""
        super().__init__(failure.text)
        self.transient, self.remedy = failure.transient, failure.remedy
        self.status_code = failure.status
        self.code = failure.code
        wait_s = failure.retry_after_s
        self.headers = {} if wait_s is None else {"retry-after": repr(wait_s)}


class WorkerDied(Exception):  # noqa: N818 - an event, and the text of an error row
    """A worker died while it judged a probe, for the `times`-th time; `final`: the probe is not asked again."""

    def __init__(self, times: int, *, final: bool) -> None:
        """Note how often it happened to the probe."""
        super().__init__(f"the worker died {times} time{'s' * (times > 1)} while it judged this probe")
        self.final = final


class ClusterLost(BaseException):  # no Exception: it ends the run instead of becoming a row
    """No worker is left and none can be started: what was not answered is asked when the run is resumed."""


@lru_cache(maxsize=256)
def _kind(name: str) -> type[RemoteFailure]:
    return type(name, (RemoteFailure,), {})


def as_error(failure: Failure) -> RemoteFailure | EmptyAnswerError:
    """Return a failure as an exception that is named like the one the judge raised."""
    return _kind(failure.kind)(failure) if failure.billed is None else EmptyAnswerError(failure.billed)


def answer_of(reply: Any) -> asyncio.Future[Any]:
    """Return the answer an object reference stands for.

    Awaiting the reference itself would cancel Ray's own future together with the caller, and the threads of a Ray
    client end with a trace of `InvalidStateError` when the answer to a cancelled one comes.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def tell(done: Future[Any]) -> None:
        if answer.done():  # nobody waits any more
            return
        if (error := done.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(done.result())

    def came(done: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(tell, done)

    future: Future[Any] = reply.future()
    future.add_done_callback(came)
    return answer


def carried(error: BaseException) -> Exception | None:
    """Return the error inside one of Ray's: what an actor raised, or what reading an object raised; None: neither."""
    inner = getattr(error, "cause", None)
    if inner is None:
        inner = getattr(error, "client_exc", None)
    return (carried(inner) or inner) if isinstance(inner, Exception) else None


class SearchPath:
    """The driver's folders of modules: where it is read, modules are also looked for there, as far as they exist.

    That is in a worker, and behind `ray://` also in the process of the cluster that passes on what the driver sends.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        """Name the folders."""
        self._folders = tuple(folders)

    def __reduce__(self) -> tuple[Callable[[Sequence[str]], SearchPath], tuple[Sequence[str]]]:
        """Be read by `_searched`."""
        return _searched, (self._folders,)


def _searched(folders: Sequence[str]) -> SearchPath:
    sys.path.extend(folder for folder in folders if folder not in sys.path and os.path.isdir(folder))  # noqa: PTH112
    return SearchPath(folders)


class JudgeWorker:
    """An asynchronous actor: one event loop and one judge, whose clients live as long as the worker."""

    def __init__(self, path: SearchPath | None = None) -> None:
        """Start; `path` served its purpose when it was read."""
        del path

    async def prepare(self, judge: Judge, transient: Callable[[BaseException], bool]) -> None:
        """Take the judge, and the rule which failures are worth another attempt."""
        self._judge, self._transient, self._redact = judge, transient, current_redactor(judge)

    async def judge(self, probe: Probe, lesson: Mapping[str, str | float]) -> Judgment | Failure:
        """Return the judgment of a probe, or how its only attempt failed; the judge learns the lesson of the run."""
        try:
            if lesson:
                self._judge.learn(lesson)  # type: ignore[attr-defined] # whose lesson it is
            # what a judge raises never leaves as an exception: SystemExit would even end the actor
            return as_judgment(await self._judge.judge(probe))
        except (Exception, CancelledError, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001
            return Failure.of(own_failure(error), self._transient, self._redact)


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
